use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::ToolOutput;
use crate::tool::definition::bounds::is_plain;

/// Separates the values of a row.
const SEPARATOR: &str = " | ";

/// The labeled text of an empty list, because an empty result would be ambiguous to a model.
const NO_ROWS: &str = "no results";

/// The format of a list that a tool returns, which the model chooses with an argument.
///
/// If all tools that return lists use this type, a model learns one argument for all of them.
/// [`render`](Self::render) writes the list.
///
/// ```
/// use tool_runtime::{OutputFormat, Row, Tool, ToolContext, ToolOutput, tool};
///
/// /// Finds a text in files.
/// #[tool(effect = "read")]
/// async fn grep(text: String, #[arg(default)] output: OutputFormat) -> ToolOutput {
///     let matches = [("src/lib.rs", 3, format!("// {text}"))];
///     output.render(matches.map(|(path, line, text)| {
///         Row::new().with("path", path).with("line", line).with("text", text)
///     }))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ctx = ToolContext::default();
/// let labeled = grep {}.call(r#"{"text": "todo"}"#.into(), &ctx).await.unwrap();
/// assert_eq!(labeled.as_text(), "path: src/lib.rs | line: 3 | text: // todo");
/// let json = grep {}.call(r#"{"text": "todo", "output": "json"}"#.into(), &ctx).await.unwrap();
/// assert_eq!(json.as_text(), r#"[{"path":"src/lib.rs","line":3,"text":"// todo"}]"#);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputFormat {
    /// One line for each row, in which each value follows its name. This is the default.
    #[default]
    Labeled,
    /// A JSON array with an object for each row, whose values keep their types.
    Json,
}

impl OutputFormat {
    /// Writes a list in this format.
    ///
    /// In the labeled format, an ambiguous text is written as a JSON string: one that is empty,
    /// contains a line break or ` | `, or begins or ends with a space or a quotation mark.
    /// Values that are `null` are omitted, and an empty list is written as `no results`.
    ///
    /// ```
    /// use tool_runtime::{OutputFormat, Row};
    ///
    /// let row = Row::new().with("name", "a").with("note", "two\nlines").with("size", None::<u32>);
    /// let output = OutputFormat::Labeled.render([row]);
    /// assert_eq!(output.as_text(), r#"name: a | note: "two\nlines""#);
    /// ```
    pub fn render(self, rows: impl IntoIterator<Item = Row>) -> ToolOutput {
        match self {
            Self::Labeled => {
                let lines: Vec<_> = rows.into_iter().map(|row| row.labeled()).collect();
                ToolOutput::text(if lines.is_empty() { NO_ROWS.into() } else { lines.join("\n") })
            }
            Self::Json => {
                let rows: Vec<_> = rows.into_iter().collect();
                // The keys are texts, so the rows are valid JSON.
                ToolOutput::json(&rows).unwrap_or_default()
            }
        }
    }
}

/// Lists the values in one `enum`. The documentation of the variants would be sent with each tool.
impl JsonSchema for OutputFormat {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OutputFormat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "enum": [Self::Labeled, Self::Json],
            "description": "labeled: one result per line. json: an array.",
        })
    }
}

/// One row of a list that a tool returns: named values in their order.
///
/// ```
/// use tool_runtime::{OutputFormat, Row};
///
/// let row = Row::new().with("path", "src/lib.rs").with("lines", 120);
/// assert_eq!(OutputFormat::Labeled.render([row]).as_text(), "path: src/lib.rs | lines: 120");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row(Vec<(Cow<'static, str>, Value)>);

impl Row {
    /// Creates a row without values.
    ///
    /// ```
    /// use tool_runtime::{OutputFormat, Row};
    ///
    /// assert_eq!(OutputFormat::Json.render([Row::new()]).as_text(), "[{}]");
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a named value, or replaces the value with the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, current)) => *current = value,
            None => self.0.push((name, value)),
        }
        self
    }

    fn labeled(&self) -> String {
        let values = self.0.iter().filter(|(_, value)| !value.is_null());
        let values = values.map(|(name, value)| match value {
            Value::String(text) => format!("{}: {}", unambiguous(name), unambiguous(text)),
            value => format!("{}: {value}", unambiguous(name)),
        });
        let line = values.collect::<Vec<_>>().join(SEPARATOR);
        if line.is_empty() { "{}".to_owned() } else { line }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Returns a text as it is, or as a JSON string if it could be mistaken for something else.
fn unambiguous(text: &str) -> Cow<'_, str> {
    let is_one_line = is_plain(text) && !text.contains(['\n', '\r', '\t']);
    let is_trimmed = !text.is_empty() && text.trim() == text;
    let is_quoted = text.starts_with('"') || text.ends_with('"');
    // The separator may also arise together with what follows.
    let has_separator = text.contains(SEPARATOR) || text.starts_with("| ") || text.ends_with(" |");
    if is_one_line && is_trimmed && !is_quoted && !has_separator {
        Cow::Borrowed(text)
    } else {
        Value::from(text).to_string().into()
    }
}
