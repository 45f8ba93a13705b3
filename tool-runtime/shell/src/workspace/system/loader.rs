//! Libraries, and folders of them, that the settings of the loader name.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Protected, Reason};

/// The settings of the loader, which name folders of libraries and further settings.
const SETTINGS: &str = "/etc/ld.so.conf";

/// The file that names libraries for every program.
const PRELOAD: &str = "/etc/ld.so.preload";

/// Returns the paths that the files of the system name.
pub(super) fn named() -> Vec<Protected> {
    let mut named = named_by_settings(Path::new(SETTINGS));
    named.extend(named_by_preload(&fs::read(PRELOAD).unwrap_or_default()));
    named
}

fn named_by_settings(settings: &Path) -> Vec<Protected> {
    let mut named = Vec::new();
    let mut files = vec![settings.to_owned()];
    // Files may include each other, by ever longer paths.
    let mut visited = BTreeSet::new();
    while let Some(file) = files.pop() {
        if !file.canonicalize().is_ok_and(|path| visited.insert(path)) {
            continue;
        }
        for line in lines(&fs::read(&file).unwrap_or_default()) {
            let patterns = line.strip_prefix(b"include").filter(|rest| rest.starts_with(b" "));
            if let Some(patterns) = patterns {
                let above = file.parent().unwrap_or_else(|| Path::new("/"));
                for pattern in patterns.split(|byte| *byte == b' ').filter(|it| !it.is_empty()) {
                    let (path, included) = expand(&above.join(OsStr::from_bytes(pattern)));
                    named.push(path);
                    files.extend(included);
                }
            } else if line.starts_with(b"/") {
                // An older form adds the type of the libraries: `/lib=libc6`.
                let folder = line.split(|byte| *byte == b'=').next().unwrap_or_default();
                named.push(OsStr::from_bytes(folder.trim_ascii()).into());
            }
        }
    }
    let reason = Reason::NamedBy(SETTINGS.to_owned());
    named.into_iter().map(|path| Protected::new(path, reason.clone())).collect()
}

fn named_by_preload(text: &[u8]) -> Vec<Protected> {
    let lines = lines(text);
    let names = lines.iter().flat_map(|line| line.split(|byte| *byte == b' ' || *byte == b':'));
    let paths = names.filter(|name| name.starts_with(b"/")).map(OsStr::from_bytes);
    paths.map(|path| Protected::new(path, Reason::NamedBy(PRELOAD.to_owned()))).collect()
}

/// Returns the lines of a text without comments, and with a space for each blank character.
fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split(|byte| *byte == b'\n').map(|line| {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
        line.iter().map(|byte| if byte.is_ascii_whitespace() { b' ' } else { *byte }).collect()
    });
    lines.collect()
}

/// Returns the folder in which a pattern matches files, or the path without a pattern, and the
/// files: all entries of a folder, which are more than the pattern matches.
fn expand(pattern: &Path) -> (PathBuf, Vec<PathBuf>) {
    let is_pattern = |part: &&OsStr| part.as_bytes().iter().any(|byte| b"*?[\\".contains(byte));
    let fixed = pattern.iter().take_while(|part| !is_pattern(part)).collect();
    let mut files = vec![PathBuf::new()];
    for part in pattern {
        if is_pattern(&part) {
            let entries = files.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
            files = entries.flatten().map(|entry| entry.path()).collect();
        } else {
            files.iter_mut().for_each(|file| file.push(part));
        }
    }
    files.retain(|file| file.is_file());
    (fixed, files)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::folder;
    use super::{named_by_preload, named_by_settings};

    #[test]
    fn folder_that_the_loader_names_is_not_written() {
        let folder = folder("loader");
        let path = |name: &str| folder.join(name);
        for name in ["conf.d", "second", "inner/a", "exact"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        let settings = format!(
            "include conf.d/*.conf\t{}/*.conf\ninclude inner/*/x.conf\ninclude exact/y.conf\n\
             # /elsewhere\n",
            path("second").display()
        );
        fs::write(path("main.conf"), settings).unwrap();
        for (file, named) in [
            ("conf.d/one.conf", "other/lib=libc6"),
            ("second/two.conf", "by-second/lib # a library"),
            ("inner/a/x.conf", "by-inner/lib"),
            ("exact/y.conf", "by-exact/lib"),
        ] {
            // The letter is no valid UTF-8.
            let mut text = b"# \xe9\n".to_vec();
            text.extend(format!("{}\n", path(named).display()).bytes());
            // A file that includes others again, and itself.
            text.extend(b"include ../main.conf\n");
            fs::write(path(file), text).unwrap();
        }
        let named = named_by_settings(&path("main.conf"));
        for (written, is_refused) in [
            ("other", true),
            ("other/lib/x", true),
            ("conf.d", true),
            ("second", true),
            ("by-second", true),
            ("inner", true),
            ("inner/b", true),
            ("by-inner", true),
            ("exact", true),
            ("exact/z", false),
            ("by-exact", true),
            ("work", false),
        ] {
            let reason = named.iter().find_map(|it| it.refusal(&path(written)));
            assert_eq!(reason.is_some(), is_refused, "{written}: {reason:?}");
        }
        assert!(named.iter().all(|it| !it.path.ends_with("elsewhere")));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn library_that_every_program_loads_is_not_written() {
        let named = named_by_preload(b"/a.so:/srv/b.so /srv/c.so\tlib.so # /srv/d.so\n/srv/e.so");
        let paths: Vec<_> = named.iter().map(|it| it.path.display().to_string()).collect();
        assert_eq!(paths, ["/a.so", "/srv/b.so", "/srv/c.so", "/srv/e.so"]);
    }
}
