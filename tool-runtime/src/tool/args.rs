//! Decoding: a call's arguments → the parameters of a function.
//!
//! The fast path goes from the text straight into the types. Everything else, repair and the
//! search for what is wrong, happens only when that fails or when the schema holds rules that the
//! types don't. Where it holds none, the types decide what a tool takes, also what the schema
//! doesn't tell of, such as a name of `#[serde(alias = "…")]`. Where it holds one, both do: a rule
//! can't be held to what stands where no rule is.
//!
//! What is decoded is always text that the model wrote, never a value printed again: that would have
//! lost a key that comes twice and digits beyond 64 bits.

//!
//! Derived decoders also take an array for a struct, member by position; but a model that sends
//! `["Rome", "Oslo"]` for `{from, to}` has not said which is which. So an array is looked at by the
//! schema, where there is a struct that it could be meant for.

mod members;
mod place;
mod refusal;
mod repeated;
mod settle;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::future::ready;

use serde_json::Value;

pub use self::members::Input;
use self::members::Odd;
use self::place::{Place, place};
pub(crate) use self::refusal::refused;
use self::refusal::{Refusal, told};
use self::repeated::has_repeated;
use self::settle::settle;
use super::layout::Layout;
use super::param::Parameter;
use super::{Call, ToolContext, ToolDefinition, ToolError};
use crate::json;
use crate::message::Arguments;
use crate::schema::{Mismatch, MismatchKind};

/// Makes a call of a function of its arguments.
pub type Decode =
    dyn for<'a> Fn(&Input<'_>, &'a ToolContext) -> Result<Call<'a>, Misread> + Send + Sync;

/// A type refused what came for the parameter at `index`; no error where nothing came.
#[derive(Debug)]
pub struct Misread {
    index: usize,
    error: Option<serde_json::Error>,
}

impl Misread {
    #[cold]
    pub(super) const fn new(index: usize, error: serde_json::Error) -> Self {
        Self { index, error: Some(error) }
    }

    #[cold]
    pub(super) const fn missing(index: usize) -> Self {
        Self { index, error: None }
    }

    /// Whether the type refused a value, rather than text that stops short.
    fn is_refusal(&self) -> bool {
        self.error.as_ref().is_some_and(serde_json::Error::is_data)
    }
}

/// Why text gave no call.
enum Refused<'t> {
    Odd(Odd<'t>),
    Misread(Misread),
}

/// The arguments of one function.
pub(super) struct Decoder {
    names: Box<[&'static str]>,
    layout: Layout,
    nests_objects: bool,
    decode: Box<Decode>,
}

impl Decoder {
    pub(super) fn new(
        parameters: &[Parameter],
        layout: Layout,
        nests_objects: bool,
        decode: Box<Decode>,
    ) -> Self {
        let names = parameters.iter().map(Parameter::argument_name).collect();
        Self { names, layout, nests_objects, decode }
    }

    /// The function with these arguments, or its refusal.
    pub(super) fn call<'c>(
        &self,
        definition: &ToolDefinition,
        arguments: &Arguments,
        ctx: &'c ToolContext,
    ) -> Call<'c> {
        let Arguments::Text(text) = arguments else {
            return self.call_with_value(definition, arguments, ctx);
        };
        self.call_with_text(definition, text, ctx)
    }

    /// A value is printed, for to read it as it is would compile every type once more.
    #[cold]
    fn call_with_value<'c>(
        &self,
        definition: &ToolDefinition,
        arguments: &Arguments,
        ctx: &'c ToolContext,
    ) -> Call<'c> {
        self.call_with_text(definition, &text_of(arguments), ctx)
    }

    #[inline]
    fn call_with_text<'c>(
        &self,
        definition: &ToolDefinition,
        text: &str,
        ctx: &'c ToolContext,
    ) -> Call<'c> {
        let is_checked =
            definition.parameters.is_constrained() || self.nests_objects && text.contains('[');
        if !is_checked && let Some(call) = self.call_with_plain_text(text, ctx) {
            return call;
        }
        let call = self.decode_carefully(definition, text, ctx);
        call.unwrap_or_else(|error| Box::pin(ready(Err(error))))
    }

    /// The fast path.
    #[inline]
    fn call_with_plain_text<'c>(&self, text: &str, ctx: &'c ToolContext) -> Option<Call<'c>> {
        let read = match self.layout {
            Layout::Whole(_) if !is_object(text) => return None,
            Layout::Whole(index) => (self.decode)(&Input::one(text, index), ctx),
            Layout::Named => (self.decode)(&Input::members(text, &self.names).ok()?, ctx),
        };
        read.ok()
    }

    fn read<'t, 'c>(&self, text: &'t str, ctx: &'c ToolContext) -> Result<Call<'c>, Refused<'t>> {
        let input = self.input(text).map_err(Refused::Odd)?;
        (self.decode)(&input, ctx).map_err(Refused::Misread)
    }

    fn input<'t>(&self, text: &'t str) -> Result<Input<'t>, Odd<'t>> {
        match self.layout {
            Layout::Whole(index) if is_object(text) => Ok(Input::one(text, index)),
            Layout::Whole(_) => Err(Odd::Unsound),
            Layout::Named => Input::members(text, &self.names),
        }
    }

    /// Everything in its place, or one error that names all that is wrong.
    #[cold]
    fn decode_carefully<'c>(
        &self,
        definition: &ToolDefinition,
        text: &str,
        ctx: &'c ToolContext,
    ) -> Result<Call<'c>, ToolError> {
        let (value, json) = settle(definition, text, ctx)?;
        let call = self.read(&json, ctx).or_else(|refused| {
            // The schema takes 30.0 for an integer; the type may not.
            let whole = json::with_normalized_integers(&json);
            whole.and_then(|whole| self.read(&whole, ctx).ok()).ok_or(refused)
        });
        let mut mismatches = definition.parameters.check(&value);
        let is_secret = || holds_secrets(definition, &json, ctx);
        match call {
            Ok(call) => {
                // A shape that the type takes and the schema doesn't may hide a rule that is broken.
                if !definition.parameters.is_constrained() {
                    mismatches.retain(|mismatch| self.nests_objects && is_list(mismatch));
                }
                match mismatches.is_empty() {
                    true => Ok(call),
                    false => Err(mismatched(definition, &mismatches, is_secret())),
                }
            }
            Err(Refused::Odd(odd)) if mismatches.is_empty() => {
                Err(refuse(definition, &[self.odd(&odd)]))
            }
            Err(Refused::Misread(misread)) => {
                let mut problems = lines(&mismatches, is_secret());
                match self.refusal(&json, misread, ctx) {
                    Ok(first) => {
                        let again = |value: &Value| {
                            let json = value.to_string();
                            match self.read(&json, ctx).err()? {
                                Refused::Misread(misread) => self.refusal(&json, misread, ctx).ok(),
                                Refused::Odd(_) => None,
                            }
                        };
                        let schema = &definition.parameters;
                        let known = &mismatches;
                        problems.extend(told(schema, value, &first, known, is_secret(), &again));
                        Err(refuse(definition, &problems).with_source(first.error))
                    }
                    Err(missing) if problems.is_empty() => {
                        Err(refuse(definition, &[format!("`{missing}` is missing")]))
                    }
                    Err(_) => Err(refuse(definition, &problems)),
                }
            }
            Err(_) => Err(mismatched(definition, &mismatches, is_secret())),
        }
    }

    fn name(&self, index: usize) -> &'static str {
        self.names.get(index).copied().unwrap_or_default()
    }

    fn odd(&self, odd: &Odd<'_>) -> String {
        match odd {
            Odd::Unsound => "expected an object".to_owned(),
            Odd::Unknown(name) => format!("`{name}` is not known here"),
            Odd::Twice(index) => format!("`{}` came twice: send it once", self.name(*index)),
        }
    }

    /// Where a type refused this, and why; or the name of what is missing.
    fn refusal(
        &self,
        json: &str,
        Misread { index, error }: Misread,
        ctx: &ToolContext,
    ) -> Result<Refusal, &'static str> {
        let name = self.name(index);
        let error = error.ok_or(name)?;
        let above = match self.layout {
            Layout::Named => Place::member(name),
            Layout::Whole(_) => Place::default(),
        };
        let place = match self.input(json) {
            Ok(mut input) => {
                let text = input.text(index).unwrap_or_default();
                place(above, text, |beginning| {
                    input.replace(index, beginning);
                    (self.decode)(&input, ctx).is_err_and(|misread| misread.is_refusal())
                })
            }
            Err(_) => above,
        };
        Ok(Refusal { place, error })
    }
}

fn text_of(arguments: &Arguments) -> Cow<'_, str> {
    match arguments {
        Arguments::Text(text) => Cow::Borrowed(text.as_ref()),
        Arguments::Value(value) => match value.as_ref() {
            // A value that is a string is text as well.
            Value::String(text) => Cow::Borrowed(text.as_str()),
            _ => arguments.to_text(),
        },
    }
}

#[inline]
fn is_object(text: &str) -> bool {
    text.bytes().find(|byte| !byte.is_ascii_whitespace()) == Some(b'{')
}

/// The arguments of a tool as its schema has them, as a value and as JSON, or an error that names all
/// that is wrong. What the tool is given then is what was looked at before.
pub(crate) fn settled(
    definition: &ToolDefinition,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Result<(Value, String), ToolError> {
    let (value, json) = settle(definition, &text_of(arguments), ctx)?;
    if has_repeated(&json, &value) {
        return Err(refuse(definition, &["a member came twice: send each once".into()]));
    }
    match definition.parameters.check(&value).as_slice() {
        [] => Ok((value, json)),
        mismatches => {
            let is_secret = holds_secrets(definition, &json, ctx);
            Err(mismatched(definition, mismatches, is_secret))
        }
    }
}

/// Whether something in the arguments may be nobody's business.
#[cold]
fn holds_secrets(definition: &ToolDefinition, text: &str, ctx: &ToolContext) -> bool {
    definition.parameters.has_secrets() || ctx.holds_secret(text)
}

/// The arguments of a tool that is no function.
#[cfg(feature = "search")]
pub(crate) fn decoded<T: serde::de::DeserializeOwned>(
    definition: &ToolDefinition,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Result<T, ToolError> {
    let (value, _) = settled(definition, arguments, ctx)?;
    let read = T::deserialize(value);
    read.map_err(|error| refuse(definition, &[error.to_string()]).with_source(error))
}

/// Whether an array may have been taken for a struct: one that stands where it may not, or that is
/// somewhere in what fits none of several shapes.
fn is_list(mismatch: &Mismatch) -> bool {
    !matches!(mismatch.kind, MismatchKind::Missing | MismatchKind::Unknown)
}

fn mismatched(definition: &ToolDefinition, mismatches: &[Mismatch], is_secret: bool) -> ToolError {
    refuse(definition, &lines(mismatches, is_secret))
}

fn lines(mismatches: &[Mismatch], is_secret: bool) -> Vec<String> {
    let line = |mismatch: &Mismatch| match is_secret {
        // What came is cut where it is long: half a secret can't be told from other text.
        true => Mismatch { found: String::new(), ..mismatch.clone() }.to_string(),
        false => mismatch.to_string(),
    };
    mismatches.iter().map(line).collect()
}

/// What the model reads when the function was not called.
fn refuse(definition: &ToolDefinition, problems: &[String]) -> ToolError {
    let mut text = format!("`{}` was not called: its arguments are wrong.", definition.name);
    for problem in problems {
        let _ = write!(text, "\n- {problem}");
    }
    text.push_str("\nCall it again with this put right.");
    ToolError::validation(text)
}
