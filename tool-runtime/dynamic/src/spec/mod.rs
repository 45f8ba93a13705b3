//! The spec of a tool, and its check.
//!
//! 1. [`ToolSpec`] and [`ArgumentField`] (`field.rs`) are what a model or a program writes. They
//!    are plain data.
//! 2. [`ToolSpec::check`] (`check.rs`, `fields.rs`) finds everything that is wrong with it, within
//!    the limits of `limits.rs`, and converts the fields to [`CheckedType`]s (`checked_type.rs`).
//! 3. [`CheckedSpec`] (`checked.rs`) has the definition of the tool, whose parameters `schema.rs`
//!    writes, and the fingerprint of the spec.
//!
//! # Invariants
//! - The schema of a tool is the one that `#[args]` generates for the equivalent struct.
//! - No text has characters that people can't see.
//! - A definition changes its fingerprint with every change of the spec.

mod check;
mod checked;
mod checked_type;
mod error;
mod field;
mod fields;
mod limits;
mod schema;
#[cfg(feature = "catalog")]
mod valid_members;

use serde::Serialize;
use serde_json::{Map, Value, json};
use tool_core::{Effect, args};

#[cfg(feature = "catalog")]
pub(crate) use check::check_examples;
pub use checked::CheckedSpec;
pub use checked_type::{CheckedField, CheckedType, Presence};
pub use error::{SpecError, SpecErrors};
pub use field::{ArgumentField, ArgumentType, ElementType};
#[cfg(feature = "catalog")]
pub(crate) use valid_members::valid_members;

/// The provider of the tools that a catalog adds.
pub(crate) const PROVIDER: &str = "dynamic";

/// The language of the body of a tool.
///
/// ```
/// use tool_runtime::dynamic::BodyLanguage;
///
/// assert_eq!(BodyLanguage::JavaScript.to_string(), "javascript");
/// ```
#[args]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum BodyLanguage {
    /// The body of an async function in JavaScript, which needs no toolchain.
    JavaScript,
    /// The body of an async function in Rust, which is compiled.
    Rust,
}

impl std::fmt::Display for BodyLanguage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::JavaScript => "javascript",
            Self::Rust => "rust",
        })
    }
}

/// An example call of a tool, which has to succeed before the tool is registered.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::dynamic::ExampleCall;
///
/// let example = ExampleCall::new([("text", json!("a b"))]).output(json!(2));
/// assert_eq!(example.output, Some(json!(2)));
/// ```
#[args]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExampleCall {
    /// The arguments of the call.
    pub arguments: Map<String, Value>,
    /// The output that the call has to return. If it is omitted, the call has to succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

impl ExampleCall {
    /// Creates a call that has to succeed.
    pub fn new<K: Into<String>>(arguments: impl IntoIterator<Item = (K, Value)>) -> Self {
        let arguments = arguments.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { arguments, output: None }
    }

    /// Sets the output that the call has to return.
    #[must_use]
    pub fn output(mut self, output: impl Into<Value>) -> Self {
        self.output = Some(output.into());
        self
    }
}

/// The description of a tool as data: its name, arguments, effect, body and examples.
///
/// A spec is plain data: a model writes it as the arguments of `new_tool`, and a catalog stores it.
/// It is not validated until [`check`](Self::check) is called.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::Effect;
/// use tool_runtime::dynamic::{ArgumentField, ArgumentType, BodyLanguage, ExampleCall, ToolSpec};
///
/// let body = "return args.text.split(' ').length;";
/// let spec = ToolSpec::new(BodyLanguage::JavaScript, "count_words", "Counts words.", body)
///     .effect(Effect::None)
///     .field(ArgumentField::new("text", ArgumentType::String))
///     .example(ExampleCall::new([("text", json!("a b"))]).output(2));
/// let checked = spec.check()?;
/// assert_eq!(checked.definition().parameters.as_value()["required"], json!(["text"]));
///
/// let errors = spec.field(ArgumentField::new("a b", ArgumentType::List)).check().unwrap_err();
/// assert_eq!(errors.len(), 2);
/// # Ok::<(), tool_runtime::dynamic::SpecErrors>(())
/// ```
#[args]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name of the tool: lower-case letters, digits and `_`, a letter first, without `__`.
    pub name: String,
    /// A sentence on what the tool does and returns, for the model that calls it.
    pub description: String,
    /// The arguments of the tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<ArgumentField>,
    /// The language of the body.
    pub language: BodyLanguage,
    /// The body of an async function, without its signature. `args` holds the arguments, and the
    /// body returns the output.
    pub body: String,
    /// The side effect of a call: `none` for pure computation, `read`, `write` or `external`.
    #[serde(default)]
    #[schemars(schema_with = "effect_schema")]
    pub effect: Effect,
    /// Capabilities that the body needs besides computation, such as `network`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The names of the tools that the body calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The time limit of a call in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// Example calls, at most 16, which have to succeed before the tool is registered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ExampleCall>,
}

/// Returns the schema of an [`Effect`], which has none in the runtime.
fn effect_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let names = [Effect::None, Effect::Read, Effect::Write, Effect::External];
    let schema = json!({ "type": "string", "enum": names });
    schemars::Schema::try_from(schema).unwrap_or_default()
}

/// Constructors and setters, for programs. Each sets or extends the field of the same name.
impl ToolSpec {
    /// Creates the spec of a tool without arguments. Its effect is [`Effect::External`].
    pub fn new(
        language: BodyLanguage,
        name: impl Into<String>,
        description: impl Into<String>,
        body: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            fields: Vec::new(),
            language,
            body: body.into(),
            effect: Effect::default(),
            capabilities: Vec::new(),
            tools: Vec::new(),
            timeout_seconds: None,
            examples: Vec::new(),
        }
    }

    /// Adds an argument to the tool.
    #[must_use]
    pub fn field(mut self, field: ArgumentField) -> Self {
        self.fields.push(field);
        self
    }

    /// Sets the side effect of a call.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Adds a capability that the body needs, such as `network`.
    #[must_use]
    pub fn capability(mut self, capability: impl Into<String>) -> Self {
        self.capabilities.push(capability.into());
        self
    }

    /// Adds the name of a tool that the body calls.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tools.push(name.into());
        self
    }

    /// Sets the time limit of a call in seconds, at most 300. Default: 30.
    #[must_use]
    pub fn timeout_seconds(mut self, seconds: u32) -> Self {
        self.timeout_seconds = Some(seconds);
        self
    }

    /// Adds an example call that has to succeed.
    #[must_use]
    pub fn example(mut self, example: ExampleCall) -> Self {
        self.examples.push(example);
        self
    }

    /// Checks the spec and converts it.
    ///
    /// The check does not compile the body. Whether it compiles, and which capabilities it can
    /// have, is decided by the [backend](crate::ToolBackend) of its language.
    ///
    /// # Errors
    /// Returns all errors in the spec, with paths such as `fields[0].name`.
    pub fn check(&self) -> Result<CheckedSpec, SpecErrors> {
        check::check(self)
    }
}
