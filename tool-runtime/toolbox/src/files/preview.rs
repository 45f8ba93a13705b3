//! Shows what calls would change, before they are approved.

use serde::Deserialize;
use serde_json::Value;
use tool_runtime::async_trait;
use tool_runtime::dispatch::{ApprovalRequest, Previewer};

use super::Files;
use super::atomic::load;
use super::change::preview;
use super::diff::first_lines;
use super::edit::Edit;
use super::journal::Change;
use super::path::RelativePath;
use super::state::FileState;
use super::tools::{edited, new_content};

/// The most bytes of a preview.
const MAX_LEN: usize = 64 * 1024;

/// The permission bits that a new file has in a preview.
const NEW_MODE: u32 = 0o644;

/// The arguments of a tool that changes files.
#[derive(Deserialize)]
struct ChangeArguments {
    path: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    edits: Option<Vec<Edit>>,
    #[serde(default)]
    to: Option<String>,
}

impl Files {
    /// Returns the diff of a call that has not run; `None` if the tool does not change files, or if
    /// the arguments can't be decoded.
    ///
    /// If the call would fail, the text is the error. Blocks the thread while the file is read. As
    /// a [`Previewer`] of a policy, `Files` shows it to the approver.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_toolbox::Files;
    ///
    /// let files = Files::open(std::env::temp_dir())?;
    /// let arguments = json!({"path": "new-note.txt", "content": "buy milk\n"});
    /// let preview = files.preview_of("file_write", &arguments).unwrap_or_default();
    /// assert!(preview.ends_with("+++ b/new-note.txt\n@@ -0,0 +1 @@\n+buy milk\n"));
    /// # Ok::<(), tool_toolbox::OpenError>(())
    /// ```
    pub fn preview_of(&self, tool: &str, arguments: &Value) -> Option<String> {
        let arguments = ChangeArguments::deserialize(arguments).ok()?;
        let change = match tool {
            "file_write" | "file_edit" | "file_move" | "file_delete" => self.change(&arguments),
            _ => return None,
        };
        let text = match change {
            Ok(change) => {
                preview(&change).unwrap_or_else(|| "The content is binary or too large.".to_owned())
            }
            Err(error) => error.text().to_owned(),
        };
        Some(first_lines(text, MAX_LEN))
    }

    fn change(&self, arguments: &ChangeArguments) -> Result<Change, tool_runtime::ToolError> {
        let path = RelativePath::parse_for_change(&arguments.path)?;
        let current =
            load(&self.0.root, &path).map_err(|error| super::change::change_error(&path, error))?;
        let before = current.map(|(state, _)| state);
        let mode = before.as_ref().map_or(NEW_MODE, |state| state.mode);
        let bytes = match arguments {
            ChangeArguments { content: Some(content), .. } => Some(new_content(&path, content)?),
            ChangeArguments { edits: Some(edits), .. } => {
                Some(edited(&path, before.as_ref(), edits)?.0.into_bytes())
            }
            _ => None,
        };
        Ok(match (&arguments.to, before) {
            (Some(to), Some(state)) => {
                Change::Rename { from: path, to: RelativePath::parse_for_change(to)?, state }
            }
            (_, before) => {
                let after = bytes.map(|bytes| FileState::of_content(&bytes, mode));
                Change::Content { path, before, after }
            }
        })
    }
}

#[async_trait]
impl Previewer for Files {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        let (files, tool) = (self.clone(), request.tool.name.clone());
        let arguments = request.arguments.clone();
        let preview = move || files.preview_of(&tool, &arguments);
        tokio::task::spawn_blocking(preview).await.ok().flatten()
    }
}
