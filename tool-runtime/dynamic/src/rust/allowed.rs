//! The list of packages whose code may run during a build: build scripts and procedural macros.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Deserialize;

use super::support::Sources;

/// Lines of a name, a version, a checksum and the kinds of targets.
const LIST: &str = include_str!("../../support/build-code.txt");

/// Kinds of targets whose code runs during a build.
const KINDS: [&str; 2] = ["custom-build", "proc-macro"];

/// The part of `cargo metadata` that the check reads.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// The package of a lock file.
#[derive(Debug)]
struct Locked<'l> {
    name: &'l str,
    version: &'l str,
    checksum: &'l str,
}

/// Returns the packages that would run code during a build although they are not on the list.
pub(super) fn violations(metadata: &Metadata, lock: &str, sources: &Sources) -> Vec<String> {
    let allowed: BTreeSet<_> = LIST.lines().collect();
    let lines = metadata.packages.iter().filter_map(|package| line(package, lock, sources));
    lines.filter(|line| !allowed.contains(line.as_str())).collect()
}

/// Returns the line of a package in the list, if it runs code during a build.
fn line(package: &Package, lock: &str, sources: &Sources) -> Option<String> {
    let kinds = package.targets.iter().flat_map(|target| &target.kind);
    let kinds: BTreeSet<_> = kinds.filter(|kind| KINDS.contains(&kind.as_str())).collect();
    if kinds.is_empty() {
        return None;
    }
    let kinds: Vec<_> = kinds.into_iter().map(String::as_str).collect();
    let checksum = match &package.source {
        Some(_) => locked(lock)
            .find(|it| it.name == package.name && it.version == package.version)
            .map_or("unlocked", |it| it.checksum),
        None if sources.contain(&package.manifest_path) => "workspace",
        None => "foreign",
    };
    Some(format!("{} {} {checksum} {}", package.name, package.version, kinds.join("+")))
}

/// Returns the packages of a lock file that have a checksum. Cargo writes one key a line.
fn locked(lock: &str) -> impl Iterator<Item = Locked<'_>> {
    lock.split("[[package]]").filter_map(|package| {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key))?;
            line.strip_prefix(" = \"")?.strip_suffix('"')
        };
        let (name, version) = (value("name")?, value("version")?);
        Some(Locked { name, version, checksum: value("checksum")? })
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::violations;
    use crate::rust::support::{Sources, lock};

    fn violations_of(packages: &[Value]) -> Vec<String> {
        let metadata = serde_json::from_value(json!({ "packages": packages })).unwrap();
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        violations(&metadata, &lock("dynamic-any"), &Sources::find(&checkout).unwrap())
    }

    fn package(name: &str, version: &str, source: Option<&str>, kind: &str) -> Value {
        json!({
            "name": name,
            "version": version,
            "source": source,
            "manifest_path": "/elsewhere/Cargo.toml",
            "targets": [{ "kind": ["lib"] }, { "kind": [kind] }],
        })
    }

    #[test]
    fn packages_outside_of_the_list_are_violations() {
        let registry = Some("registry+https://github.com/rust-lang/crates.io-index");
        let text = lock("dynamic-any");
        let locked = super::locked(&text).find(|it| it.name == "serde").unwrap();
        let version = locked.version;
        assert_eq!(violations_of(&[package("serde", version, registry, "custom-build")]), [""; 0]);
        assert_eq!(violations_of(&[package("unknown", "1.0.0", registry, "lib")]), [""; 0]);
        for (package, expected) in [
            (
                package("serde", "1.0.0", registry, "custom-build"),
                "serde 1.0.0 unlocked custom-build",
            ),
            (package("evil", "1.0.0", registry, "proc-macro"), "evil 1.0.0 unlocked proc-macro"),
            (
                package("tool-runtime-macros", "0.1.0", None, "proc-macro"),
                "tool-runtime-macros 0.1.0 foreign proc-macro",
            ),
        ] {
            assert_eq!(violations_of(&[package]), [expected]);
        }
        // The package has gained a procedural macro.
        let changed = violations_of(&[package("serde", version, registry, "proc-macro")]);
        assert_eq!(changed.len(), 1, "{changed:?}");
    }
}
