use crate::schema::DialectError;
use crate::tool::bounds::{MAX_CAPABILITIES, MAX_DEPTH, MAX_SCHEMA_SIZE, MAX_TEXT_BYTES};

/// Reports why a definition can't be sent to a model provider.
///
/// ```
/// use tool_runtime::{DefinitionError, ToolDefinition};
///
/// let schema = serde_json::json!({ "type": "object" });
/// let error = ToolDefinition::new("now", "", schema).validate().unwrap_err();
/// assert!(matches!(error, DefinitionError::Description { .. }));
/// assert_eq!(error.to_string(), "tool `now` has no description");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name is empty, too long, or contains a character that is not allowed.
    #[error(
        "invalid tool name `{name}`: expected 1 to 128 characters of a-z, A-Z, 0-9, `_`, `-`, `.` \
         and `/`"
    )]
    Name {
        /// The name. A long name is truncated.
        name: String,
    },
    /// There is no description, which the model needs to decide when to call the tool.
    #[error("tool `{name}` has no description")]
    Description {
        /// The name of the tool.
        name: String,
    },
    /// The description, the title or the name of the wrapped executable is too long.
    #[error("description of tool `{name}` is longer than {MAX_TEXT_BYTES} bytes")]
    TooLong {
        /// The name of the tool.
        name: String,
    },
    /// A text, possibly in a schema, contains control characters or invisible characters.
    #[error("definition of tool `{name}` contains control characters or invisible characters")]
    Control {
        /// The name of the tool.
        name: String,
    },
    /// The list of required capabilities is too long, or one of them is not a valid name.
    #[error(
        "capabilities of tool `{name}` exceed the limit: expected at most {MAX_CAPABILITIES} names \
         of 1 to {MAX_CAPABILITIES} bytes"
    )]
    Requires {
        /// The name of the tool.
        name: String,
    },
    /// The schemas, or the overrides of the preference, are too large or too deep.
    #[error(
        "schemas or overrides of tool `{name}` exceed the limit of {MAX_SCHEMA_SIZE} bytes or \
         {MAX_DEPTH} levels"
    )]
    TooLarge {
        /// The name of the tool.
        name: String,
    },
    /// A pattern of the schema is invalid, so it could not be enforced.
    #[error(
        "tool `{name}` has the invalid pattern `{pattern}`: look-around, back-references and \
         Unicode classes are not supported"
    )]
    Pattern {
        /// The name of the tool.
        name: String,
        /// The pattern.
        pattern: String,
    },
    /// The dialect of the registry can't express the parameters.
    #[error("parameters of tool `{name}`: {error}")]
    Dialect {
        /// The name of the tool.
        name: String,
        /// The keyword that can't be expressed, and its path.
        error: Box<DialectError>,
    },
    /// The schema of the parameters is not of type `object`.
    #[error("parameters of tool `{name}` are not a schema of type `object`")]
    Parameters {
        /// The name of the tool.
        name: String,
    },
    /// An argument has no name, such as a parameter that is a pattern.
    #[error(
        "tool `{name}` has an argument without a name: name the parameter, or use an args struct"
    )]
    Unnamed {
        /// The name of the tool.
        name: String,
    },
    /// The weight of the preference is infinite or NaN.
    #[error("weight of tool `{name}` is not a finite number")]
    Weight {
        /// The name of the tool.
        name: String,
    },
    /// The tool has retries but is not idempotent.
    #[error("tool `{name}` has retries but is not idempotent")]
    Retries {
        /// The name of the tool.
        name: String,
    },
    /// The rate limit is 0.
    #[error("rate limit of tool `{name}` is 0")]
    RateLimit {
        /// The name of the tool.
        name: String,
    },
}
