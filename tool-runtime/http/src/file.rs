//! Replaces files as a whole.
//!
//! The functions are in this crate because every crate that writes such files depends on it. The
//! libraries for this purpose name the second file at random, so each write that is killed leaves
//! one behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Replaces a file, or creates it.
///
/// The content is written to a second file beside it, `NAME.new`, which then takes its place. If
/// this returns, the content is on the disk. A kill at any moment leaves the old or the new file;
/// a second file that it leaves is removed by the next write. A link in the place of a file is
/// replaced, not followed; links in the path of its folder are followed. The caller ensures that
/// the file has one writer at a time.
///
/// # Errors
/// An error of the file system. The old file is unchanged, except if the error is that its folder
/// can't be written to the disk.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, &mut OpenOptions::new())
}

/// Replaces a file as [`replace_file`] does. On Unix, only the user of the process can read it.
///
/// # Errors
/// The errors of [`replace_file`].
pub fn replace_private_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    replace(path, content, &mut options)
}

fn replace(path: &Path, content: &[u8], options: &mut OpenOptions) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    // It was left by a process that was killed, and may be readable by others, or a link.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = options.write(true).create_new(true).open(&new)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    let replaced = written.and_then(|()| fs::rename(&new, path));
    replaced.inspect_err(|_| drop(fs::remove_file(&new)))?;
    sync_folder(path)
}

/// Makes the new name durable. Windows can't open a folder, and does not need it.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) {
        File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    use super::*;

    type Replace = fn(&Path, &[u8]) -> io::Result<()>;

    const FUNCTIONS: [(&str, Replace); 2] =
        [("shared", replace_file), ("own", replace_private_file)];

    /// Returns an empty folder for a test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn file_is_replaced_and_its_second_file_is_new() {
        let folder = folder("replaced-file");
        let other = folder.join("other");
        for (name, replace) in FUNCTIONS {
            let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
            for left in ["nothing", "link", "readable"] {
                fs::write(&other, "other").unwrap();
                match left {
                    "link" => symlink(&other, &new).unwrap(),
                    "readable" => {
                        fs::write(&new, "half of it").unwrap();
                        fs::set_permissions(&new, Permissions::from_mode(0o666)).unwrap();
                    }
                    _ => {}
                }
                replace(&path, left.as_bytes()).unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), left);
                assert_eq!(fs::read_to_string(&other).unwrap(), "other");
                assert!(fs::symlink_metadata(&new).is_err(), "{name}, {left}");
                let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
                assert!(name == "shared" || mode == 0o600, "{left}: {mode:o}");
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn failed_write_leaves_no_second_file() {
        let folder = folder("failed-file");
        for (name, replace) in FUNCTIONS {
            fs::create_dir(folder.join(name)).unwrap();
            // A file can't take the place of a folder.
            replace(&folder.join(name), b"content").unwrap_err();
            assert!(!folder.join(format!("{name}.new")).exists());
            replace(&folder.join("missing/file"), b"content").unwrap_err();
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
