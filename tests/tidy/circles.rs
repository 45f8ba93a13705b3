//! The files of a folder import each other in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::files::{LIBRARIES, root, sources};
use super::source::code;

/// For each file of a folder, the files beside it that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Returns the imports between the files of each folder. The paths begin at the crate.
fn imports(files: &[(PathBuf, String)]) -> BTreeMap<PathBuf, Imports> {
    let mut found: BTreeMap<PathBuf, Imports> = BTreeMap::new();
    for (path, text) in files {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if !["mod", "lib"].contains(&name.as_str()) {
            let imported = names(&folder, &code(text));
            found.entry(folder).or_default().insert(name, imported);
        }
    }
    for folder in found.values_mut() {
        let names: BTreeSet<_> = folder.keys().cloned().collect();
        for (name, imported) in folder {
            imported.retain(|import| import != name && names.contains(import));
        }
    }
    found
}

/// Returns the names in a folder that a file of it imports.
fn names(folder: &Path, code: &str) -> BTreeSet<String> {
    let mut absolute = String::from("crate::");
    for name in folder {
        absolute.push_str(&name.to_string_lossy());
        absolute.push_str("::");
    }
    let mut found = BTreeSet::new();
    for start in [absolute.as_str(), "super::"] {
        for (at, _) in code.match_indices(start) {
            if !code[..at].ends_with(|c: char| is_name(c) || c == ':') {
                let rest = &code[at + start.len()..];
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                found.insert(rest[..end].to_owned());
            }
        }
    }
    found
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the imports of the files that are in a circle or between two of them.
fn circle(files: &Imports) -> Imports {
    let mut left = files.clone();
    loop {
        let before = left.len();
        let names: BTreeSet<_> = left.keys().cloned().collect();
        left.retain(|_, imported| imported.iter().any(|import| names.contains(import)));
        let imported: BTreeSet<_> = left.values().flatten().cloned().collect();
        left.retain(|name, _| imported.contains(name));
        if left.len() == before {
            return left;
        }
    }
}

#[test]
fn files_of_a_folder_import_each_other_in_no_circle() {
    let mut count = 0;
    for source in LIBRARIES.into_iter().chain(["tool-macros/src"]) {
        let crate_root = root().join(source);
        let files = sources(source).into_iter();
        let files: Vec<_> = files
            .map(|(path, text)| (path.strip_prefix(&crate_root).expect("below").to_owned(), text))
            .collect();
        let folders = imports(&files);
        count += folders.values().flat_map(BTreeMap::values).map(BTreeSet::len).sum::<usize>();
        for (folder, files) in folders {
            let circle = circle(&files);
            assert!(circle.is_empty(), "{source}/{}: {circle:#?}", folder.display());
        }
    }
    assert!(count > 500, "only {count} imports were read");
}

#[test]
fn circles_are_found_in_every_notation() {
    for (files, has_circle) in [
        (&[("a.rs", "use super::b::B;"), ("b.rs", "use super::a::A;")][..], true),
        (&[("a.rs", "use super::b::B;"), ("b.rs", "fn f() { super::a::f() }")], true),
        (&[("d/a.rs", "use super::b::B;"), ("d/b.rs", "use crate::d::a::A;")], true),
        (&[("a.rs", "use super::b::B;"), ("b.rs", "use super::c;"), ("c.rs", "super::a()")], true),
        (&[("a.rs", "use super::b::B;"), ("b.rs", "// super::a")], false),
        (&[("a/c.rs", "use super::b::B;"), ("b.rs", "use super::a::A;")], false),
    ] {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        let found = imports(&files).values().any(|files| !circle(files).is_empty());
        assert_eq!(found, has_circle, "{files:?}");
    }
}
