//! Lists that tools return: labeled lines, or a JSON array with a schema.

use std::borrow::Cow;

use super::{IntoToolOutput, OutputFormat, Row, ToolOutput};
use crate::message::ContentPart;
use crate::tool::ToolError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

/// The most bytes of a list, less than what a policy passes on to the model by default.
const MAX_BYTES: usize = 60_000;

/// The rows that a tool returns. The schema of its output is that of the array.
#[derive(Debug)]
pub struct Rows<T> {
    format: OutputFormat,
    rows: Vec<T>,
    notes: Vec<String>,
}

impl<T: Serialize> Rows<T> {
    /// Creates a list of the first of `total` rows. `advice` says how to get the others.
    pub fn new(
        format: OutputFormat,
        rows: Vec<T>,
        total: u64,
        advice: &str,
    ) -> Result<Self, ToolError> {
        Self::limited(format, rows, total, (advice, ""))
    }

    /// Creates a list of the first of `total` rows. The second part of the advice applies unless
    /// the list has the most bytes that it may have.
    pub fn limited(
        format: OutputFormat,
        mut rows: Vec<T>,
        total: u64,
        (advice, mut advice_for_few): (&str, &str),
    ) -> Result<Self, ToolError> {
        let mut bytes = 0;
        for (count, row) in rows.iter().enumerate() {
            bytes += serde_json::to_vec(row)?.len();
            if bytes > MAX_BYTES {
                rows.truncate(count);
                advice_for_few = "";
                break;
            }
        }
        let omitted = total.saturating_sub(rows.len() as u64);
        let note = || format!("[{omitted} of {total} are omitted: {advice}{advice_for_few}]");
        Ok(Self { format, rows, notes: (omitted > 0).then(note).into_iter().collect() })
    }

    /// Adds a note after the list.
    pub fn note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }
}

impl<T: Serialize> IntoToolOutput for Rows<T>
where
    Row: for<'a> From<&'a T>,
{
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let output = match self.format {
            OutputFormat::Json => ToolOutput::json(&self.rows)?,
            // Programs read the value, whatever the model asked for.
            format => format
                .render(self.rows.iter().map(Row::from))
                .with_structured(serde_json::to_value(&self.rows)?),
        };
        Ok(self
            .notes
            .into_iter()
            .fold(output, |output, note| output.with_part(ContentPart::text(note))))
    }
}

impl<T: JsonSchema> JsonSchema for Rows<T> {
    fn schema_name() -> Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}
