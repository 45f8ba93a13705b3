//! Paths that the environment names, and from which programs take code or trust.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{Protected, Reason};

/// The kind of paths that a variable holds.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    /// Folders of programs or modules. An empty one is the current folder.
    Folders,
    /// Folders of libraries for the loader, which separates them by semicolons, too.
    LibraryFolders,
    /// Libraries for the loader, which looks for a name without a slash in folders.
    Libraries,
    /// Files or folders of code, or of settings that name programs.
    Code,
    /// Certificates, or files or folders of a library for TLS.
    Certificates,
}

impl Class {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "PATH" | "PYTHONPATH" | "PERL5LIB" | "PERLLIB" | "RUBYLIB" | "NODE_PATH"
            | "CLASSPATH" | "GIT_EXEC_PATH" => Self::Folders,
            "LD_LIBRARY_PATH" => Self::LibraryFolders,
            "LD_PRELOAD" | "LD_AUDIT" => Self::Libraries,
            "BASH_ENV" | "ZDOTDIR" | "PYTHONHOME" | "PYTHONSTARTUP" | "GCONV_PATH"
            | "GIT_TEMPLATE_DIR" | "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM"
            | "XDG_CONFIG_HOME" | "XDG_CONFIG_DIRS" => Self::Code,
            _ => return is_about_certificates(name).then_some(Self::Certificates),
        })
    }

    fn is_separator(self, byte: u8) -> bool {
        match self {
            Self::LibraryFolders => byte == b':' || byte == b';',
            Self::Libraries => byte == b':' || byte == b' ',
            Self::Folders | Self::Code | Self::Certificates => byte == b':',
        }
    }

    /// Returns the path of an entry, which begins at the current folder if it is relative.
    fn path(self, entry: &[u8]) -> Option<PathBuf> {
        let path = env::current_dir().unwrap_or_default().join(OsStr::from_bytes(entry));
        let is_path = match self {
            Self::Folders | Self::LibraryFolders => true,
            Self::Libraries => entry.contains(&b'/'),
            Self::Code => !entry.is_empty(),
            // Similar names belong to switches and to texts of certificates.
            Self::Certificates => entry.starts_with(b"/") || !entry.is_empty() && path.exists(),
        };
        is_path.then_some(path)
    }
}

/// Each program has its own variables for certificates, but their names are alike.
fn is_about_certificates(name: &str) -> bool {
    let name = name.to_uppercase();
    let is_authority = |word| matches!(word, "CA" | "CAFILE" | "CAINFO" | "CAPATH");
    ["CERT", "SSL", "TLS"].iter().any(|word| name.contains(word))
        || name.split('_').any(is_authority)
}

/// Returns the paths that variables name.
pub(super) fn named(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<Protected> {
    let mut named = Vec::new();
    for (name, value) in variables {
        let name = name.to_string_lossy().into_owned();
        // An empty variable is as good as none.
        let Some(class) = Class::of(&name).filter(|_| !value.is_empty()) else { continue };
        let entries = value.as_bytes().split(|byte| class.is_separator(*byte));
        let paths = entries.filter_map(|entry| class.path(entry));
        named.extend(paths.map(|path| Protected::new(path, Reason::NamedBy(name.clone()))));
    }
    named
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::tests::folder;
    use super::named;

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
            ("PATH", text("other/../work"), path("work"), true),
            ("PATH", "/bin:".to_owned(), current.clone(), true),
            ("PATH", "bin".to_owned(), current.clone(), true),
            ("PATH", String::new(), current.clone(), false),
            ("PATH", text("other/bin"), path("work"), false),
            ("PATH", text("working"), path("work"), false),
            ("PATH", format!("/bin;{}", text("work")), path("work"), false),
            ("PYTHONPATH", text("work/lib"), path("work"), true),
            ("PERL5LIB", text("work/lib"), path("work"), true),
            ("NODE_PATH", text("work/lib"), path("work"), true),
            ("GIT_EXEC_PATH", text("work/lib"), path("work"), true),
            ("LD_LIBRARY_PATH", text("work/lib"), path("work"), true),
            ("LD_LIBRARY_PATH", format!("/lib;{}", text("work/lib")), path("work"), true),
            ("LD_PRELOAD", format!("liba.so {}", text("work/b.so")), path("work"), true),
            ("LD_AUDIT", text("work/a.so"), path("work"), true),
            ("LD_PRELOAD", "liba.so".to_owned(), current.clone(), false),
            ("GIT_TEMPLATE_DIR", text("work/template"), path("work"), true),
            ("BASH_ENV", text("work/env.sh"), path("work"), true),
            ("OPENSSL_CONF", text("work/openssl.cnf"), path("work"), true),
            ("OPENSSL_MODULES", text("work/modules"), path("work"), true),
            ("SSL_CERT_FILE", text("work/ca.pem"), path("work"), true),
            ("SSL_CERT_DIR", text("work/certs"), path("work"), true),
            ("CURL_CA_BUNDLE", text("to-work"), path("work"), true),
            ("NIX_SSL_CERT_FILE", text("work/ca.pem"), path("work"), true),
            ("GIT_SSL_CAPATH", text("work/certs"), path("work"), true),
            ("CARGO_HTTP_CAINFO", text("work/ca.pem"), path("work"), true),
            ("PIP_CERT", text("work/ca.pem"), path("work"), true),
            ("AWS_CA_BUNDLE", text("work/ca.pem"), path("work"), true),
            ("npm_config_cafile", text("work/ca.pem"), path("work"), true),
            ("SSL_CERT_FILE", "Cargo.toml".to_owned(), current.clone(), true),
            ("NODE_TLS_REJECT_UNAUTHORIZED", "0".to_owned(), current, false),
            ("PWD", text("work"), path("work"), false),
            ("CARGO_MANIFEST_PATH", text("work/Cargo.toml"), path("work"), false),
        ] {
            let named = named([(variable.into(), value.clone().into())].into_iter());
            let reason = named.iter().find_map(|it| it.refusal(&written));
            assert_eq!(reason.is_some(), is_refused, "{variable}={value}: {reason:?}");
            assert!(reason.is_none_or(|it| it.contains(variable)), "{variable}");
        }
        assert!(named([].into_iter()).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}
