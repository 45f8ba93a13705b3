//! Folders that commands must not write, because programs, libraries, settings or certificates in
//! them are used outside of a sandbox, too: a folder is refused if it is in one of them or contains
//! one.
//!
//! The trees of the system are known. `variables.rs` adds what the environment names, `loader.rs`
//! what the settings of the loader name, and `home.rs` the home folder. All places on the way to
//! one of them count: a command could replace a link.

mod home;
mod loader;
mod variables;

use std::env;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::system_files::{FILES, USR_LINKS};

/// Folders of programs, libraries, settings and certificates.
const KNOWN: [&str; 10] = [
    "/usr",
    "/etc",
    "/boot",
    "/nix",
    "/gnu/store",
    "/snap",
    "/var/lib/flatpak",
    "/var/lib/dpkg",
    "/var/spool/cron",
    "/home/linuxbrew/.linuxbrew",
];

/// Folders of projects in known folders.
const SOURCES: [&str; 2] = ["/usr/src", "/usr/local/src"];

/// Known folders whose entries may be links to other places.
const WITH_LINKS: [&str; 3] = ["/usr", "/usr/local", "/etc"];

/// Folders whose folders belong to programs or to projects. They can't be written as a whole.
const SHARED: [&str; 2] = ["/opt", "/usr/src"];

/// The most links on the way to a path.
const MAX_LINKS: usize = 100;

/// The folders that a workspace must not contain, because a sandbox mounts over them.
const MOUNTED: [&str; 6] = ["/usr", "/etc", "/proc", "/dev", "/sys", "/run"];

/// Returns why a folder, which is without links, can't be one in which commands run, or also write,
/// if it can't.
pub(crate) fn refusal(folder: &Path, is_written: bool) -> Option<String> {
    let folder_text = folder.display();
    if MOUNTED.iter().any(|path| Path::new(path).starts_with(folder)) {
        return Some(format!("the folder {folder_text} contains folders of the system"));
    }
    if ["/proc", "/dev", "/sys"].iter().any(|path| folder.starts_with(path)) {
        return Some(format!("the folder {folder_text} is in a virtual file system"));
    }
    let mut protected = if is_written { protected() } else { Vec::new() }.into_iter();
    protected.find_map(|it| it.refusal(folder))
}

/// A path that commands must not write.
struct Protected {
    path: PathBuf,
    reason: Reason,
}

/// Why commands must not write a path.
#[derive(Clone)]
enum Reason {
    /// The path belongs to the system, with all that is in it.
    System,
    /// Some of the folders in the path belong to installed programs.
    Shared,
    /// The path is the home folder: programs read the settings directly in it.
    Home,
    /// A variable or a file names it.
    NamedBy(String),
}

impl Protected {
    fn new(path: impl Into<PathBuf>, reason: Reason) -> Self {
        Self { path: path.into(), reason }
    }

    /// Returns why a folder can't be written, if it is in the path or contains a place on the way
    /// to it.
    fn refusal(&self, folder: &Path) -> Option<String> {
        let places = places(&self.path);
        let is_whole = matches!(self.reason, Reason::System | Reason::NamedBy(_));
        let mut ends = [Some(&self.path), places.last()].into_iter().flatten();
        let is_in = is_whole && ends.any(|end| belongs_to(folder, end));
        if !is_in && !places.iter().any(|place| place.starts_with(folder)) {
            return None;
        }
        let (text, path) = (folder.display(), self.path.display());
        let relation = if is_in { "is in" } else { "contains" };
        Some(match &self.reason {
            Reason::System if is_in => format!(
                "the folder {text} belongs to the system or its programs, and commands may not \
                 write it"
            ),
            Reason::System | Reason::Shared => format!(
                "the folder {text} contains {path}, which belongs to the system or its programs, \
                 and which commands may not write"
            ),
            Reason::Home => format!(
                "the folder {text} contains the home folder {path}, in which programs find their \
                 settings; choose a folder in the home folder, such as {}",
                self.path.join("project").display()
            ),
            Reason::NamedBy(name) => format!(
                "the folder {text} {relation} {path}, which {name} names, and which commands may \
                 not write"
            ),
        })
    }
}

/// Returns whether a folder is in another one, and not in a folder of projects there.
fn belongs_to(folder: &Path, other: &Path) -> bool {
    let is_source = |source: &Path| source != other && source.starts_with(other);
    let mut sources = SOURCES.iter().map(Path::new).filter(|source| is_source(source));
    folder.starts_with(other) && !sources.any(|source| folder.starts_with(source))
}

/// Returns all paths that commands must not write.
fn protected() -> Vec<Protected> {
    let known = KNOWN.iter().chain(&USR_LINKS).chain(&FILES).map(PathBuf::from);
    let system = known.chain(WITH_LINKS.iter().flat_map(|folder| links(Path::new(folder))));
    let system = system.map(|path| Protected::new(path, Reason::System));
    let shared = SHARED.iter().map(|path| Protected::new(path, Reason::Shared));
    let homes = home::folders().into_iter().map(|path| Protected::new(path, Reason::Home));
    let variables = variables::named(env::vars_os());
    system.chain(shared).chain(homes).chain(variables).chain(loader::named()).collect()
}

/// Returns the links in a folder, except for those to folders of projects.
fn links(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_symlink()));
    let links = links.map(|entry| entry.path());
    links.filter(|path| SOURCES.iter().all(|source| Path::new(source) != path)).collect()
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
                    Ok(target) if links < MAX_LINKS => {
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
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{Protected, Reason, refusal};

    /// Returns a folder with the folders `work` and `other`.
    pub(super) fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("system-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("work")).unwrap();
        fs::create_dir_all(folder.join("other/bin")).unwrap();
        folder.canonicalize().unwrap()
    }

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
            ("/usr/share/perl5", false, true),
            ("/usr/share/git-core/templates", false, true),
            ("/usr/share/bash-completion/completions", false, true),
            ("/usr/src", false, true),
            ("/bin", false, true),
            ("/boot/grub", false, true),
            ("/etc/alternatives", false, true),
            ("/etc/apt/apt.conf.d", false, true),
            ("/etc/nginx", false, true),
            ("/etc/ssl", false, true),
            ("/etc/udev/rules.d", false, true),
            ("/etc/update-motd.d", false, true),
            ("/etc/xdg/autostart", false, true),
            ("/gnu", false, true),
            ("/nix", false, true),
            ("/nix/var", false, true),
            ("/opt", false, true),
            ("/var", false, true),
            ("/var/lib", false, true),
            ("/home", false, true),
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

    #[test]
    fn home_folder_is_not_written_as_a_whole() {
        let home = Protected::new("/home/ada", Reason::Home);
        for (folder, is_refused) in [
            ("/home/ada", true),
            ("/home", true),
            ("/home/ada/project", false),
            ("/home/adam", false),
        ] {
            let reason = home.refusal(Path::new(folder));
            assert_eq!(reason.is_some(), is_refused, "{folder}: {reason:?}");
            assert!(reason.is_none_or(|it| it.contains("choose a folder in the home folder")));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn links_of_known_folders_are_protected() {
        let folder = folder("links");
        std::os::unix::fs::symlink(folder.join("work/x"), folder.join("other/link")).unwrap();
        assert_eq!(super::links(&folder.join("other")), [folder.join("other/link")]);
        fs::remove_dir_all(folder).unwrap();
    }
}
