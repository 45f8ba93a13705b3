use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The texts of a file before and after a change, for screens that show them side by side.
///
/// The [effect](crate::event::FileChange) of a change has the difference of the two. A tool emits
/// the texts only if the program asks for it, because they may be long.
///
/// ```
/// use tool_runtime::event::FileTexts;
///
/// let created = FileTexts::new("notes.txt", None, Some("buy milk\n".into()));
/// assert_eq!(serde_json::to_string(&created)?, r#"{"path":"notes.txt","new_text":"buy milk\n"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileTexts {
    /// The path of the file within its workspace.
    pub path: String,
    /// The text before the change; `None` if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_text: Option<String>,
    /// The text after the change; `None` if there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_text: Option<String>,
}

impl FileTexts {
    /// The name under which the texts are [emitted](crate::ToolContext::emit).
    pub const NAME: &'static str = "file_texts";

    /// Describes a change of the file at this path.
    pub fn new(
        path: impl Into<String>,
        old_text: Option<String>,
        new_text: Option<String>,
    ) -> Self {
        Self { path: path.into(), old_text, new_text }
    }
}

impl From<FileTexts> for Value {
    fn from(texts: FileTexts) -> Self {
        // Three texts always have a JSON form.
        serde_json::to_value(texts).unwrap_or_default()
    }
}
