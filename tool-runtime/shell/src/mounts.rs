//! The parts of the machine that a sandbox shows: installed programs, and the few files of `/etc`
//! that they need. Everything else is hidden.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::system_files::{FILES, USR_LINKS};
use crate::workspace::refusal;

/// Files of `/proc` about the machine: keyrings of the user, memory and timers.
const MASKED: [&str; 10] = [
    "/proc/keys",
    "/proc/key-users",
    "/proc/kcore",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/kpagecgroup",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/timer_list",
    "/proc/vmallocinfo",
];

/// Returns the options that hide files of `/proc`: a device that can't be opened covers each.
pub(crate) fn masks() -> Vec<&'static str> {
    let existing = MASKED.into_iter().filter(|path| Path::new(path).exists());
    existing.flat_map(|path| ["--ro-bind", "/dev/null", path]).collect()
}

/// Returns the options that mount the installed programs, without files that are hidden.
pub(crate) fn system(hidden: &[PathBuf]) -> Vec<OsString> {
    let mut options: Vec<OsString> = ["--ro-bind", "/usr", "/usr"].map(Into::into).into();
    for path in USR_LINKS {
        match (fs::read_link(path), Path::new(path).is_dir()) {
            (Ok(target), _) => options.extend(["--symlink".into(), target.into(), path.into()]),
            (Err(_), true) => options.extend(["--ro-bind", path, path].map(Into::into)),
            (Err(_), false) => {}
        }
    }
    for path in visible_files(hidden) {
        options.extend(["--ro-bind-try", path, path].map(Into::into));
    }
    options
}

/// Returns the paths of the installed programs and their files, without files that are hidden.
pub(crate) fn installed(hidden: &[PathBuf]) -> impl Iterator<Item = &'static str> {
    std::iter::once("/usr").chain(USR_LINKS).chain(visible_files(hidden))
}

fn visible_files(hidden: &[PathBuf]) -> impl Iterator<Item = &'static str> {
    FILES.into_iter().filter(|path| !hidden.iter().any(|other| other == Path::new(path)))
}

/// Returns the paths that exist, each without links and as it was given. Those in the workspace and
/// in folders that commands may write are left out, and those that lead there: a command can put a
/// link there, which leads anywhere when the next sandbox is made.
pub(crate) fn resolved(
    paths: &[PathBuf],
    workspace: &Path,
    writable: &[PathBuf],
) -> Vec<(PathBuf, PathBuf)> {
    let resolved = paths
        .iter()
        .filter_map(|path| Some((path.canonicalize().ok()?, std::path::absolute(path).ok()?)));
    let is_inside = |path: &Path| {
        path.starts_with(workspace) || writable.iter().any(|folder| path.starts_with(folder))
    };
    resolved.filter(|(source, path)| !is_inside(source) && !is_inside(path)).collect()
}

/// Returns the folders that commands may write beside the workspace, without links.
///
/// # Errors
/// Returns the reason why a folder can't be written.
pub(crate) fn writable(folders: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let resolve = |folder: &PathBuf| {
        let path = folder.canonicalize();
        let path =
            path.map_err(|error| format!("{} can't be opened: {error}", folder.display()))?;
        refusal(&path, true).map_or(Ok(path), Err)
    };
    folders.iter().map(resolve).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::resolved;

    #[test]
    fn paths_in_or_into_written_folders_are_not_readable() {
        let folder = std::env::temp_dir().join(format!("readable-{}", std::process::id()));
        for name in ["work/tool", "written/tool", "other/tool"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let folder = folder.canonicalize().unwrap();
        let path = |name: &str| folder.join(name);
        for (link, target) in
            [("to-work", "work"), ("to-written", "written"), ("to-other", "other")]
        {
            symlink(path(target).join("tool"), path(link)).unwrap();
        }
        let names = [
            "work/tool",
            "written/tool",
            "other/tool",
            "to-work",
            "to-written",
            "to-other",
            "none",
        ];
        let resolved = resolved(
            &names.map(path),
            &path("work"),
            &[PathBuf::from("/nowhere"), path("written")],
        );
        let expected = [("other/tool", "other/tool"), ("other/tool", "to-other")];
        assert_eq!(resolved, expected.map(|(source, target)| (path(source), path(target))));
        fs::remove_dir_all(folder).unwrap();
    }
}
