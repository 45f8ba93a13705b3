//! Conversion of schemas to the dialects of model providers.
//!
//! ```text
//! document ─parse▶ Node, the meaning of the schema ─encode▶ document in the dialect ─▶ limits
//! ```
//!
//! **Lossless.** The converted schema allows every value that the tool takes, except for members
//! that the tool's schema doesn't name. What a dialect can't express, such as a map in a dialect in
//! which all members need a name, is an error with its path. The reverse doesn't hold: a provider
//! may allow more than the tool takes. A *rule* that the dialect lacks, such as a length or a
//! pattern, moves into the description, where the model reads it, and arguments are validated
//! against the tool's own schema. If a dialect requires all members, an optional one becomes
//! nullable, and null is decoded as absent
//! ([`FixKind::NullMember`](crate::json::FixKind::NullMember)).
//!
//! # Sources
//!
//! - OpenAI, guide "Structured model outputs": "Supported schemas".
//! - Anthropic, "Structured outputs": "JSON Schema limitations", and what its Python SDK sends.
//! - Google, API reference: `Schema`, `FunctionDeclaration.parametersJsonSchema`, and the
//!   properties listed at `GenerationConfig.responseJsonSchema`.
//! - Ollama, `api/types.go`: the fields of a tool that it reads; it ignores all others.
//! - Mistral, API reference: `Function.strict`, which its API adopted from OpenAI's.

mod capabilities;
mod description;
mod encode;
mod limits;
mod location;
mod merge;
mod narrow;
mod node;
mod parse;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::capabilities::Capabilities;
use self::location::SchemaLocation;
use self::parse::SchemaParser;
use super::Schema;

/// The subset of JSON Schema that a model provider supports.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::schema::{Dialect, Schema};
///
/// let schema = Schema::from(json!({
///     "type": "object",
///     "properties": { "days": { "type": "integer", "minimum": 1, "minLength": 2 } },
/// }));
/// let strict = schema.for_dialect(Dialect::OpenAiStrict)?;
/// let days = json!({ "type": ["integer", "null"], "minimum": 1 });
/// assert_eq!(strict.as_value()["properties"]["days"], days);
/// assert_eq!(strict.as_value()["required"], json!(["days"]));
///
/// let map = json!({ "type": "object", "properties": {
///     "counts": { "type": "object", "additionalProperties": { "type": "integer" } },
/// } });
/// let error = Schema::from(map).for_dialect(Dialect::OpenAiStrict).unwrap_err();
/// assert_eq!(error.path, "counts");
/// # Ok::<(), tool_runtime::schema::DialectError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Dialect {
    /// Unrestricted JSON Schema 2020-12. A provider doesn't enforce the keywords that it doesn't
    /// know.
    #[default]
    Plain,
    /// The schemas that OpenAI takes and enforces with `strict: true`.
    OpenAiStrict,
    /// The schemas that Anthropic takes and enforces with `strict: true`.
    AnthropicStrict,
    /// The schemas that Gemini takes as `parametersJsonSchema` and `responseJsonSchema`.
    Gemini,
    /// The schemas that Gemini takes as `parameters` and `responseSchema`, a subset of OpenAPI's.
    GeminiOpenApi,
    /// The part of a tool's schema that Ollama passes to the model.
    Ollama,
}

impl Dialect {
    /// Returns true if the provider enforces schemas of this dialect.
    pub const fn is_strict(self) -> bool {
        matches!(self, Self::OpenAiStrict | Self::AnthropicStrict)
    }

    /// Checks whether the provider takes all of these schemas in one request.
    ///
    /// The schemas have to be converted to this dialect already.
    ///
    /// # Errors
    ///
    /// Returns a [`DialectError`] if the schemas exceed the limits of one request.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::schema::{Dialect, Schema};
    ///
    /// let schema = Schema::from(serde_json::json!({ "type": "object", "properties": {} }));
    /// let strict = schema.for_dialect(Dialect::AnthropicStrict)?;
    /// assert!(Dialect::AnthropicStrict.check_request([&strict]).is_ok());
    /// assert!(Dialect::AnthropicStrict.check_request([&strict; 21]).is_err());
    /// # Ok::<(), tool_runtime::schema::DialectError>(())
    /// ```
    pub fn check_request<'s>(
        self,
        schemas: impl IntoIterator<Item = &'s Schema>,
    ) -> Result<(), DialectError> {
        let documents = schemas.into_iter().map(Schema::as_value);
        match self {
            Self::AnthropicStrict => limits::check_request(documents, self),
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

/// An error for a schema that a dialect can't express.
///
/// # Examples
///
/// ```
/// use tool_runtime::schema::{Dialect, Schema};
///
/// let schema = Schema::from(serde_json::json!({ "type": "string" }));
/// let error = schema.for_dialect(Dialect::OpenAiStrict).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "OpenAI (strict) can't express the root schema: the root has to be an object: \
///      move the value into a member",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{dialect} can't express {}: {reason}", location_name(path))]
#[non_exhaustive]
pub struct DialectError {
    /// The dialect that can't express the schema.
    pub dialect: Dialect,
    /// The path of the schema, such as `stops[].city`; empty for the root.
    pub path: String,
    /// The reason, and an alternative if there is one.
    pub reason: String,
}

fn location_name(path: &str) -> String {
    match path {
        "" => "the root schema".to_owned(),
        path => format!("`{path}`"),
    }
}

/// A problem at a location; the outermost function adds the dialect.
#[derive(Debug)]
struct UnsupportedSchema {
    path: String,
    reason: String,
}

/// Converts a document to a dialect.
pub(super) fn convert(document: &Value, dialect: Dialect) -> Result<Value, DialectError> {
    let Some(rules) = Capabilities::of(dialect) else { return Ok(document.clone()) };
    let converted = (|| {
        let parser = SchemaParser::new(document);
        let root = parser.parse(document, &SchemaLocation::root())?;
        let converted = encode::document(&root, &parser, rules)?;
        match dialect {
            Dialect::OpenAiStrict => limits::check_openai(&converted)?,
            Dialect::AnthropicStrict => limits::check_anthropic([&converted])?,
            _ => {}
        }
        Ok(converted)
    })();
    converted.map_err(|UnsupportedSchema { path, reason }| DialectError { dialect, path, reason })
}
