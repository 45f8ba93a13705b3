use crate::schema::DialectError;
use crate::schema::expected_type;
use crate::tool::definition::bounds::{
    MAX_CAPABILITIES, MAX_DEPTH, MAX_SCHEMA_SIZE, MAX_TEXT_BYTES,
};

/// Reports why a definition can't be sent to a model provider.
///
/// ```
/// use tool_runtime::{DefinitionError, ToolDefinition};
///
/// let schema = serde_json::json!({ "type": "object" });
/// let error = ToolDefinition::new("now", "", schema).validate().unwrap_err();
/// assert!(matches!(error, DefinitionError::MissingDescription { .. }));
/// assert!(error.to_string().starts_with("tool `now` has no description: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name is empty, too long, or contains a character that is not allowed.
    #[error(
        "invalid tool name `{name}`: expected 1 to 128 characters of a-z, A-Z, 0-9, `_`, `-`, `.` \
         and `/`"
    )]
    InvalidName {
        /// The name of the tool. A long name is truncated.
        name: String,
    },
    /// There is no description, which the model needs to decide when to call the tool.
    #[error(
        "tool `{name}` has no description: write a doc comment, or pass a text to \
         `ToolDefinition::new`"
    )]
    MissingDescription {
        /// The name of the tool.
        name: String,
    },
    /// The description, the title, the version, or the name of the wrapped executable or the server
    /// is too long.
    #[error("{field} of tool `{name}` is too long: {bytes} bytes, at most {MAX_TEXT_BYTES}")]
    TextTooLong {
        /// The name of the tool.
        name: String,
        /// The part of the definition, such as `description`.
        field: &'static str,
        /// The length of the text in bytes.
        bytes: usize,
    },
    /// A rule of an argument applies to no value of its type.
    #[error(
        "`#[arg({rule})]` has no effect on argument `{argument}` of tool `{name}`: expected {}",
        expected_type(rule)
    )]
    RuleWithoutEffect {
        /// The name of the tool.
        name: String,
        /// The name of the argument.
        argument: String,
        /// The rule: `range` or `length`.
        rule: &'static str,
    },
    /// A text, possibly in a schema, contains control characters or invisible characters.
    #[error(
        "{field} of tool `{name}` contains the control or invisible character {}",
        character.escape_unicode()
    )]
    ControlCharacter {
        /// The name of the tool.
        name: String,
        /// The part of the definition, such as `description`.
        field: &'static str,
        /// The first such character that was found.
        character: char,
    },
    /// The list of required capabilities is too long.
    #[error("tool `{name}` requires {count} capabilities, at most {MAX_CAPABILITIES}")]
    TooManyCapabilities {
        /// The name of the tool.
        name: String,
        /// The number of required capabilities.
        count: usize,
    },
    /// A required capability is not a valid name.
    #[error(
        "tool `{name}` requires the invalid capability {capability:?}: expected 1 to \
         {MAX_CAPABILITIES} bytes without control and invisible characters"
    )]
    InvalidCapability {
        /// The name of the tool.
        name: String,
        /// The name of the capability. A long name is truncated.
        capability: String,
    },
    /// The schemas, or the overrides of the preference, are too large.
    #[error("schemas or overrides of tool `{name}` are larger than {MAX_SCHEMA_SIZE} bytes")]
    SchemaTooLarge {
        /// The name of the tool.
        name: String,
    },
    /// The schemas, or the overrides of the preference, are nested too deeply.
    #[error("schemas or overrides of tool `{name}` are nested deeper than {MAX_DEPTH} levels")]
    SchemaTooDeep {
        /// The name of the tool.
        name: String,
    },
    /// A pattern of the schema is invalid or unsupported, so it could not be enforced.
    #[error(
        "tool `{name}` has the unsupported pattern `{pattern}`: correct its syntax; look-around, \
         back-references and Unicode classes are not supported"
    )]
    InvalidPattern {
        /// The name of the tool.
        name: String,
        /// The pattern as it is written.
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
    #[error("parameters of tool `{name}` have the schema type {found}, expected \"object\"")]
    ParametersNotObject {
        /// The name of the tool.
        name: String,
        /// The keyword `type` of the schema as JSON, truncated; `null` if it is absent.
        found: String,
    },
    /// The schema of the parameters refers to a part of itself that does not exist. A model
    /// provider refuses requests with such a schema.
    #[error("parameters of tool `{name}` refer to `{reference}`, which does not exist")]
    DanglingReference {
        /// The name of the tool.
        name: String,
        /// The reference as it is written, truncated.
        reference: String,
    },
    /// A keyword of the schema of the parameters has a value of the wrong kind, which validation
    /// could not enforce.
    #[error("parameters of tool `{name}`: keyword `{path}` is {mismatch}")]
    MalformedKeyword {
        /// The name of the tool.
        name: String,
        /// The path of the keyword, such as `properties.days.minimum`; truncated.
        path: Box<str>,
        /// The value of the keyword as JSON, truncated, and the kind of value that it must have:
        /// `"0", expected a number`.
        mismatch: Box<str>,
    },
    /// An argument has no name, such as a parameter that is a pattern.
    #[error(
        "tool `{name}` has an argument without a name: name the parameter, or use an args struct"
    )]
    UnnamedArgument {
        /// The name of the tool.
        name: String,
    },
    /// The weight of the preference is infinite or NaN.
    #[error("weight of tool `{name}` is {weight}, expected a finite number")]
    InvalidWeight {
        /// The name of the tool.
        name: String,
        /// The weight as text: `NaN`, `inf` or `-inf`.
        weight: String,
    },
    /// The tool has retries but is not idempotent.
    #[error(
        "tool `{name}` has {retries} retries but is not idempotent: declare `idempotent`, or remove \
         `max_retries`"
    )]
    RetriesNotIdempotent {
        /// The name of the tool.
        name: String,
        /// The number of retries that the tool declares.
        retries: u32,
    },
    /// The rate limit is 0.
    #[error("rate limit of tool `{name}` is 0 calls, expected at least 1")]
    ZeroRateLimit {
        /// The name of the tool.
        name: String,
    },
}
