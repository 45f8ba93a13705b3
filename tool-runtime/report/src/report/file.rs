//! Writes the file of a report.

use std::path::Path;
use std::{fs, io};

use tool_core::__workspace::replace_file;

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
        _ => replace_file(path, bytes),
    }
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
        for text in ["one", "two"] {
            write(&path("report.html"), text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(path("report.html")).unwrap(), text);
        }
        assert_eq!(fs::read_to_string(path("other")).unwrap(), "other");
        assert!(!path("nothing").exists());
        write("/dev/null".as_ref(), b"report").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        fs::remove_dir_all(folder).unwrap();
    }
}
