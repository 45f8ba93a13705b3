//! Why a file of the store can't be opened.

use std::error::Error;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The reason why a file of the store cannot be opened. The file is unchanged.
///
/// ```
/// use tool_runtime::store::{OpenError, Sqlite};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let error = Sqlite::open("/no/such/folder/sessions.db").await.unwrap_err();
/// assert!(matches!(&error, OpenError::Unavailable { .. }));
/// let text = "store file /no/such/folder/sessions.db can't be opened: folder /no/such/folder \
///             does not exist";
/// assert_eq!(error.to_string(), text);
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A newer version of the program has written the file, or tables in it.
    #[error(
        "unsupported version of the tables of `{part}` in {}: {version}, at most {supported}; use \
         a newer version of the program, or another file",
        path.display()
    )]
    UnsupportedVersion {
        /// Path of the file.
        path: PathBuf,
        /// The part of the program that has the tables, such as `tool_sessions`.
        part: String,
        /// Version of the tables.
        version: usize,
        /// Highest version that this crate supports.
        supported: usize,
    },
    /// The file belongs to another program, or is not a database.
    #[error("not a file of this store: {}; use a separate file", path.display())]
    NotAStoreFile {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is damaged: restore it from a copy. A retry does not help.
    #[error("store file {} is damaged: {source}; restore it from a copy", path.display())]
    CorruptFile {
        /// Path of the file.
        path: PathBuf,
        /// The error of SQLite about the file.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The file cannot be opened now: it may be locked, or its folder may be missing.
    #[error("store file {} can't be opened: {source}", path.display())]
    Unavailable {
        /// Path of the file; `:memory:` if the store is in memory.
        path: PathBuf,
        /// Error of SQLite or of the operating system.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// An error of a connection, which does not know the path.
#[derive(Debug)]
pub(super) enum OpenFailure {
    UnsupportedVersion { part: String, version: usize, supported: usize },
    NotAStoreFile,
    Sqlite(rusqlite::Error),
}

impl OpenFailure {
    /// Adds the path of the file.
    pub(super) fn at(self, path: &Path) -> OpenError {
        let path = path.to_owned();
        match self {
            Self::UnsupportedVersion { part, version, supported } => {
                OpenError::UnsupportedVersion { path, part, version, supported }
            }
            Self::NotAStoreFile => OpenError::NotAStoreFile { path },
            Self::Sqlite(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) =>
            {
                OpenError::CorruptFile { path, source: error.into() }
            }
            Self::Sqlite(error) => match cause(&error, &path) {
                // SQLite only says that it can't open the file.
                Some(cause) => OpenError::Unavailable { path, source: cause.into() },
                None => OpenError::Unavailable { path, source: error.into() },
            },
        }
    }
}

/// Returns the reason why a file can't be opened, if it is a link or its folder does not exist.
fn cause(error: &rusqlite::Error, path: &Path) -> Option<String> {
    if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) && path.is_symlink() {
        return Some("it is a link, which could lead to any file".to_owned());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let is_missing = folder.try_exists().is_ok_and(|exists| !exists);
    is_missing.then(|| format!("folder {} does not exist", folder.display()))
}

impl From<rusqlite::Error> for OpenFailure {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotAStoreFile,
            _ => Self::Sqlite(error),
        }
    }
}
