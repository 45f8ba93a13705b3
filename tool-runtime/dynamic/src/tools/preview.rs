//! Shows the definition and the source of a tool before its call is approved.

use serde_json::Value;
use tool_runtime::async_trait;
use tool_runtime::dispatch::{ApprovalRequest, Previewer};

use super::DynamicTools;
use crate::pieces::Pieces;

impl DynamicTools {
    /// Returns the pieces that a call of `new_tool` would register, with all of the source; `None`
    /// for another tool.
    ///
    /// As a [`Previewer`] of a policy, the tools show the text to the approver.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_dynamic::DynamicTools;
    ///
    /// let arguments = json!({
    ///     "name": "one", "description": "Returns one.", "kind": "javascript", "effect": "none",
    ///     "body": "const one = 1;\nreturn one;",
    /// });
    /// let preview = DynamicTools::preview_of("new_tool", &arguments).unwrap();
    /// assert!(preview.starts_with("Make the tool `one` in javascript, with the effect `none`."));
    /// assert!(preview.ends_with("\n  1  const one = 1;\n  2  return one;\n"));
    /// ```
    pub fn preview_of(tool: &str, arguments: &Value) -> Option<String> {
        if tool != "new_tool" {
            return None;
        }
        let pieces: Pieces = serde_json::from_value(arguments.clone()).ok()?;
        Some(preview(&pieces))
    }
}

/// Describes pieces in full, for a person.
pub(super) fn preview(pieces: &Pieces) -> String {
    let effect = serde_json::to_value(pieces.effect).unwrap_or_default();
    let effect = effect.as_str().unwrap_or_default().to_owned();
    let mut text = format!(
        "Make the tool `{}` in {}, with the effect `{effect}`.\n{}\n",
        pieces.name, pieces.kind, pieces.description
    );
    let lists = [("capabilities", &pieces.capabilities), ("calls of tools", &pieces.tools)];
    for (title, names) in lists {
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        text.push_str(&format!("{title}: {names}\n"));
    }
    if let Some(seconds) = pieces.timeout_seconds {
        text.push_str(&format!("time limit: {seconds} s\n"));
    }
    for (title, part) in [
        ("arguments", serde_json::to_string_pretty(&pieces.fields)),
        ("examples", serde_json::to_string_pretty(&pieces.examples)),
    ] {
        text.push_str(&format!("{title}: {}\n", part.unwrap_or_default()));
    }
    text.push_str("source:\n");
    for (index, line) in pieces.body.lines().enumerate() {
        text.push_str(&format!("{:>3}  {line}\n", index + 1));
    }
    text
}

#[async_trait]
impl Previewer for DynamicTools {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        Self::preview_of(&request.tool.name, &request.arguments)
    }
}
