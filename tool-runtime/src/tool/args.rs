//! Decoding: a call's arguments → the parameters of a function.
//!
//! The fast path goes from the text straight into the types. Everything else, repair and the
//! search for what is wrong, happens only when that fails or when the schema holds rules that the
//! types don't. The types decide what a tool takes: the schema adds its rules, such as a range, and
//! the words for what is wrong. So a name that only the type knows (`#[serde(alias = "…")]`) is
//! taken with and without such rules, but those of the member so named are not looked at.
//!
//! What is decoded is always text that the model wrote, never a value printed again: that would have
//! lost a key that comes twice and digits beyond 64 bits.

mod objects;

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserializer;
use serde::de::Error as _;
use serde_json::Value;
use serde_path_to_error::Track;

use self::objects::Objects;
use super::param::{Named, Names, Params};
use super::{ToolContext, ToolDefinition, ToolError};
use crate::json;
use crate::message::Arguments;
use crate::schema::{Mismatch, MismatchKind};

/// How the parameters lie in the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The object is the one argument: an args struct.
    Whole,
    /// Each member is an argument.
    Named,
}

impl Layout {
    #[inline]
    fn read<'de, N: Names, P: Params, D>(self, input: D) -> Result<P::Values, D::Error>
    where
        D: Deserializer<'de>,
    {
        let input = Objects(input);
        match self {
            Self::Whole => {
                let partial = P::read_whole(input)?;
                P::finish(partial, 0).map_err(|_| D::Error::missing_field("arguments"))
            }
            Self::Named => input.deserialize_map(Named::<N, P>::NEW),
        }
    }

    #[inline]
    fn read_text<N: Names, P: Params>(self, text: &str) -> Result<P::Values, serde_json::Error> {
        let mut input = serde_json::Deserializer::from_str(text);
        let values = self.read::<N, P, _>(&mut input)?;
        input.end()?;
        Ok(values)
    }

    /// Reads text that is sound JSON, and says where a type refused it.
    #[cold]
    fn read_sound<N: Names, P: Params>(self, text: &str) -> Result<P::Values, Misread> {
        let mut track = Track::new();
        let mut input = serde_json::Deserializer::from_str(text);
        let input = serde_path_to_error::Deserializer::new(&mut input, &mut track);
        self.read::<N, P, _>(input).map_err(|error| Misread { path: track.path(), error })
    }
}

/// The schema is satisfied and the type still refuses: its own words, and where.
struct Misread {
    path: serde_path_to_error::Path,
    error: serde_json::Error,
}

/// The arguments as they came; a value that is a string is text as well.
#[derive(Clone, Copy)]
enum Input<'a> {
    Text(&'a str),
    Value(&'a Value),
}

impl<'a> Input<'a> {
    #[inline]
    fn of(arguments: &'a Arguments) -> Self {
        match arguments {
            Arguments::Text(text) => Self::Text(text),
            Arguments::Value(value) => match value.as_ref() {
                Value::String(text) => Self::Text(text),
                value => Self::Value(value),
            },
        }
    }
}

/// Everything in its place, or one error that names all that is wrong.
#[inline]
pub(super) fn decode<N: Names, P: Params>(
    definition: &ToolDefinition,
    layout: Layout,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Result<P::Values, ToolError> {
    let input = Input::of(arguments);
    if !definition.parameters.is_constrained() {
        let values = match input {
            Input::Text(text) => layout.read_text::<N, P>(text).ok(),
            Input::Value(value) => layout.read::<N, P, _>(value).ok(),
        };
        if let Some(values) = values {
            return Ok(values);
        }
    }
    let sound = settle(definition, input, ctx)?;
    let values = layout.read_sound::<N, P>(&sound.json).or_else(|misread| {
        // The schema takes 30.0 for an integer; the type may not.
        let whole = json::whole_numbers(&sound.json);
        whole.and_then(|whole| layout.read_sound::<N, P>(&whole).ok()).ok_or(misread)
    });
    let mut mismatches = definition.parameters.check(&sound.value);
    match values {
        Ok(values) => {
            mismatches.retain(is_rule);
            if mismatches.is_empty() {
                Ok(values)
            } else {
                Err(mismatched(definition, &mismatches))
            }
        }
        Err(misread) if mismatches.is_empty() => Err(misread.refuse(definition)),
        Err(_) => Err(mismatched(definition, &mismatches)),
    }
}

/// The arguments as sound JSON.
struct Sound<'a> {
    value: Cow<'a, Value>,
    json: String,
}

/// Reads the arguments, with all repairs that the tool allows.
#[cold]
fn settle<'a>(
    definition: &ToolDefinition,
    input: Input<'a>,
    ctx: &ToolContext,
) -> Result<Sound<'a>, ToolError> {
    let text = match input {
        Input::Text(text) => text,
        Input::Value(value) => {
            return Ok(Sound { value: Cow::Borrowed(value), json: value.to_string() });
        }
    };
    let schema = definition.parameters.as_value();
    let parsed = json::parse_as(text, schema).map_err(|unreadable| {
        refuse(definition, &[unreadable.to_string()]).with_source(unreadable)
    })?;
    if !parsed.fixes.is_empty() && !definition.repair.allows(parsed.risk()) {
        let fixes: Vec<_> = parsed.fixes.iter().map(ToString::to_string).collect();
        let fixes = fixes.join(", ");
        let problem = format!("this tool takes only what needs no such repair: {fixes}");
        return Err(refuse(definition, &[problem]));
    }
    ctx.record_fixes(parsed.fixes.clone());
    let json = parsed.json().to_owned();
    Ok(Sound { value: Cow::Owned(parsed.value), json })
}

/// Whether it is about a rule that types do not hold. The shape of a value is theirs to judge.
fn is_rule(mismatch: &Mismatch) -> bool {
    use MismatchKind::*;
    !matches!(mismatch.kind, Missing | Unknown | Type | Choice | Forbidden | Ambiguous)
}

fn mismatched(definition: &ToolDefinition, mismatches: &[Mismatch]) -> ToolError {
    let problems: Vec<_> = mismatches.iter().map(ToString::to_string).collect();
    refuse(definition, &problems)
}

impl Misread {
    fn refuse(self, definition: &ToolDefinition) -> ToolError {
        let words = self.error.to_string();
        // The position is one in text that the model may never have written.
        let words = words.split(" at line ").next().unwrap_or_default();
        let problem = match self.path.iter().next() {
            None => words.to_owned(),
            Some(_) => format!("`{}`: {words}", self.path),
        };
        refuse(definition, &[problem]).with_source(self.error)
    }
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
