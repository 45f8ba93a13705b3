use serde::{Deserialize, Serialize};

/// A change that a tool made to a file.
///
/// ```
/// use tool_runtime::EffectRecord;
/// use tool_runtime::event::{FileChange, FileOp};
///
/// let change = FileChange::new("notes.txt", FileOp::Append).bytes_before(4).bytes_after(9);
/// assert_eq!(
///     serde_json::to_string(&EffectRecord::from(change)).unwrap(),
///     r#"{"kind":"file_changed","path":"notes.txt","op":"append","bytes_before":4,"bytes_after":9}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileChange {
    /// The path of the file. Of a renamed file, the path before the change.
    pub path: String,
    /// The kind of change.
    #[serde(default)]
    pub op: FileOp,
    /// The size of the file before the change, in bytes, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_before: Option<u64>,
    /// The size of the file after the change, in bytes, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_after: Option<u64>,
    /// The digest of the content after the change, if it is known: the name of the algorithm, a
    /// colon, and the digest, such as `sha256:9f86d0…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The unified diff of the change, if it is known. A long one may be shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// The kind of change that a tool made to a file.
///
/// ```
/// use tool_runtime::event::FileOp;
///
/// let renamed = FileOp::Rename { to: "b.txt".into() };
/// assert_eq!(serde_json::to_string(&renamed).unwrap(), r#"{"rename":{"to":"b.txt"}}"#);
/// assert_eq!(serde_json::to_string(&FileOp::Create).unwrap(), r#""create""#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileOp {
    /// The file did not exist before.
    Create,
    /// The content was replaced, in whole or in part, or it is unknown whether the file existed.
    #[default]
    Write,
    /// Content was added at the end.
    Append,
    /// The file was removed.
    Delete,
    /// The file was moved to another path.
    Rename {
        /// The path after the change.
        to: String,
    },
}

impl FileChange {
    /// Creates the record of a change to the file at `path`.
    pub fn new(path: impl Into<String>, op: FileOp) -> Self {
        Self {
            path: path.into(),
            op,
            bytes_before: None,
            bytes_after: None,
            digest: None,
            diff: None,
        }
    }

    /// Sets the size of the file before the change, in bytes.
    #[must_use]
    pub fn bytes_before(mut self, bytes: u64) -> Self {
        self.bytes_before = Some(bytes);
        self
    }

    /// Sets the size of the file after the change, in bytes.
    #[must_use]
    pub fn bytes_after(mut self, bytes: u64) -> Self {
        self.bytes_after = Some(bytes);
        self
    }

    /// Sets the [digest](Self::digest) of the content after the change.
    #[must_use]
    pub fn digest(mut self, digest: impl Into<String>) -> Self {
        self.digest = Some(digest.into());
        self
    }

    /// Sets the unified [diff](Self::diff) of the change.
    #[must_use]
    pub fn diff(mut self, diff: impl Into<String>) -> Self {
        self.diff = Some(diff.into());
        self
    }
}
