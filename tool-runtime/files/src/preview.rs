//! Shows what calls would change, before they are approved.

use serde::Deserialize;
use serde_json::Value;
use tool_core::dispatch::{ApprovalRequest, Previewer};
use tool_core::message::visible;
use tool_core::{ToolError, async_trait};

use crate::Files;
use crate::change::atomic::load;
use crate::change::edit::Edit;
use crate::change::{change_error, preview};
use crate::error::missing;
use crate::history::journal::Change;
use crate::state::FileState;
use crate::tools::{edited, new_content};

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

/// The change that a call asks for.
enum Action {
    Write(String),
    Edit(Vec<Edit>),
    Move(String),
    Delete,
}

impl Files {
    /// Returns the diff of a call that has not run; `None` if the tool does not change files, or if
    /// the arguments can't be decoded.
    ///
    /// If the call would fail, the text is the error. Characters that could deceive a person are
    /// made [visible]. Blocks the thread while the file is read.
    ///
    /// The diff is not redacted. To show a call to a person, add `Files` to the policy as a
    /// [`Previewer`]: in the preview that the approver and
    /// [`PendingCall::preview`](tool_core::agent::PendingCall::preview) receive, the secrets of the
    /// policy and secret arguments are redacted. Other secrets in the file are not detected.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::files::Files;
    ///
    /// let files = Files::open(std::env::temp_dir())?;
    /// let arguments = json!({"path": "new-note.txt", "content": "buy milk\n"});
    /// let preview = files.preview_of("file_write", &arguments).unwrap_or_default();
    /// assert!(preview.ends_with("+++ b/new-note.txt\n@@ -0,0 +1 @@\n+buy milk\n"));
    /// # Ok::<(), tool_runtime::files::OpenFilesError>(())
    /// ```
    pub fn preview_of(&self, tool: &str, arguments: &Value) -> Option<String> {
        self.preview_text(tool, arguments).map(|text| visible(&text).into_owned())
    }

    /// Returns the preview with the characters as they are, so that secrets can be found in it.
    fn preview_text(&self, tool: &str, arguments: &Value) -> Option<String> {
        let arguments = ChangeArguments::deserialize(arguments).ok()?;
        let action = match tool {
            "file_write" => Action::Write(arguments.content?),
            "file_edit" => Action::Edit(arguments.edits?),
            "file_move" => Action::Move(arguments.to?),
            "file_delete" => Action::Delete,
            _ => return None,
        };
        Some(match self.change(&arguments.path, action) {
            Ok(change) => match preview(&change) {
                Some(diff) if diff.is_empty() => "The call changes nothing.".to_owned(),
                Some(diff) => diff,
                None => "The content is binary or too large.".to_owned(),
            },
            Err(error) => error.text().to_owned(),
        })
    }

    fn change(&self, path: &str, action: Action) -> Result<Change, ToolError> {
        let path = self.0.changed_path("path", path)?;
        let current = load(&self.0.root, &path).map_err(|error| change_error(&path, error))?;
        let before = current.map(|(state, _)| state);
        let existing = || before.clone().ok_or_else(|| missing(&path));
        let bytes = match action {
            Action::Move(to) => {
                let to = self.0.changed_path("to", &to)?;
                let state = existing()?;
                self.0.check_free(&path, &to)?;
                return Ok(Change::Rename { from: path, to, state });
            }
            Action::Delete => {
                let before = Some(existing()?);
                return Ok(Change::Content { path, before, after: None });
            }
            Action::Write(content) => new_content(&path, &content)?,
            Action::Edit(edits) => edited(&path, before.as_ref(), &edits)?.0.into_bytes(),
        };
        let mode = before.as_ref().map_or(NEW_MODE, |state| state.mode);
        let after = Some(FileState::of_content(&bytes, mode));
        Ok(Change::Content { path, before, after })
    }
}

#[async_trait]
impl Previewer for Files {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        let (files, tool) = (self.clone(), request.tool.name.clone());
        let arguments = request.arguments.clone();
        let preview = move || files.preview_text(&tool, &arguments);
        tokio::task::spawn_blocking(preview).await.ok().flatten()
    }
}
