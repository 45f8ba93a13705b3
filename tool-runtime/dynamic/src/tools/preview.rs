//! Shows the definition and the source of a tool before a change of it is approved.

use serde_json::Value;
use tool_core::dispatch::{ApprovalRequest, Previewer};
use tool_core::message::visible;
use tool_core::{ToolError, async_trait};

use super::{DynamicTools, source};
use crate::spec::ToolSpec;

/// The name of the tool that makes tools.
const NEW_TOOL: &str = "new_tool";

impl DynamicTools {
    /// Returns the spec that a call of `new_tool` would register, with all of the source; `None`
    /// for another tool.
    ///
    /// Characters that could deceive a person are made
    /// [visible](tool_core::message::visible). As a [`Previewer`] of a policy, the tools show
    /// the text to the approver. They also show the source that a call of `tool_rollback` returns
    /// to or a call of `unregister_tool` removes.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::dynamic::DynamicTools;
    ///
    /// let arguments = json!({
    ///     "name": "one", "description": "Returns one.", "language": "javascript",
    ///     "effect": "none", "body": "const one = 1;\nreturn one;",
    /// });
    /// let preview = DynamicTools::preview_of("new_tool", &arguments).unwrap();
    /// assert!(preview.starts_with(
    ///     "Make the tool `one` in javascript, with the effect `none`. Its source has 2 lines.\n"
    /// ));
    /// assert!(preview.ends_with("\n  1  const one = 1;\n  2  return one;\n"));
    /// ```
    pub fn preview_of(tool: &str, arguments: &Value) -> Option<String> {
        if tool != NEW_TOOL {
            return None;
        }
        let spec: ToolSpec = serde_json::from_value(arguments.clone()).ok()?;
        Some(visible(&preview_new(&spec)).into_owned())
    }
}

/// Describes a tool that a call makes.
fn preview_new(spec: &ToolSpec) -> String {
    preview(&format!("Make the tool `{}`", spec.name.escape_debug()), spec)
}

/// Describes a spec in full, for a person.
///
/// A model wrote the spec, so its texts are escaped, except for the source: it comes last, and its
/// number of lines is stated before.
fn preview(heading: &str, spec: &ToolSpec) -> String {
    let effect = serde_json::to_value(spec.effect).unwrap_or_default();
    let effect = effect.as_str().unwrap_or_default().to_owned();
    let line_count = spec.body.lines().count();
    let mut text = format!(
        "{heading} in {}, with the effect `{effect}`. Its source has {}.\ndescription: {}\n",
        spec.language,
        counted(line_count, "line"),
        Value::from(spec.description.as_str())
    );
    let lists = [("capabilities", &spec.capabilities), ("calls of tools", &spec.tools)];
    for (title, names) in lists {
        let names: Vec<_> = names.iter().map(|name| name.escape_debug().to_string()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        text.push_str(&format!("{title}: {names}\n"));
    }
    if let Some(seconds) = spec.timeout_seconds {
        text.push_str(&format!("time limit: {seconds} s\n"));
    }
    for (title, part) in [
        ("arguments", serde_json::to_string_pretty(&spec.fields)),
        ("examples", serde_json::to_string_pretty(&spec.examples)),
    ] {
        text.push_str(&format!("{title}: {}\n", part.unwrap_or_default()));
    }
    text.push_str("source:\n");
    for (index, line) in spec.body.lines().enumerate() {
        text.push_str(&format!("{:>3}  {line}\n", index + 1));
    }
    text
}

/// Returns a number with its noun.
fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

impl DynamicTools {
    /// Describes the tool that a call makes, or the version that it adds to a tool.
    async fn preview_making(&self, arguments: &Value) -> Option<String> {
        let spec: ToolSpec = serde_json::from_value(arguments.clone()).ok()?;
        let Ok(entry) = self.entry(&spec.name).await else {
            return Some(preview_new(&spec));
        };
        let number = entry.current().number;
        Some(preview(&format!("Replace version {number} of the tool `{}`", spec.name), &spec))
    }

    /// Describes the tool that a call removes.
    async fn preview_removal(&self, name: &str) -> Result<String, ToolError> {
        let entry = self.entry(name).await?;
        let versions = counted(entry.versions().count(), "version");
        let spec = source(&entry, None)?.spec;
        Ok(preview(&format!("Remove {versions} of the tool `{}`", spec.name), &spec))
    }

    /// Describes the version to which a call returns.
    async fn preview_rollback(
        &self,
        name: &str,
        version: u64,
        fingerprint: &str,
    ) -> Result<String, ToolError> {
        let spec = self.earlier_version(name, version, fingerprint).await?.spec().clone();
        let heading = format!("Return to version {version} of the tool `{}`", spec.name);
        Ok(preview(&heading, &spec))
    }
}

#[async_trait]
impl Previewer for DynamicTools {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        let arguments = &request.arguments;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let preview = match request.tool.name.as_str() {
            "unregister_tool" => self.preview_removal(text("name")?).await,
            "tool_rollback" => {
                let version = arguments.get("version")?.as_u64()?;
                self.preview_rollback(text("name")?, version, text("fingerprint")?).await
            }
            NEW_TOOL => return self.preview_making(arguments).await,
            _ => return None,
        };
        Some(preview.unwrap_or_else(|error| format!("There is nothing to show: {}", error.text())))
    }
}
