//! Writes the file of a report.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file. A link in its place is an error: a program that changes the folder could have put
/// it there, so that another file is overwritten.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            let text = format!("report path is a link: {}", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
        // A device or a pipe can't be replaced.
        Ok(metadata) if !metadata.is_file() => fs::write(path, bytes),
        _ => replace(path, bytes),
    }
}

/// Writes a second file, which then takes the place of whatever is there by now.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    // A process that was killed has left it. It may also be a link, which is not followed.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = File::create_new(&new)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&new, path));
    written.inspect_err(|_| drop(fs::remove_file(&new)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::write;

    #[test]
    fn links_at_the_path_of_a_file_are_not_followed() {
        let folder = std::env::temp_dir().join(format!("report-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        fs::write(path("other"), "other").unwrap();
        symlink(path("other"), path("link")).unwrap();
        symlink(path("nothing"), path("dangling")).unwrap();
        for name in ["link", "dangling"] {
            let error = write(&path(name), b"report").unwrap_err().to_string();
            assert!(error.starts_with("report path is a link: "), "{error}");
        }
        // The name of the second file is known, too.
        symlink(path("other"), path("report.html.new")).unwrap();
        for text in ["one", "two"] {
            write(&path("report.html"), text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(path("report.html")).unwrap(), text);
        }
        assert_eq!(fs::read_to_string(path("other")).unwrap(), "other");
        assert!(!path("nothing").exists() && !path("report.html.new").exists());
        write("/dev/null".as_ref(), b"report").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        fs::remove_dir_all(folder).unwrap();
    }
}
