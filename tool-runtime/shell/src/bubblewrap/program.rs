//! Finds the program that makes sandboxes.

use std::env;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first version with `--disable-userns`.
const MIN_VERSION: (u32, u32) = (0, 8);

/// The bubblewrap that runs commands.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
}

impl Program {
    /// Finds `bwrap` on `PATH`, outside of the folders that commands may write.
    pub(crate) fn find(written: &[PathBuf]) -> Result<Self, String> {
        let variable = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&variable).filter(|folder| folder.is_absolute());
        let mut refused = None;
        for candidate in folders.map(|folder| folder.join("bwrap")) {
            let Ok(path) = candidate.canonicalize() else { continue };
            let Ok(metadata) = path.metadata() else { continue };
            match refusal(&path, &metadata, written) {
                Some(reason) => refused = refused.or(Some(reason)),
                None => return Self::with_version(path),
            }
        }
        Err(refused.unwrap_or_else(|| "bwrap is not on PATH: install bubblewrap".to_owned()))
    }

    fn with_version(path: PathBuf) -> Result<Self, String> {
        let output = Command::new(&path).arg("--version").env_clear().output();
        let output = output.map_err(|error| format!("{} can't run: {error}", path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split_whitespace().last().unwrap_or_default().to_owned();
        match parse_version(&version) {
            Some(number) if number >= MIN_VERSION => Ok(Self { path, version }),
            _ => {
                let path = path.display();
                Err(format!("{path} is bubblewrap {version:?}: install 0.8 or later"))
            }
        }
    }
}

/// Returns the major and the minor number.
fn parse_version(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns why a program must not be used, if it must not.
fn refusal(path: &Path, metadata: &Metadata, written: &[PathBuf]) -> Option<String> {
    let mode = metadata.permissions().mode();
    let path_text = path.display();
    let reason = if written.iter().any(|folder| path.starts_with(folder)) {
        "is in the workspace or in a folder that commands may write"
    } else if !metadata.is_file() || mode & 0o111 == 0 {
        "is not a program"
    } else if mode & 0o6000 != 0 {
        "is setuid, which has had security holes"
    } else if has_capabilities(path) {
        "has file capabilities, which have had security holes"
    } else if is_changeable(metadata) {
        "can be changed by other users"
    } else if path.ancestors().skip(1).any(is_changeable_folder) {
        "is in a folder that other users can change"
    } else {
        return None;
    };
    Some(format!("{path_text} {reason}"))
}

/// Whether another user can write a file or folder, or permit himself to.
fn is_changeable(metadata: &Metadata) -> bool {
    let own_id = rustix::process::geteuid().as_raw();
    let owner = metadata.uid();
    metadata.permissions().mode() & 0o022 != 0 || (owner != 0 && owner != own_id)
}

/// Whether another user can replace what is in a folder. In one with the sticky bit, such as
/// `/tmp`, only the owner of an entry can.
fn is_changeable_folder(folder: &Path) -> bool {
    folder.symlink_metadata().map_or(true, |metadata| {
        let owner = metadata.uid();
        let is_sticky = metadata.permissions().mode() & 0o1000 != 0;
        let own_id = rustix::process::geteuid().as_raw();
        if is_sticky { owner != 0 && owner != own_id } else { is_changeable(&metadata) }
    })
}

fn has_capabilities(path: &Path) -> bool {
    let mut value = [0; 64];
    rustix::fs::getxattr(path, "security.capability", &mut value).is_ok_and(|len| len > 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::{MIN_VERSION, parse_version, refusal};

    #[test]
    fn versions_before_0_8_are_too_old() {
        for (version, is_enough) in [
            ("0.8.0", true),
            ("0.11.2", true),
            ("1.0", true),
            ("0.6.1", false),
            ("", false),
            ("x.y", false),
        ] {
            let number = parse_version(version);
            assert_eq!(number.is_some_and(|it| it >= MIN_VERSION), is_enough, "{version}");
        }
    }

    #[test]
    fn program_that_others_control_is_refused() {
        let folder = std::env::temp_dir().join(format!("bwrap-{}", std::process::id()));
        fs::create_dir_all(folder.join("inner")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let path = folder.join("inner/bwrap");
        fs::write(&path, "").unwrap();
        let (outer, written) = (folder.clone(), vec!["/elsewhere".into(), folder.clone()]);
        for (mode, outer_mode, written, expected) in [
            (0o755, 0o755, &[][..], None),
            (0o755, 0o1777, &[], None),
            (0o755, 0o755, &written[..1], None),
            (0o755, 0o755, &written, Some("is in the workspace or in a folder that commands may")),
            (0o644, 0o755, &[], Some("is not a program")),
            (0o4755, 0o755, &[], Some("is setuid")),
            (0o2755, 0o755, &[], Some("is setuid")),
            (0o775, 0o755, &[], Some("can be changed by other users")),
            (0o755, 0o777, &[], Some("is in a folder that other users can change")),
            (0o755, 0o775, &[], Some("is in a folder that other users can change")),
        ] {
            let set = |path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
            set(&path, mode).unwrap();
            set(&outer, outer_mode).unwrap();
            let refusal = refusal(&path, &path.metadata().unwrap(), written);
            match expected {
                None => assert_eq!(refusal, None),
                Some(text) => assert!(refusal.unwrap().contains(text), "{mode:o} {outer_mode:o}"),
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
