//! The tool, as a model sees it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use tool_core::message::strip_invisible;
use tool_core::{
    IntoToolOutput, OutputFormat, Row, ToolError, ToolErrorKind, ToolOutput, Untrusted, tool,
};

use crate::Knowledge;
use crate::error::KnowledgeError;
use crate::passage::Passage;

#[tool]
impl Knowledge {
    /// Searches the documents of the program by words and meaning, and returns the best passages.
    #[tool(effect = "read", timeout = "60s")]
    async fn knowledge_search(
        &self,
        /// A question, or words that the passages contain.
        query: &str,
        /// Number of passages.
        #[arg(default = 5, range(min = 1, max = 20))]
        limit: u8,
        #[arg(default)] output: OutputFormat,
    ) -> Result<FoundPassages, ToolError> {
        let found = self.search(query, &self.filter, limit.into()).await.map_err(tool_error)?;
        Ok(FoundPassages { format: output, passages: found.into_iter().map(Into::into).collect() })
    }
}

fn tool_error(error: KnowledgeError) -> ToolError {
    let kind = match &error {
        KnowledgeError::Embedder(error) if error.is_transient() => ToolErrorKind::TransientFailure,
        _ => ToolErrorKind::ExecutionFailed,
    };
    ToolError::new(kind, "The documents can't be searched now.").with_source(error)
}

/// A passage that the tool returns.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FoundPassage {
    /// The document that the passage is from.
    source: String,
    /// The position of the passage in the document, in bytes.
    start: usize,
    /// Orders the passages of this search.
    score: f32,
    /// The headings above the passage in brackets, and the passage, marked with their source.
    text: String,
}

impl From<Passage> for FoundPassage {
    fn from(passage: Passage) -> Self {
        let Passage { source, heading, start, score, text, .. } = passage;
        let text = if heading.is_empty() { text } else { format!("[{heading}]\n{text}") };
        let source = strip_invisible(&source).into_owned();
        let text = Untrusted::new(source.clone(), text).to_string();
        Self { source, start, score, text }
    }
}

/// The passages that the tool returns. The schema of its output is that of an array.
struct FoundPassages {
    format: OutputFormat,
    passages: Vec<FoundPassage>,
}

impl IntoToolOutput for FoundPassages {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        if self.format == OutputFormat::Json {
            return Ok(ToolOutput::json(&self.passages)?);
        }
        if self.passages.is_empty() {
            return Ok(self.format.render([]).with_structured(serde_json::json!([])));
        }
        let described = self.passages.iter().map(|passage| {
            let row = Row::new()
                .with("source", passage.source.clone())
                .with("start", passage.start)
                .with("score", format!("{:.4}", passage.score));
            format!("{}\n{}", self.format.render([row]).as_text(), passage.text)
        });
        let text = described.collect::<Vec<_>>().join("\n\n");
        Ok(ToolOutput::text(text).with_structured(serde_json::to_value(&self.passages)?))
    }
}

impl JsonSchema for FoundPassages {
    fn schema_name() -> Cow<'static, str> {
        Vec::<FoundPassage>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<FoundPassage>::json_schema(generator)
    }
}
