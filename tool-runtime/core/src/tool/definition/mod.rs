pub(crate) mod bounds;
mod error;
mod fingerprint;
pub(crate) mod full_name;
mod leftover;
pub(crate) mod preference;
mod setters;
mod short_form;
mod stored;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Effect, Permission, RateLimit, Repair, RequiredExtension, ToolKind, ToolPreference};
use crate::message::invisible_character;
use crate::schema::{Dialect, MalformedKeyword, Schema, SchemaConversion};
use crate::tool::definition::bounds::{
    DocumentError, MAX_CAPABILITIES, MAX_SCHEMA_SIZE, MAX_TEXT_BYTES, check_documents, is_plain,
};

pub use self::error::DefinitionError;
pub use self::fingerprint::Fingerprint;
use self::stored::StoredDefinition;

/// The number of characters of a name or a type that errors quote.
const MAX_QUOTED_CHARS: usize = 80;

/// Everything that the framework knows about a tool, as one plain value.
///
/// `#[tool]` creates it for a function. For a tool that you implement by hand, create it with
/// [`new`](Self::new).
///
/// ```
/// use tool_runtime::{Effect, ToolDefinition};
///
/// let schema = serde_json::json!({ "type": "object", "properties": {} });
/// let definition = ToolDefinition::new("now", "Returns the time.", schema).effect(Effect::Read);
/// assert!(definition.validate().is_ok());
/// ```
///
/// A definition can be serialized for a catalog or another process. Two things are not serialized:
/// the [extensions](Self::extensions), which are types of one program, and the provider under which
/// the tool was registered. Only `name`, `description` and `parameters` are required; other missing
/// members get the defaults of [`new`](Self::new). An unknown member is an error, because a
/// misspelled `permission` would otherwise allow calls that it should not.
///
/// `timeout` and `rate_limit` have two forms:
///
/// | member | as `#[tool]` reads it | as it is serialized |
/// |---|---|---|
/// | `timeout` | `"500ms"`, `"5s"`, `"2m"`, `"1h"` | `{"secs": 5, "nanos": 0}` |
/// | `rate_limit` | `"2/s"`, `"10/min"`, `"100/h"`, `"1000/day"` | `{"times": 10, "per": {"secs": 60, "nanos": 0}}` |
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::{Permission, RateLimit, ToolDefinition};
///
/// let json = r#"{
///     "name": "pay",
///     "description": "Pays a person.",
///     "parameters": { "type": "object", "properties": { "to": { "type": "string" } } },
///     "effect": "external",
///     "permission": "ask",
///     "requires": ["payments"],
///     "timeout": "5s",
///     "rate_limit": "10/min"
/// }"#;
/// let definition: ToolDefinition = serde_json::from_str(json)?;
/// assert_eq!(definition.permission, Permission::Ask);
/// assert_eq!(definition.timeout, Some(Duration::from_secs(5)));
/// assert_eq!(definition.rate_limit, Some(RateLimit::per_minute(10)));
///
/// let misspelled = json.replace("permission", "permissions");
/// let error = serde_json::from_str::<ToolDefinition>(&misspelled).unwrap_err();
/// assert!(error.to_string().starts_with("unknown field `permissions`, expected one of `name`"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredDefinition")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name by which the model calls the tool: 1 to 128 characters of `a-z A-Z 0-9 _ - . /`.
    ///
    /// If a provider allows fewer, it receives a name that it allows, and the calls are mapped
    /// back.
    pub name: String,
    /// The name for user interfaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the tool for the model.
    pub description: String,
    /// The JSON Schema of the arguments: an object.
    ///
    /// Each keyword must have a value of its kind: `"minimum": "0"` is an error when the tool is
    /// registered. A pattern with look-around, a back-reference or a Unicode class is not enforced.
    /// [`Agent::check`](crate::Agent::check) reports such a pattern, unless the tool is
    /// [remote](ToolKind::Remote): its server validates the arguments itself. For a function with
    /// `#[tool]`, such a pattern is an error.
    pub parameters: Schema,
    /// The JSON Schema of the output, if that is JSON of a known shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Schema>,
    /// The version of the tool's code, as its author counts it.
    ///
    /// The other members describe a tool to those who call it; the version changes with the code
    /// behind them. It is part of the [fingerprint](Self::fingerprint): if it changes, approvals
    /// that were given before are void, and a call that was sent to a worker with another version
    /// does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How the tool is implemented.
    pub kind: ToolKind,
    /// The side effect of running the tool.
    pub effect: Effect,
    /// Whether running the tool twice with the same arguments has the same effect as running it
    /// once.
    pub idempotent: bool,
    /// Whether a repeated call with the same
    /// [idempotency key](crate::ToolContext::idempotency_key) continues the first one.
    ///
    /// Declare it for a tool whose work runs elsewhere, such as on a worker, under that key. If the
    /// process of a run ends, its call is then made again when the run resumes, and takes over the
    /// work that still runs or its result. Otherwise a call that may have had effects ends with
    /// `TOOL_INDETERMINATE`. [`Tool::abandon`](crate::Tool::abandon) stops the work of a call that
    /// is never resumed.
    pub reattaches: bool,
    /// Whether the same arguments always give the same output, so that outputs can be cached within
    /// a run.
    ///
    /// If the [effect](Self::effect) is [`Effect::Read`], an output is cached until a call of the
    /// run may change what the tool reads. If it is [`Effect::Write`] or [`Effect::External`],
    /// nothing is cached.
    pub pure: bool,
    /// Whether the tool runs alone: after the previous calls of the batch and before the next ones.
    pub sequential: bool,
    /// Whether the tool blocks its thread, and so can't be stopped.
    pub blocking: bool,
    /// Whether calls are allowed.
    pub permission: Permission,
    /// The capabilities that must be granted, such as `filesystem`.
    pub requires: Vec<String>,
    /// The extensions that the context must hold. They are Rust types of this program, so they are
    /// not serialized.
    #[serde(skip)]
    pub extensions: Vec<RequiredExtension>,
    /// The riskiest repairs that the tool accepts in its arguments.
    pub repair: Repair,
    /// The maximum number of retries after a transient failure.
    pub max_retries: u32,
    /// The maximum number of calls per period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// The time limit of one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Whether the tool finds other tools for a model that is not offered all of them.
    ///
    /// Such a tool is always offered, and a model that calls an unknown tool is referred to it.
    pub finds_tools: bool,
    /// Whether and how readily the tool is offered.
    pub preference: ToolPreference,
    /// An error that was found when the definition was created.
    #[serde(skip)]
    pub(super) error: Option<DefinitionError>,
    /// The full name, if the tool is registered under a provider.
    #[serde(skip)]
    pub(super) full_name: Option<Arc<str>>,
    /// The parameters in the dialect of a provider, unless that is the plain dialect.
    #[serde(skip)]
    dialect_parameters: Option<Schema>,
}

impl ToolDefinition {
    /// Creates a definition with careful defaults: effect [`External`](Effect::External), not
    /// idempotent, no retries. It has no timeout.
    ///
    /// ```
    /// use tool_runtime::{Effect, Repair, ToolDefinition};
    ///
    /// let schema = serde_json::json!({ "type": "object" });
    /// let definition = ToolDefinition::new("ping", "Checks the connection.", schema);
    /// assert_eq!(definition.effect, Effect::External);
    /// assert_eq!(definition.repair, Repair::Inferred);
    /// ```
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: impl Into<Schema>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            parameters: parameters.into(),
            output: None,
            version: None,
            kind: ToolKind::default(),
            effect: Effect::default(),
            idempotent: false,
            reattaches: false,
            pure: false,
            sequential: false,
            blocking: false,
            permission: Permission::default(),
            requires: Vec::new(),
            extensions: Vec::new(),
            repair: Repair::of_effect(Effect::default()),
            max_retries: 0,
            rate_limit: None,
            timeout: None,
            finds_tools: false,
            preference: ToolPreference::default(),
            error: None,
            full_name: None,
            dialect_parameters: None,
        }
    }

    /// Returns the schema of the arguments that is sent to the model, in the
    /// [dialect](crate::Registry::dialect) of the registry.
    ///
    /// Arguments are always validated against [`parameters`](Self::parameters).
    pub fn wire_parameters(&self) -> &Schema {
        self.dialect_parameters.as_ref().unwrap_or(&self.parameters)
    }

    /// Expresses the parameters in a dialect, as [`Registry::dialect`](crate::Registry::dialect)
    /// does for all tools of a registry.
    ///
    /// # Errors
    /// [`DefinitionError::Dialect`] if the dialect cannot express them.
    pub fn in_dialect(self, dialect: Dialect) -> Result<Self, DefinitionError> {
        self.for_dialect(dialect)
    }

    /// Expresses the parameters in a dialect.
    pub(crate) fn for_dialect(
        mut self,
        dialect: impl Into<SchemaConversion>,
    ) -> Result<Self, DefinitionError> {
        let conversion = dialect.into();
        let failed = |error| {
            let (name, error) = (self.name.clone(), Box::new(error));
            DefinitionError::Dialect { name, error }
        };
        self.dialect_parameters = match conversion.dialect() {
            Dialect::Plain => None,
            _ => Some(conversion.convert(&self.parameters).map_err(failed)?),
        };
        Ok(self)
    }

    /// Returns `true` if calls may be repeated after a crash: the tool is idempotent, or its effect
    /// is `none` or `read`.
    ///
    /// The dispatcher is stricter: it retries failed attempts only of idempotent tools.
    pub fn is_retry_safe(&self) -> bool {
        self.idempotent || matches!(self.effect, Effect::None | Effect::Read)
    }

    /// Returns `true` if a call that was interrupted can be made again when its run resumes.
    pub(crate) fn is_resumable(&self) -> bool {
        self.is_retry_safe() || self.reattaches
    }

    /// Checks whether model providers would accept this definition.
    ///
    /// # Errors
    /// Returns the first rule that the definition violates.
    pub fn validate(&self) -> Result<(), DefinitionError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let shortened = |text: &str| text.chars().take(MAX_QUOTED_CHARS).collect::<String>();
        let name = || shortened(&self.name);
        // The rule of the Model Context Protocol, which is the most permissive one. Codecs apply
        // the rules of their providers.
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        if self.name.is_empty() || self.name.len() > 128 || !self.name.chars().all(is_allowed) {
            return Err(DefinitionError::InvalidName { name: name() });
        }
        if self.description.trim().is_empty() {
            return Err(DefinitionError::MissingDescription { name: name() });
        }
        let detail = match &self.kind {
            ToolKind::Function => None,
            ToolKind::Program(program) => Some(("executable name", program)),
            ToolKind::Remote(server) => Some(("server name", server)),
            ToolKind::Dynamic(language) => Some(("language", language)),
        };
        let title = self.title.as_ref().map(|title| ("title", title));
        let version = self.version.as_ref().map(|version| ("version", version));
        let texts = [Some(("description", &self.description)), title, version, detail];
        for (field, text) in texts.into_iter().flatten() {
            if text.len() > MAX_TEXT_BYTES {
                return Err(DefinitionError::TextTooLong {
                    name: name(),
                    field,
                    bytes: text.len(),
                });
            }
            if let Some(character) = invisible_character(text) {
                return Err(DefinitionError::ControlCharacter { name: name(), field, character });
            }
        }
        if self.requires.len() > MAX_CAPABILITIES {
            let count = self.requires.len();
            return Err(DefinitionError::TooManyCapabilities { name: name(), count });
        }
        let is_valid = |name: &str| (1..=MAX_CAPABILITIES).contains(&name.len()) && is_plain(name);
        if let Some(invalid) = self.requires.iter().find(|name| !is_valid(name)) {
            let capability = shortened(invalid);
            return Err(DefinitionError::InvalidCapability { name: name(), capability });
        }
        let schemas = [Some(&self.parameters), self.output.as_ref()];
        let schemas = schemas.into_iter().flatten().map(Schema::as_value);
        let overrides = &self.preference.overrides;
        let key_bytes: usize = overrides.keys().map(String::len).sum();
        let mut keys = overrides.keys();
        let checked = match check_documents(schemas.chain(overrides.values())) {
            Ok(()) if key_bytes > MAX_SCHEMA_SIZE => Err(DocumentError::TooLarge),
            Ok(()) => keys
                .find_map(|key| invisible_character(key))
                .map_or(Ok(()), |character| Err(DocumentError::InvisibleCharacter(character))),
            error => error,
        };
        checked.map_err(|error| match error {
            DocumentError::TooLarge => DefinitionError::SchemaTooLarge { name: name() },
            DocumentError::TooDeep => DefinitionError::SchemaTooDeep { name: name() },
            DocumentError::InvisibleCharacter(character) => DefinitionError::ControlCharacter {
                name: name(),
                field: "schema or override",
                character,
            },
        })?;
        let parameters = self.parameters.as_value();
        let kind = parameters.get("type").unwrap_or(&Value::Null);
        if kind.as_str() != Some("object") {
            let found = shortened(&kind.to_string());
            return Err(DefinitionError::ParametersNotObject { name: name(), found });
        }
        if let Some(reference) = self.parameters.dangling_reference() {
            let reference = shortened(reference);
            return Err(DefinitionError::DanglingReference { name: name(), reference });
        }
        if let Some((argument, rule)) = self.parameters.unmatched_rule() {
            let argument = shortened(argument);
            return Err(DefinitionError::RuleWithoutEffect { name: name(), argument, rule });
        }
        if let Some(malformed) = self.parameters.malformed_keyword() {
            let MalformedKeyword { path, value, expected } = malformed;
            return Err(DefinitionError::MalformedKeyword {
                name: name(),
                path: shortened(&path).into(),
                mismatch: format!("{}, expected {expected}", shortened(&value.to_string())).into(),
            });
        }
        if parameters.pointer("/properties/").is_some() {
            return Err(DefinitionError::UnnamedArgument { name: name() });
        }
        if !self.preference.weight.is_finite() {
            let weight = self.preference.weight.to_string();
            return Err(DefinitionError::InvalidWeight { name: name(), weight });
        }
        if self.max_retries > 0 && !self.idempotent {
            return Err(DefinitionError::RetriesNotIdempotent {
                name: name(),
                retries: self.max_retries,
            });
        }
        if self.rate_limit.is_some_and(|limit| limit.times == 0) {
            return Err(DefinitionError::ZeroRateLimit { name: name() });
        }
        Ok(())
    }
}
