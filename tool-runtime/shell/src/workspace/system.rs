//! Folders that commands must not write, because programs, libraries or certificates in them are
//! used outside of a sandbox, too: a folder is refused if it is in one of them or contains one.
//!
//! Some are known, and others are named by `PATH`, by variables or settings of the loader, and by
//! variables for certificates. All places on the way to one of them count: a command could replace
//! a link.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::system_files::{FILES, USR_LINKS};

/// Folders of programs, libraries, scripts that the system runs, and certificates.
const KNOWN: [&str; 35] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/libexec",
    "/usr/share/ca-certificates",
    "/usr/share/pki",
    "/usr/local/share/ca-certificates",
    "/etc/ssl",
    "/etc/pki",
    "/etc/init.d",
    "/etc/systemd",
    "/etc/profile.d",
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/etc/pam.d",
    "/etc/sudoers.d",
    "/boot",
    "/nix",
    "/gnu/store",
    "/snap",
    "/var/lib/flatpak",
    "/var/lib/dpkg",
    "/var/spool/cron",
    "/home/linuxbrew/.linuxbrew",
];

/// Folders whose folders belong to programs or to projects. They can't be written as a whole.
const SHARED: [&str; 1] = ["/opt"];

/// Variables with a list of folders, from which programs and libraries are loaded.
const LISTS: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// Variables with the paths of libraries, separated by colons or spaces.
const LIBRARIES: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];

/// Variables with the path of certificates, or of a folder of them.
const CERTIFICATES: [&str; 6] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
];

/// The settings of the loader, which name folders of libraries and further settings.
const LOADER: &str = "/etc/ld.so.conf";

/// The file that names libraries for every program.
const PRELOAD: &str = "/etc/ld.so.preload";

/// The most settings of the loader that are read, and the most links on the way to a path.
const MAX_STEPS: usize = 100;

/// The folders that a workspace must not contain, because a sandbox mounts over them.
const MOUNTED: [&str; 6] = ["/usr", "/etc", "/proc", "/dev", "/sys", "/run"];

/// Returns why a folder, which is without links, can't be one in which commands run, or also write,
/// if it can't.
pub(crate) fn refusal(folder: &Path, is_written: bool) -> Option<String> {
    let folder_text = folder.display();
    if MOUNTED.iter().any(|path| Path::new(path).starts_with(folder)) {
        return Some(format!("the folder {folder_text} contains folders of the system"));
    }
    if is_written && let Some(reason) = protected().into_iter().find_map(|it| it.refusal(folder)) {
        return Some(reason);
    }
    let is_virtual = ["/proc", "/dev", "/sys"].iter().any(|path| folder.starts_with(path));
    is_virtual.then(|| format!("the folder {folder_text} is in a virtual file system"))
}

/// A path that commands must not write.
struct Protected {
    path: PathBuf,
    /// The variable or the file that names it; empty for a known folder.
    named_by: &'static str,
    /// Whether what is in it is protected as well.
    is_whole: bool,
}

impl Protected {
    fn known(path: &str) -> Self {
        Self { path: path.into(), named_by: "", is_whole: true }
    }

    fn named(named_by: &'static str, path: PathBuf) -> Self {
        Self { path, named_by, is_whole: true }
    }

    fn refusal(&self, folder: &Path) -> Option<String> {
        let places = places(&self.path);
        let ends = [Some(&self.path), places.last()];
        let is_in = self.is_whole && ends.into_iter().flatten().any(|end| folder.starts_with(end));
        let (folder_text, path) = (folder.display(), self.path.display());
        if is_in && self.named_by.is_empty() {
            return Some(format!(
                "the folder {folder_text} belongs to installed programs, which commands may not \
                 write"
            ));
        }
        let relation = match (is_in, places.iter().any(|place| place.starts_with(folder))) {
            (true, _) => "is in",
            (false, true) => "contains",
            (false, false) => return None,
        };
        let source = match self.named_by {
            "" => "which belongs to installed programs or their certificates".to_owned(),
            name => format!("which {name} names"),
        };
        Some(format!(
            "the folder {folder_text} {relation} {path}, {source}, and which commands may not write"
        ))
    }
}

/// Returns all paths that commands must not write.
fn protected() -> Vec<Protected> {
    let known = KNOWN.iter().chain(&USR_LINKS).chain(&FILES).copied().map(Protected::known);
    let shared = SHARED.iter().map(|path| Protected { is_whole: false, ..Protected::known(path) });
    let variables = named_by_variables(|name| env::var_os(name));
    known.chain(shared).chain(variables).chain(named_by_loader(Path::new(LOADER))).collect()
}

/// Returns the paths that variables name. An empty or a relative one begins at the current folder.
fn named_by_variables(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Protected> {
    let current = env::current_dir().unwrap_or_default();
    let list = |name: &'static str, is_separator: fn(char) -> bool| {
        let text = variable(name).unwrap_or_default().to_string_lossy().into_owned();
        let paths = text.split(is_separator).map(PathBuf::from).collect::<Vec<_>>();
        // An empty variable is as good as none.
        paths.into_iter().filter(move |_| !text.is_empty()).map(move |path| (name, path))
    };
    let folders = LISTS.iter().flat_map(|name| list(name, |c| c == ':'));
    let libraries = LIBRARIES.iter().flat_map(|name| list(name, |c| c == ':' || c == ' '));
    let libraries = libraries.filter(|(_, path)| path.components().count() > 1);
    let certificates = CERTIFICATES.iter().flat_map(|name| list(name, |c| c == ':'));
    let certificates = certificates.filter(|(_, path)| !path.as_os_str().is_empty());
    let all = folders.chain(libraries).chain(certificates);
    all.map(|(name, path)| Protected::named(name, current.join(path))).collect()
}

/// Returns the paths that the settings of the loader name.
fn named_by_loader(settings: &Path) -> Vec<Protected> {
    let mut named = Vec::new();
    let mut files = VecDeque::from([settings.to_owned()]);
    for _ in 0..MAX_STEPS {
        let Some(file) = files.pop_front() else { break };
        let text = fs::read_to_string(&file).unwrap_or_default();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            match line.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t'])) {
                // All files of the folder: more than the pattern matches.
                Some(pattern) => {
                    let above = file.parent().unwrap_or_else(|| Path::new("/"));
                    let pattern = above.join(pattern.trim());
                    let folder = pattern.parent().unwrap_or_else(|| Path::new("/"));
                    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                    files.extend(entries.map(|entry| entry.path()));
                    named.push(Protected::named(LOADER, folder.to_owned()));
                }
                None if line.starts_with('/') => {
                    // An older form adds the type of the libraries: `/lib=libc6`.
                    let path = line.split('=').next().unwrap_or_default();
                    named.push(Protected::named(LOADER, path.trim().into()));
                }
                None => {}
            }
        }
    }
    let preload = fs::read_to_string(PRELOAD).unwrap_or_default();
    let libraries = preload.split_whitespace().filter(|path| path.starts_with('/'));
    named.extend(libraries.map(|path| Protected::named(PRELOAD, path.into())));
    named
}

/// Returns the places on the way to a path: all that has to stay the same for the path to lead
/// where it leads. The last one is where it ends.
fn places(path: &Path) -> Vec<PathBuf> {
    let mut places = vec![path.to_owned()];
    let mut current = PathBuf::from("/");
    let parts = |path: &Path| {
        let parts: Vec<_> = path.components().map(|it| PathBuf::from(it.as_os_str())).collect();
        parts.into_iter().rev()
    };
    let mut rest: Vec<PathBuf> = parts(path).collect();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        match part.components().next() {
            Some(Component::Normal(name)) => {
                let place = current.join(name);
                places.push(place.clone());
                match fs::read_link(&place) {
                    Ok(target) if links < MAX_STEPS => {
                        links += 1;
                        rest.extend(parts(&target));
                    }
                    _ => current = place,
                }
            }
            Some(Component::ParentDir) => {
                current.pop();
            }
            Some(Component::RootDir) => current = "/".into(),
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
    places.push(current);
    places
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::{named_by_loader, named_by_variables, refusal};

    #[test]
    fn workspace_contains_no_folder_of_the_system() {
        for (path, is_refused_if_read, is_refused_if_written) in [
            ("/", true, true),
            ("/usr", true, true),
            ("/etc", true, true),
            ("/proc/1/root", true, true),
            ("/dev/shm", true, true),
            ("/usr/bin", false, true),
            ("/usr/lib/node_modules/x", false, true),
            ("/usr/local", false, true),
            ("/usr/local/share", false, true),
            ("/usr/share", false, true),
            ("/bin", false, true),
            ("/boot/grub", false, true),
            ("/etc/alternatives", false, true),
            ("/etc/ssl", false, true),
            ("/etc/ssl/private", false, true),
            ("/etc/pki", false, true),
            ("/etc/profile.d", false, true),
            ("/gnu", false, true),
            ("/nix", false, true),
            ("/nix/var", false, true),
            ("/opt", false, true),
            ("/var", false, true),
            ("/var/lib", false, true),
            ("/home", false, true),
            ("/etc/nginx", false, false),
            ("/opt/project", false, false),
            ("/usr/src/app", false, false),
            ("/usr/local/src", false, false),
            ("/var/lib/app", false, false),
            ("/home/ada/project", false, false),
        ] {
            let path = Path::new(path);
            assert_eq!(refusal(path, false).is_some(), is_refused_if_read, "{path:?}");
            assert_eq!(refusal(path, true).is_some(), is_refused_if_written, "{path:?}");
        }
    }

    /// Returns a folder with the folders `work` and `other`.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("system-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("work")).unwrap();
        fs::create_dir_all(folder.join("other/bin")).unwrap();
        folder.canonicalize().unwrap()
    }

    #[test]
    fn folder_that_variables_name_is_not_written() {
        let folder = folder("variables");
        let current = std::env::current_dir().unwrap();
        let path = |name: &str| folder.join(name);
        symlink(path("work/tools"), path("to-work")).unwrap();
        symlink(path("other"), path("work/to-other")).unwrap();
        let text = |name: &str| path(name).display().to_string();
        for (variable, value, written, is_refused) in [
            ("PATH", text("work/bin"), path("work"), true),
            ("PATH", text("work/not/there"), path("work"), true),
            ("PATH", format!("/bin:{}", text("work")), path("work"), true),
            ("PATH", text("work"), path("work/inner"), true),
            ("PATH", text("to-work"), path("work"), true),
            ("PATH", text("work/to-other/bin"), path("work"), true),
            ("PATH", text("work/to-other/bin"), path("other"), true),
            ("PATH", text("other/../work/bin"), path("work"), true),
            ("PATH", "/bin:".to_owned(), current.clone(), true),
            ("PATH", "bin".to_owned(), current.clone(), true),
            ("PATH", String::new(), current.clone(), false),
            ("PATH", text("other/bin"), path("work"), false),
            ("PATH", text("working"), path("work"), false),
            ("LD_LIBRARY_PATH", text("work/lib"), path("work"), true),
            ("LD_PRELOAD", format!("liba.so {}", text("work/b.so")), path("work"), true),
            ("LD_AUDIT", text("work/a.so"), path("work"), true),
            ("LD_PRELOAD", "liba.so".to_owned(), current, false),
            ("SSL_CERT_FILE", text("work/ca.pem"), path("work"), true),
            ("SSL_CERT_DIR", text("work/certs"), path("work"), true),
            ("CURL_CA_BUNDLE", text("to-work"), path("work"), true),
            ("OTHER", text("work"), path("work"), false),
        ] {
            let named = named_by_variables(|name| (name == variable).then(|| value.clone().into()));
            let reason = named.iter().find_map(|it| it.refusal(&written));
            assert_eq!(reason.is_some(), is_refused, "{variable}={value}: {reason:?}");
            assert!(reason.is_none_or(|it| it.contains(variable)), "{variable}");
        }
        assert!(named_by_variables(|_| None::<OsString>).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folder_that_the_loader_names_is_not_written() {
        let folder = folder("loader");
        let path = |name: &str| folder.join(name);
        fs::create_dir(path("conf.d")).unwrap();
        let libraries = path("other/lib");
        fs::write(path("main.conf"), "include conf.d/*.conf\n# /elsewhere\n").unwrap();
        let text = format!("{}=libc6\n", libraries.display());
        fs::write(path("conf.d/one.conf"), text).unwrap();
        let named = named_by_loader(&path("main.conf"));
        for (written, is_refused) in
            [("other", true), ("other/lib/x", true), ("conf.d", true), ("work", false)]
        {
            let reason = named.iter().find_map(|it| it.refusal(&path(written)));
            assert_eq!(reason.is_some(), is_refused, "{written}: {reason:?}");
        }
        assert!(named.iter().all(|it| it.path != Path::new("/elsewhere")));
        fs::remove_dir_all(folder).unwrap();
    }
}
