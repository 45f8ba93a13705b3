//! Decodes the arguments of a call into the parameters of a function.
//!
//! 1. Fast path: the text is split into the texts of the arguments (`raw.rs`), and each is decoded
//!    into its type. It applies to valid JSON if the schema has no constraints beyond the types.
//! 2. Otherwise the text is repaired and coerced to the schema (`repair.rs`), validated against the
//!    schema, and decoded.
//! 3. If a type rejects a value, `location.rs` finds the path of the value and `type_error.rs` the
//!    further errors behind it. The model receives one error that lists all wrong arguments.
//!
//! Invariants:
//! - If the schema has no constraints, the types decide what a tool accepts, including what the
//!   schema does not mention, such as a name of `#[serde(alias = "…")]`. If it has constraints,
//!   both types and schema must accept the arguments, because a constraint can't be checked where
//!   the schema does not describe the value.
//! - Text of the model is decoded, never a re-serialized value, which would have lost repeated keys
//!   and digits beyond 64 bits.
//! - An array is not accepted for a struct. Derived implementations of `Deserialize` would accept
//!   it and assign the members by position; but a model that sends `["Rome", "Oslo"]` for `{from,
//!   to}` has not said which is which. If arguments contain an array and the schema nests objects,
//!   the schema is checked.

mod duplicate_keys;
mod location;
mod raw;
mod repair;
mod type_error;
mod validated;
pub(crate) mod value_end;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::future::ready;

use serde_json::Value;

use self::location::{ValueLocation, locate};
pub use self::raw::RawArguments;
use self::raw::SplitError;
use self::repair::repair;
pub(crate) use self::type_error::type_errors;
use self::type_error::{TypeError, describe_type_errors};
pub use self::validated::ValidatedArguments;
use super::layout::Layout;
use super::param::Parameter;
use super::{ToolContext, ToolDefinition, ToolError, ToolFuture};
use crate::json;
use crate::message::Arguments;
use crate::schema::{Mismatch, MismatchKind};

/// Decodes the arguments and calls the function.
pub type DecodeAndCall = dyn for<'a> Fn(&RawArguments<'_>, &'a ToolContext) -> Result<ToolFuture<'a>, ArgumentDecodeError>
    + Send
    + Sync;

/// The error of the parameter at `index`: its type rejected the argument, or the argument is
/// missing (no source).
#[derive(Debug)]
pub struct ArgumentDecodeError {
    index: usize,
    source: Option<serde_json::Error>,
}

impl ArgumentDecodeError {
    #[cold]
    pub(super) const fn new(index: usize, source: serde_json::Error) -> Self {
        Self { index, source: Some(source) }
    }

    #[cold]
    pub(super) const fn missing(index: usize) -> Self {
        Self { index, source: None }
    }

    /// Whether the type rejected a value. False for text that ends too early.
    fn is_type_error(&self) -> bool {
        self.source.as_ref().is_some_and(serde_json::Error::is_data)
    }
}

/// Why a text could not be decoded.
enum ArgumentsError<'t> {
    Split(SplitError<'t>),
    Decode(ArgumentDecodeError),
}

/// Decodes the arguments of one function.
pub(super) struct Decoder {
    names: Box<[&'static str]>,
    layout: Layout,
    nests_objects: bool,
    decode: Box<DecodeAndCall>,
}

impl Decoder {
    pub(super) fn new(
        parameters: &[Parameter],
        layout: Layout,
        nests_objects: bool,
        decode: Box<DecodeAndCall>,
    ) -> Self {
        let names = parameters.iter().map(Parameter::argument_name).collect();
        Self { names, layout, nests_objects, decode }
    }

    /// Calls the function with these arguments. If they are invalid, the call returns an error.
    pub(super) fn call<'c>(
        &self,
        definition: &ToolDefinition,
        arguments: &Arguments,
        ctx: &'c ToolContext,
    ) -> ToolFuture<'c> {
        let Arguments::Text(text) = arguments else {
            return self.call_with_value(definition, arguments, ctx);
        };
        self.call_with_text(definition, text, ctx)
    }

    /// Converts a value into text. Decoding values directly would compile every type twice.
    #[cold]
    fn call_with_value<'c>(
        &self,
        definition: &ToolDefinition,
        arguments: &Arguments,
        ctx: &'c ToolContext,
    ) -> ToolFuture<'c> {
        self.call_with_text(definition, &text_of(arguments), ctx)
    }

    #[inline]
    fn call_with_text<'c>(
        &self,
        definition: &ToolDefinition,
        text: &str,
        ctx: &'c ToolContext,
    ) -> ToolFuture<'c> {
        let needs_schema =
            definition.parameters.is_constrained() || self.nests_objects && text.contains('[');
        if !needs_schema && let Some(call) = self.decode_fast(text, ctx) {
            return call;
        }
        let call = self.decode_validated(definition, text, ctx);
        call.unwrap_or_else(|error| {
            ctx.refuse_arguments();
            Box::pin(ready(Err(error)))
        })
    }

    #[inline]
    fn decode_fast<'c>(&self, text: &str, ctx: &'c ToolContext) -> Option<ToolFuture<'c>> {
        let decoded = match self.layout {
            Layout::ArgsStruct(_) if !is_object(text) => return None,
            Layout::ArgsStruct(index) => (self.decode)(&RawArguments::single(text, index), ctx),
            Layout::Named => (self.decode)(&RawArguments::split(text, &self.names).ok()?, ctx),
        };
        decoded.ok()
    }

    fn decode<'t, 'c>(
        &self,
        text: &'t str,
        ctx: &'c ToolContext,
    ) -> Result<ToolFuture<'c>, ArgumentsError<'t>> {
        let arguments = self.split(text).map_err(ArgumentsError::Split)?;
        (self.decode)(&arguments, ctx).map_err(ArgumentsError::Decode)
    }

    fn split<'t>(&self, text: &'t str) -> Result<RawArguments<'t>, SplitError<'t>> {
        match self.layout {
            Layout::ArgsStruct(index) if is_object(text) => Ok(RawArguments::single(text, index)),
            Layout::ArgsStruct(_) => Err(SplitError::NotAnObject),
            Layout::Named => RawArguments::split(text, &self.names),
        }
    }

    /// Repairs, validates and decodes the arguments; the error lists everything that is wrong.
    #[cold]
    fn decode_validated<'c>(
        &self,
        definition: &ToolDefinition,
        text: &str,
        ctx: &'c ToolContext,
    ) -> Result<ToolFuture<'c>, ToolError> {
        let (value, json) = repair(definition, text, ctx)?;
        let call = self.decode(&json, ctx).or_else(|failure| {
            // The schema accepts 30.0 for an integer; the type may not.
            let integers = json::__private::with_normalized_integers(&json);
            integers.and_then(|json| self.decode(&json, ctx).ok()).ok_or(failure)
        });
        let mut mismatches = definition.parameters.check(&value);
        let is_secret = || holds_secrets(definition, &json, ctx);
        match call {
            Ok(call) => {
                // A shape that the type accepts and the schema does not could hide a violated
                // constraint.
                if !definition.parameters.is_constrained() {
                    mismatches.retain(|mismatch| self.nests_objects && may_be_array(mismatch));
                }
                match mismatches.is_empty() {
                    true => Ok(call),
                    false => Err(mismatch_error(definition, &mismatches, is_secret())),
                }
            }
            Err(ArgumentsError::Split(error)) if mismatches.is_empty() => {
                Err(invalid_arguments(definition, &[self.describe(&error)]))
            }
            Err(ArgumentsError::Decode(error)) => {
                let mut problems = lines(&mismatches, is_secret());
                match self.type_error(&json, error, ctx) {
                    Ok(first) => {
                        let decode_again = |value: &Value| {
                            let json = value.to_string();
                            match self.decode(&json, ctx).err()? {
                                ArgumentsError::Decode(error) => {
                                    self.type_error(&json, error, ctx).ok()
                                }
                                ArgumentsError::Split(_) => None,
                            }
                        };
                        problems.extend(describe_type_errors(
                            &definition.parameters,
                            value,
                            &first,
                            &mismatches,
                            is_secret(),
                            &decode_again,
                        ));
                        Err(invalid_arguments(definition, &problems).with_source(first.error))
                    }
                    Err(missing) if problems.is_empty() => {
                        Err(invalid_arguments(definition, &[format!("`{missing}` is missing")]))
                    }
                    Err(_) => Err(invalid_arguments(definition, &problems)),
                }
            }
            Err(_) => Err(mismatch_error(definition, &mismatches, is_secret())),
        }
    }

    fn name(&self, index: usize) -> &'static str {
        self.names.get(index).copied().unwrap_or_default()
    }

    fn describe(&self, error: &SplitError<'_>) -> String {
        match error {
            SplitError::NotAnObject => "expected an object".to_owned(),
            SplitError::Unknown(name) => format!("`{name}` is not known here"),
            SplitError::Duplicate(index) => came_twice(self.name(*index)),
        }
    }

    /// Finds the value that a type rejected. The error is the name of a missing argument.
    fn type_error(
        &self,
        json: &str,
        ArgumentDecodeError { index, source }: ArgumentDecodeError,
        ctx: &ToolContext,
    ) -> Result<TypeError, &'static str> {
        let name = self.name(index);
        let error = source.ok_or(name)?;
        let root = match self.layout {
            Layout::Named => ValueLocation::member(name),
            Layout::ArgsStruct(_) => ValueLocation::default(),
        };
        let location = match self.split(json) {
            Ok(mut arguments) => {
                let text = arguments.text(index).unwrap_or_default();
                locate(root, text, |prefix| {
                    arguments.replace(index, prefix);
                    (self.decode)(&arguments, ctx).is_err_and(|error| error.is_type_error())
                })
            }
            Err(_) => root,
        };
        Ok(TypeError { location, error })
    }
}

/// Describes a member that an object has twice.
fn came_twice(name: &str) -> String {
    format!("`{name}` came twice: send it once")
}

fn text_of(arguments: &Arguments) -> Cow<'_, str> {
    match arguments {
        Arguments::Text(text) => Cow::Borrowed(text.as_ref()),
        Arguments::Value(value) => match value.as_ref() {
            // A string value is the text of the arguments too.
            Value::String(text) => Cow::Borrowed(text.as_str()),
            _ => arguments.to_text(),
        },
    }
}

#[inline]
fn is_object(text: &str) -> bool {
    text.bytes().find(|byte| !byte.is_ascii_whitespace()) == Some(b'{')
}

/// Whether the arguments may contain secrets.
#[cold]
fn holds_secrets(definition: &ToolDefinition, text: &str, ctx: &ToolContext) -> bool {
    definition.parameters.has_secrets() || ctx.contains_secret(text)
}

/// Whether the cause of a mismatch may be an array in place of a struct: at the path of the
/// mismatch, or within a value that matches none of several shapes.
fn may_be_array(mismatch: &Mismatch) -> bool {
    !matches!(mismatch.kind, MismatchKind::Missing | MismatchKind::Unknown)
}

fn mismatch_error(
    definition: &ToolDefinition,
    mismatches: &[Mismatch],
    is_secret: bool,
) -> ToolError {
    invalid_arguments(definition, &lines(mismatches, is_secret))
}

fn lines(mismatches: &[Mismatch], is_secret: bool) -> Vec<String> {
    let line = |mut mismatch: Mismatch| {
        if is_secret {
            // A long value is truncated, and half a secret can't be redacted later.
            mismatch.found.clear();
        }
        mismatch.to_string()
    };
    mismatches.iter().cloned().map(line).collect()
}

/// Returns the error for the model if the function was not called.
fn invalid_arguments(definition: &ToolDefinition, problems: &[String]) -> ToolError {
    let mut text = format!("`{}` was not called: its arguments are wrong.", definition.name);
    for problem in problems {
        let _ = write!(text, "\n- {problem}");
    }
    text.push_str("\nCall it again with this put right.");
    ToolError::validation(text)
}
