//! Reserved names: those of temporary files, of the metadata of git, and those that no file of
//! Windows has.

/// The names of devices on Windows, also with a dot and anything behind it.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Returns a name for a temporary file.
pub(crate) fn temporary_name() -> String {
    format!(".tool-{:016x}.tmp", fastrand::u64(..))
}

pub(crate) fn is_temporary_name(name: &str) -> bool {
    let number = name.strip_prefix(".tool-").and_then(|rest| rest.strip_suffix(".tmp"));
    number.is_some_and(|it| it.len() == 16 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether git takes this for the name of its metadata, on any file system.
///
/// HFS+ ignores some characters of a name, and NTFS gives `.git` the short name `GIT~1`.
pub(crate) fn is_git_metadata(name: &str) -> bool {
    let is_ignored = |character: char| {
        matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(character, '\u{206a}'..='\u{206f}' | '\u{feff}')
    };
    let name: String = name.chars().filter(|it| !is_ignored(*it)).collect();
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

/// Whether this can be the name of a file on this system.
#[cfg(any(not(target_os = "linux"), portable))]
pub(crate) fn is_native(name: &str) -> bool {
    !cfg!(windows) || windows_refusal(name).is_none()
}

/// Returns the reason why this can't be the name of a file on Windows.
pub(crate) fn windows_refusal(name: &str) -> Option<&'static str> {
    if name.contains('\\') {
        Some("contains `\\`: separate the folders of a path by `/`")
    } else if name.contains(':') {
        Some("contains `:`, which separates a drive or a stream of a file")
    } else if name.contains(['<', '>', '"', '|', '?', '*']) {
        Some("contains one of the characters `<>\"|?*`, which no name has")
    } else if name.ends_with(['.', ' ']) {
        Some("has a name that ends with a dot or a space, which would be left out")
    } else if is_device(name) {
        Some("has a name that is reserved for a device")
    } else {
        None
    }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_uppercase();
    let port = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let is_port = |number: &str| {
        let mut digits = number.chars();
        matches!((digits.next(), digits.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
    };
    DEVICES.contains(&stem.as_str()) || port.is_some_and(is_port)
}

#[cfg(test)]
mod tests {
    use super::{is_git_metadata, is_temporary_name, temporary_name, windows_refusal};

    #[test]
    fn only_names_of_this_module_are_temporary() {
        assert!(is_temporary_name(&temporary_name()));
        for name in [".tool-.tmp", ".tool-0123.tmp", "tool-0123456789abcdef.tmp", ".tool-notes.tmp"]
        {
            assert!(!is_temporary_name(name), "{name}");
        }
    }

    #[test]
    fn spellings_of_the_metadata_of_git_are_recognized() {
        for name in [".git", ".GIT", ".g\u{200c}it", "\u{feff}.Git", "GIT~1", "git~1"] {
            assert!(is_git_metadata(name), "{name:?}");
        }
        for name in [".gitignore", "git", ".github", "git~12", "git~"] {
            assert!(!is_git_metadata(name), "{name:?}");
        }
    }

    #[test]
    fn names_that_windows_reads_otherwise_are_refused() {
        for (name, reason) in [
            ("a\\b", "separate the folders"),
            ("..\\outside", "separate the folders"),
            ("\\\\server\\share", "separate the folders"),
            ("C:", "contains `:`"),
            ("C:secret.txt", "contains `:`"),
            ("file.txt:stream", "contains `:`"),
            ("file.txt::$DATA", "contains `:`"),
            ("NUL:", "contains `:`"),
            ("what?", "one of the characters"),
            ("a*", "one of the characters"),
            ("a.txt.", "ends with a dot or a space"),
            ("a.txt ", "ends with a dot or a space"),
            (".git.", "ends with a dot or a space"),
            (".git ", "ends with a dot or a space"),
            ("...", "ends with a dot or a space"),
            (".. ", "ends with a dot or a space"),
            ("nul", "reserved for a device"),
            ("NUL.txt", "reserved for a device"),
            ("Con .txt", "reserved for a device"),
            ("aux.tar.gz", "reserved for a device"),
            ("conin$", "reserved for a device"),
            ("com1", "reserved for a device"),
            ("LPT9.log", "reserved for a device"),
            ("COM\u{b9}", "reserved for a device"),
        ] {
            let refusal = windows_refusal(name);
            assert!(refusal.is_some_and(|it| it.contains(reason)), "{name:?}: {refusal:?}");
        }
        for name in ["a.txt", ".gitignore", "com", "com10", "console", "null", " a", "COMb", "a b"]
        {
            assert_eq!(windows_refusal(name), None, "{name:?}");
        }
    }
}
