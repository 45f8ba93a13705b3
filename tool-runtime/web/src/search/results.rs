//! The list of results, as the model and programs receive it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use tool_core::message::strip_invisible;
use tool_core::{IntoToolOutput, OutputFormat, Row, ToolError, ToolOutput, Untrusted};

use super::engine::SearchResult;
use crate::section::Redact;

/// The most characters of a title.
const MAX_TITLE_LEN: usize = 200;

/// The most characters of a URL.
const MAX_URL_LEN: usize = 2_000;

/// The most characters of a snippet.
const MAX_SNIPPET_LEN: usize = 1_000;

/// Results in the form that the model asked for.
pub(super) struct Results {
    format: OutputFormat,
    engine: String,
    results: Vec<SearchResult>,
    note: Option<&'static str>,
}

impl Results {
    pub(super) fn new(
        format: OutputFormat,
        engine: &str,
        results: Vec<SearchResult>,
        note: Option<&'static str>,
        redact: Redact<'_>,
    ) -> Self {
        let results = results.into_iter().map(|result| shortened(result, redact)).collect();
        Self { format, engine: engine.to_owned(), results, note }
    }
}

fn shortened(result: SearchResult, redact: Redact<'_>) -> SearchResult {
    let first = |text: String, len: usize| {
        let words = strip_invisible(&text);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = words.char_indices().nth(len).map_or(words.len(), |(at, _)| at);
        redact(&words, 0..end)
    };
    SearchResult {
        title: first(result.title, MAX_TITLE_LEN),
        url: first(result.url, MAX_URL_LEN),
        snippet: first(result.snippet, MAX_SNIPPET_LEN),
        published: result.published.map(|time| first(time, MAX_TITLE_LEN)),
    }
}

impl From<&SearchResult> for Row {
    fn from(result: &SearchResult) -> Self {
        Self::new()
            .with("title", result.title.clone())
            .with("url", result.url.clone())
            .with("snippet", result.snippet.clone())
            .with("published", result.published.clone())
    }
}

impl IntoToolOutput for Results {
    /// Titles and snippets come from pages, so the list is marked as untrusted in both forms.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let value = serde_json::to_value(&self.results)?;
        let list = match self.format {
            OutputFormat::Json => serde_json::to_string(&self.results)?,
            format => format.render(self.results.iter().map(Row::from)).into_text(),
        };
        let untrusted = Untrusted::new(format!("results of {}", self.engine), list);
        let mut text = untrusted.to_string();
        if let Some(note) = self.note {
            text = format!("[{note}]\n{text}");
        }
        Ok(ToolOutput::text(text).with_structured(value))
    }
}

impl JsonSchema for Results {
    fn schema_name() -> Cow<'static, str> {
        Vec::<SearchResult>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<SearchResult>::json_schema(generator)
    }
}
