//! A schema bent to what a provider takes.
//!
//! ```text
//! document ─read▶ Node, what the schema means ─write▶ document in the provider's words ─▶ limits
//! ```
//!
//! **Lossless.** Every value that a tool takes can be said by the bent schema, but for members that
//! its schema doesn't name. What can't be said so, such as a map with any keys in a closed schema, is an
//! error that names the place. The other way round a provider may let through more than the tool takes:
//! a *rule* that it doesn't know (a length, a pattern) stands in the description, where the model
//! reads it, and the tool's own schema is what arguments are held to after all. An absent member that a
//! provider wants told is told as null, which is read as absent
//! ([`FixKind::Absent`](crate::json::FixKind::Absent)).
//!
//! # Sources
//! - OpenAI, guide "Structured model outputs": "Supported schemas".
//! - Anthropic, "Structured outputs": "JSON Schema limitations", and what its Python SDK sends.
//! - Google, API reference: `Schema`, `FunctionDeclaration.parametersJsonSchema`, and the properties
//!   listed at `GenerationConfig.responseJsonSchema`.
//! - Ollama, `api/types.go`: the members of a tool that it reads; it drops the others unread.
//! - Mistral, API reference: `Function.strict`, which its API has from OpenAI's.

mod limits;
mod merge;
mod narrow;
mod node;
mod place;
mod read;
mod rules;
mod words;
mod write;

use std::fmt;

use serde_json::Value;

use self::place::Place;
use self::read::Reader;
use self::rules::Rules;
use super::Schema;

/// What a provider takes of JSON Schema.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::schema::{Dialect, Schema};
///
/// let own = Schema::from(json!({
///     "type": "object",
///     "properties": { "days": { "type": "integer", "minimum": 1, "minLength": 2 } },
/// }));
/// let bent = own.bent(Dialect::OpenAiStrict)?;
/// let days = json!({ "type": ["integer", "null"], "minimum": 1 });
/// assert_eq!(bent.as_value()["properties"]["days"], days);
/// assert_eq!(bent.as_value()["required"], json!(["days"]));
///
/// let map = json!({ "type": "object", "properties": {
///     "counts": { "type": "object", "additionalProperties": { "type": "integer" } },
/// } });
/// let error = Schema::from(map).bent(Dialect::OpenAiStrict).unwrap_err();
/// assert_eq!(error.path, "counts");
/// # Ok::<(), tool_runtime::schema::DialectError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// JSON Schema 2020-12, as it is: what a provider doesn't know of it, it doesn't hold the model to.
    #[default]
    Plain,
    /// What OpenAI takes with `strict: true`, and then holds the model to.
    OpenAiStrict,
    /// What Anthropic takes with `strict: true`, and then holds the model to.
    AnthropicStrict,
    /// What Gemini takes as `parametersJsonSchema` and `responseJsonSchema`.
    Gemini,
    /// What Gemini takes as `parameters` and `responseSchema`, a subset of OpenAPI's schemas.
    GeminiOpenApi,
    /// What Ollama shows the model of a tool.
    Ollama,
}

impl Dialect {
    /// Whether its provider holds the model to a schema, where it is asked to.
    pub const fn is_strict(self) -> bool {
        matches!(self, Self::OpenAiStrict | Self::AnthropicStrict)
    }

    /// In which its provider is told of the schema of an answer. Ollama bends those of tools alone: as a `format` it
    /// takes any.
    pub(crate) const fn of_output(self) -> Self {
        match self {
            Self::Ollama => Self::Plain,
            own => own,
        }
    }

    /// Whether its provider takes these schemas in one request.
    ///
    /// # Errors
    /// They go beyond what one request may hold.
    pub fn check_request<'s>(
        self,
        schemas: impl IntoIterator<Item = &'s Schema>,
    ) -> Result<(), DialectError> {
        let documents = schemas.into_iter().map(Schema::as_value);
        match self {
            Self::AnthropicStrict => limits::of_request(documents, self),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "JSON Schema",
            Self::OpenAiStrict => "OpenAI (strict)",
            Self::AnthropicStrict => "Anthropic (strict)",
            Self::Gemini => "Gemini",
            Self::GeminiOpenApi => "Gemini (OpenAPI)",
            Self::Ollama => "Ollama",
        })
    }
}

/// What a provider can't be told of a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{dialect} can't be told of {}: {reason}", shown(path))]
#[non_exhaustive]
pub struct DialectError {
    /// Whose dialect it is.
    pub dialect: Dialect,
    /// The place, such as `stops[].city`; empty for the whole.
    pub path: String,
    /// What can't be said, and what could be instead.
    pub reason: String,
}

fn shown(path: &str) -> String {
    match path {
        "" => "the schema as a whole".to_owned(),
        path => format!("`{path}`"),
    }
}

/// What is wrong at a place; whose dialect it is, the outermost adds.
#[derive(Debug)]
struct Unfit {
    path: String,
    reason: String,
}

/// The document in this dialect.
pub(super) fn bend(document: &Value, dialect: Dialect) -> Result<Value, DialectError> {
    let Some(rules) = Rules::of(dialect) else { return Ok(document.clone()) };
    let bent = (|| {
        let reader = Reader::new(document);
        let root = reader.read(document, &Place::root())?;
        let bent = write::document(&root, &reader, rules)?;
        match dialect {
            Dialect::OpenAiStrict => limits::of_openai(&bent)?,
            Dialect::AnthropicStrict => limits::of_anthropic([&bent])?,
            _ => {}
        }
        Ok(bent)
    })();
    bent.map_err(|Unfit { path, reason }| DialectError { dialect, path, reason })
}
