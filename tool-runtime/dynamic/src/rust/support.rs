//! The crates that a build consists of: the support crate, and the dynamic tool that depends on it.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The library that each dynamic tool links.
pub(super) const LIB: &str = include_str!("../../support/lib.rs");

/// The versions of all dependencies. The name of the dynamic tool is replaced.
const LOCK: &str = include_str!("../../support/Cargo.lock");

/// The name of the dynamic tool in [`LOCK`].
const NAME_IN_LOCK: &str = "dynamic-tool";

/// The crates of this project that a build compiles, below the folder of the sources.
const CRATES: [(&str, &str); 5] = [
    ("tool-core", "tool-runtime/core"),
    ("tool-http", "tool-runtime/http"),
    ("tool-json", "tool-runtime/json"),
    ("tool-mcp", "tool-runtime/mcp"),
    ("tool-runtime-macros", "tool-macros"),
];

/// The sources of the crates of this project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sources {
    /// The paths that a build reads.
    pub(super) readable: Vec<PathBuf>,
    crates: Vec<(&'static str, PathBuf)>,
    /// Whether the crates look for each other in a registry.
    is_published: bool,
}

impl Sources {
    /// Finds the sources: a checkout of the project, or the folder of a registry in which published
    /// crates are beside each other.
    ///
    /// # Errors
    /// A crate is in neither place.
    pub(super) fn find(folder: &Path) -> Result<Self, String> {
        let folder = folder.canonicalize();
        let folder = folder.map_err(|error| format!("the sources can't be read: {error}"))?;
        let exists = |path: &Path| path.join("Cargo.toml").is_file();
        let in_checkout = CRATES.map(|(name, path)| (name, folder.join(path)));
        if in_checkout.iter().all(|(_, path)| exists(path)) {
            let readable = ["Cargo.toml", "tool-macros", "tool-runtime"];
            let readable = readable.map(|path| folder.join(path)).to_vec();
            return Ok(Self { readable, crates: in_checkout.to_vec(), is_published: false });
        }
        let version = env!("CARGO_PKG_VERSION");
        let published = CRATES.map(|(name, _)| (name, folder.join(format!("{name}-{version}"))));
        match published.iter().find(|(_, path)| !exists(path)) {
            None => {
                let readable = published.iter().map(|(_, path)| path.clone()).collect();
                Ok(Self { readable, crates: published.to_vec(), is_published: true })
            }
            Some((name, _)) => {
                let folder = folder.display();
                Err(format!(
                    "the sources of the crate {name} are not in {folder}: set `RustTools::sources`"
                ))
            }
        }
    }

    /// Returns whether a manifest belongs to a crate of this project.
    pub(super) fn contain(&self, manifest: &Path) -> bool {
        self.crates.iter().any(|(_, path)| manifest == path.join("Cargo.toml"))
    }

    fn path(&self, name: &str) -> String {
        let path = self.crates.iter().find(|(other, _)| *other == name);
        toml_text(path.map(|(_, path)| path.as_path()).unwrap_or_else(|| Path::new("")))
    }

    /// Returns the manifest of the support crate.
    pub(super) fn support_manifest(&self) -> String {
        let (core, mcp) = (self.path("tool-core"), self.path("tool-mcp"));
        format!(
            "[package]\n\
             name = \"tool-support\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
             [lib]\npath = \"lib.rs\"\n\n\
             [dependencies]\n\
             schemars = {{ version = \"1\", default-features = false }}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n\
             serde_json = \"1\"\n\
             tokio = {{ version = \"1\", default-features = false, features = [\"rt\"] }}\n\
             tool-core = {{ path = {core} }}\n\
             tool-mcp = {{ path = {mcp}, features = [\"server-stdio\"] }}\n"
        )
    }

    /// Returns the manifest of a dynamic tool.
    pub(super) fn manifest(&self, name: &str, support: &Path) -> String {
        let support = toml_text(support);
        let core = self.path("tool-core");
        let mut manifest = format!(
            "[package]\n\
             name = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\
             autobins = false\nautoexamples = false\nautotests = false\nautobenches = false\n\
             build = false\n\n\
             [[bin]]\nname = \"{name}\"\npath = \"main.rs\"\n\n\
             [dependencies]\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n\
             serde_json = \"1\"\n\
             tool-core = {{ path = {core} }}\n\
             tool-support = {{ path = {support} }}\n\n\
             [profile.dev]\ndebug = false\nincremental = false\nstrip = \"debuginfo\"\n\n\
             [workspace]\n"
        );
        if self.is_published {
            manifest.push_str("\n[patch.crates-io]\n");
            for (name, _) in &self.crates {
                manifest.push_str(&format!("{name} = {{ path = {} }}\n", self.path(name)));
            }
        }
        manifest
    }
}

/// Returns where the sources are, by the folder of this crate. In a checkout, the crates are in its
/// folders. In a registry, they are beside this one.
pub(super) fn folder_of_sources(this_crate: &Path) -> &Path {
    let checkout = this_crate.parent().and_then(Path::parent);
    let checkout = checkout.filter(|path| path.join("tool-runtime/Cargo.toml").is_file());
    checkout.or_else(|| this_crate.parent()).unwrap_or(this_crate)
}

/// Returns a path as a text of TOML, whose escapes are those of JSON.
fn toml_text(path: &Path) -> String {
    Value::from(path.to_string_lossy()).to_string()
}

/// Returns the lock file of a dynamic tool.
pub(super) fn lock(name: &str) -> String {
    LOCK.replace(&format!("\"{NAME_IN_LOCK}\""), &format!("\"{name}\""))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{CRATES, Sources, folder_of_sources};

    /// Creates a folder with empty manifests, which is removed by the test.
    fn folder(name: &str, manifests: &[String]) -> PathBuf {
        let folder = format!("tool-dynamic-sources-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        for manifest in manifests {
            let path = folder.join(manifest);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder.canonicalize().unwrap()
    }

    #[test]
    fn sources_of_a_checkout_are_in_its_folders() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        assert_eq!(folder_of_sources(Path::new(env!("CARGO_MANIFEST_DIR"))), checkout);
        let sources = Sources::find(&checkout).unwrap();
        assert!(sources.contain(&checkout.join("tool-runtime/mcp/Cargo.toml")));
        assert!(!sources.manifest("dynamic-1", Path::new("/support")).contains("[patch"));
    }

    #[test]
    fn sources_of_published_crates_are_beside_this_one() {
        let version = env!("CARGO_PKG_VERSION");
        let manifest = |name: &str| format!("{name}-{version}/Cargo.toml");
        let mut manifests: Vec<_> = CRATES.iter().map(|(name, _)| manifest(name)).collect();
        manifests.push(manifest("tool-dynamic"));
        let registry = folder("registry", &manifests);
        let this_crate = registry.join(format!("tool-dynamic-{version}"));
        assert_eq!(folder_of_sources(&this_crate), registry);
        let sources = Sources::find(&registry).unwrap();
        assert!(sources.contain(&registry.join(manifest("tool-mcp"))));
        assert!(!sources.contain(&registry.join(manifest("serde"))));
        // They depend on each other by version, which would be that of a registry.
        let text = sources.manifest("dynamic-1", Path::new("/support"));
        let patches = text.split("[patch.crates-io]\n").nth(1).unwrap();
        assert_eq!(patches.lines().count(), CRATES.len(), "{patches}");

        fs::remove_file(registry.join(manifest("tool-json"))).unwrap();
        let error = Sources::find(&registry).unwrap_err();
        assert!(error.contains("the sources of the crate tool-json are not in"), "{error}");
        fs::remove_dir_all(registry).unwrap();
    }
}
