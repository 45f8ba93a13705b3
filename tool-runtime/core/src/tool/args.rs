//! Decodes the arguments of a call into the parameters of a function.
//!
//! 1. Fast path: the text is split into the texts of the arguments (`raw.rs`), and each is decoded
//!    into its type. It applies to valid JSON if the schema has no constraints beyond the types.
//! 2. Otherwise the text is repaired and coerced to the schema (`repair.rs`), validated against the
//!    schema, and decoded.
//! 3. If that fails, `problems.rs` lists the mismatches of the schema, and the values that the
//!    types reject, which `type_search.rs` finds. The model receives one error about all of them.
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

mod buffered;
mod document;
mod duplicate_keys;
mod flat_object;
mod location;
mod open_text;
mod problems;
mod raw;
mod repair;
mod tokens;
mod type_search;
mod validated;
pub(crate) mod value_end;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::future::ready;

use serde_json::Value;

pub(crate) use self::problems::problems_of;
use self::problems::{Problems, mismatch_lines, problems};
pub use self::raw::RawArguments;
use self::raw::SplitError;
use self::repair::repair;
use self::type_search::DecodedPart;
pub use self::validated::ValidatedArguments;
use super::param::Parameter;
use super::{ToolContext, ToolDefinition, ToolError, ToolFuture};
use crate::json;
use crate::message::Arguments;
use crate::schema::{Mismatch, MismatchKind, Schema};
use crate::tool::function::layout::Layout;

/// Decodes the arguments and calls the function.
pub type DecodeAndCall = dyn for<'a> Fn(&RawArguments<'_>, &'a ToolContext) -> Result<ToolFuture<'a>, ArgumentDecodeError>
    + Send
    + Sync;

/// Decodes the arguments and checks them, by `#[tool(check)]`.
pub type DecodeAndCheck = dyn Fn(&RawArguments<'_>, &ToolContext) -> Result<Result<(), ToolError>, ArgumentDecodeError>
    + Send
    + Sync;

/// A call of the function, which does nothing until it is polled, or the error of its check.
type CheckedCall<'c> = Result<ToolFuture<'c>, ToolError>;

/// The error of one argument.
#[derive(Debug)]
pub enum ArgumentDecodeError {
    /// The argument is missing.
    Missing,
    /// The type rejected the argument.
    Rejected(serde_json::Error),
}

impl ArgumentDecodeError {
    #[cold]
    pub(crate) const fn rejected(error: serde_json::Error) -> Self {
        Self::Rejected(error)
    }
}

/// Returns the properties of an args struct that requires none of them; otherwise nothing.
fn optional_members(layout: Layout, schema: &Schema) -> Box<[String]> {
    let root = schema.as_value();
    let is_required =
        root.get("required").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    match (layout, root.get("properties").and_then(Value::as_object)) {
        (Layout::ArgsStruct(_), Some(properties)) if !is_required => {
            properties.keys().cloned().collect()
        }
        _ => Box::default(),
    }
}

/// Decodes the text of one argument and returns its error.
type DecodeError = fn(Option<&str>) -> Option<ArgumentDecodeError>;

/// Decodes the arguments of one function.
pub(super) struct Decoder {
    names: Box<[&'static str]>,
    decode_errors: Box<[DecodeError]>,
    layout: Layout,
    nests_objects: bool,
    /// The properties of an args struct that requires none of them; otherwise empty.
    optional_members: Box<[String]>,
    decode: Box<DecodeAndCall>,
    /// Applies `#[tool(check)]`.
    pub(super) check: Option<Box<DecodeAndCheck>>,
}

impl Decoder {
    pub(super) fn new(
        parameters: &[Parameter],
        layout: Layout,
        schema: &Schema,
        decode: Box<DecodeAndCall>,
    ) -> Self {
        let nests_objects = schema.has_nested_objects();
        let optional_members = optional_members(layout, schema);
        let names = parameters.iter().map(Parameter::argument_name).collect();
        let decode_errors = parameters.iter().map(|parameter| parameter.decode_error).collect();
        let check = None;
        Self { names, decode_errors, layout, nests_objects, optional_members, decode, check }
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

    /// Decodes and checks arguments without calling the function.
    pub(super) fn check_arguments(
        &self,
        definition: &ToolDefinition,
        arguments: &Arguments,
        ctx: &ToolContext,
    ) -> Result<(), ToolError> {
        let call = self.decode_validated(definition, &text_of(arguments), ctx)?;
        drop(call);
        Ok(())
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
        let call = if needs_schema { None } else { self.decode_fast(text, ctx) };
        let call = call.unwrap_or_else(|| self.decode_validated(definition, text, ctx));
        call.unwrap_or_else(|error| {
            ctx.refuse_arguments();
            Box::pin(ready(Err(error)))
        })
    }

    #[inline]
    fn decode_fast<'c>(&self, text: &str, ctx: &'c ToolContext) -> Option<CheckedCall<'c>> {
        let decoded = match self.layout {
            Layout::ArgsStruct(_) if !is_object(text) || self.may_be_envelope(text) => return None,
            Layout::ArgsStruct(index) => self.decode_split(&RawArguments::single(text, index), ctx),
            Layout::Named => self.decode_split(&RawArguments::split(text, &self.names).ok()?, ctx),
        };
        decoded.ok()
    }

    #[inline]
    fn decode_split<'c>(
        &self,
        arguments: &RawArguments<'_>,
        ctx: &'c ToolContext,
    ) -> Result<CheckedCall<'c>, ArgumentDecodeError> {
        let call = (self.decode)(arguments, ctx)?;
        match &self.check {
            Some(check) => Ok(check(arguments, ctx)?.map(|()| call)),
            None => Ok(Ok(call)),
        }
    }

    /// Whether the members of the object may all be inside another one: an args struct that
    /// requires none of them would ignore that.
    #[inline]
    fn may_be_envelope(&self, text: &str) -> bool {
        !self.optional_members.is_empty() && !raw::is_empty_or_has(text, &self.optional_members)
    }

    fn decode<'c>(&self, text: &str, ctx: &'c ToolContext) -> Option<CheckedCall<'c>> {
        self.decode_split(&self.split(text).ok()?, ctx).ok()
    }

    fn split<'t>(&self, text: &'t str) -> Result<RawArguments<'t>, SplitError<'t>> {
        match self.layout {
            Layout::ArgsStruct(index) if is_object(text) => Ok(RawArguments::single(text, index)),
            Layout::ArgsStruct(_) => Err(SplitError::NotAnObject),
            Layout::Named => RawArguments::split(text, &self.names),
        }
    }

    /// Repairs, validates, decodes and checks the arguments; the error lists everything that is
    /// wrong.
    #[cold]
    fn decode_validated<'c>(
        &self,
        definition: &ToolDefinition,
        text: &str,
        ctx: &'c ToolContext,
    ) -> Result<ToolFuture<'c>, ToolError> {
        let (value, json) = repair(definition, text, ctx)?;
        let call = self.decode(&json, ctx).or_else(|| {
            // The schema accepts 30.0 for an integer; the type may not.
            self.decode(&json::__private::with_normalized_integers(&json)?, ctx)
        });
        let is_secret = || holds_secrets(definition, &json, ctx);
        let Some(call) = call else {
            return Err(self.refusal(definition, &value, &json, is_secret()));
        };
        let mut mismatches = definition.parameters.check(&value);
        // A shape that the type accepts and the schema does not could hide a violated constraint.
        if !definition.parameters.is_constrained() {
            mismatches.retain(|mismatch| self.nests_objects && may_be_array(mismatch));
        }
        if mismatches.is_empty() {
            call
        } else {
            Err(mismatch_error(definition, &mismatches, is_secret()))
        }
    }

    /// Returns the error for arguments that could not be decoded.
    fn refusal(
        &self,
        definition: &ToolDefinition,
        value: &Value,
        json: &str,
        is_secret: bool,
    ) -> ToolError {
        let all = self.names.iter().zip(&self.decode_errors).enumerate();
        let parts = all.filter_map(|(at, (name, decode_error))| match self.layout {
            Layout::Named => Some(DecodedPart { name: Some(*name), decode_error }),
            Layout::ArgsStruct(index) => {
                (at == index).then_some(DecodedPart { name: None, decode_error })
            }
        });
        let parts: Vec<_> = parts.collect();
        let mut problems = problems(&definition.parameters, value, json, &parts, is_secret);
        match self.split(json) {
            Err(SplitError::Duplicate(index)) => {
                let name = self.names.get(index).copied().unwrap_or_default();
                problems.lines.push(came_twice(name));
            }
            Err(SplitError::Unknown(name)) if problems.lines.is_empty() => {
                problems.lines.push(format!("`{name}` is not known here"));
            }
            Err(_) if problems.lines.is_empty() => {
                problems.lines.push("expected an object".to_owned());
            }
            _ => {}
        }
        refusal(definition, problems)
    }
}

/// Returns the error for the model that lists these problems.
fn refusal(definition: &ToolDefinition, Problems { mut lines, source }: Problems) -> ToolError {
    if lines.is_empty() {
        lines.push("a value is not accepted".to_owned());
    }
    let error = invalid_arguments(definition, &lines);
    match source {
        Some(source) => error.with_source(source),
        None => error,
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
    invalid_arguments(definition, &mismatch_lines(mismatches, is_secret))
}

/// Returns the error for the model if the function was not called.
fn invalid_arguments(definition: &ToolDefinition, problems: &[String]) -> ToolError {
    let mut text = format!("`{}` was not called: its arguments are wrong.", definition.name);
    for problem in problems {
        let _ = write!(text, "\n- {problem}");
    }
    text.push_str("\nCall it again with this put right.");
    ToolError::invalid_arguments(text)
}
