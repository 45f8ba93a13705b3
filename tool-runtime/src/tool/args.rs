//! Decoding: a call's arguments → the parameters of a function.
//!
//! The fast path goes from the text straight into the types. Everything else, repair and the
//! search for what is wrong, happens only when that fails or when the schema holds rules that the
//! types don't.

use std::fmt::Write as _;

use serde::Deserializer;
use serde_json::Value;

use super::function::Spec;
use super::param::{Named, Params};
use super::{ToolContext, ToolError};
use crate::json;
use crate::message::Arguments;

/// How the parameters lie in the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The object is the one argument: an args struct.
    Whole,
    /// Each member is an argument.
    Named(&'static [&'static str]),
}

impl Layout {
    #[inline]
    fn read<'de, P: Params, D: Deserializer<'de>>(self, input: D) -> Result<P::Values, D::Error> {
        match self {
            Self::Whole => {
                let partial = P::read_whole(input)?;
                P::finish(partial, 0).map_err(|_| serde::de::Error::missing_field("arguments"))
            }
            Self::Named(names) => input.deserialize_map(Named::<P>::new(names)),
        }
    }

    fn read_text<P: Params>(self, text: &str) -> Result<P::Values, serde_json::Error> {
        let mut input = serde_json::Deserializer::from_str(text);
        let values = self.read::<P, _>(&mut input)?;
        input.end()?;
        Ok(values)
    }
}

/// Everything in its place, or one error that names all that is wrong.
#[inline]
pub(super) fn decode<P: Params>(
    spec: &Spec,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Result<P::Values, ToolError> {
    if !spec.definition.parameters.is_constrained() {
        let values = match arguments {
            Arguments::Text(text) => spec.layout.read_text::<P>(text).ok(),
            Arguments::Value(value) => spec.layout.read::<P, _>(value.as_ref()).ok(),
        };
        if let Some(values) = values {
            return Ok(values);
        }
    }
    decode_checked::<P>(spec, arguments, ctx)
}

/// Reads the arguments as a value, repairs it, checks it, and decodes it after that.
fn decode_checked<P: Params>(
    spec: &Spec,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Result<P::Values, ToolError> {
    let schema = &spec.definition.parameters;
    let repaired;
    let (value, text): (&Value, Option<&str>) = match arguments {
        Arguments::Value(value) => (value, None),
        Arguments::Text(text) => {
            repaired = json::parse_as(text, schema.as_value()).map_err(|unreadable| {
                refuse(spec, &[unreadable.to_string()]).with_source(unreadable)
            })?;
            ctx.record_fixes(repaired.fixes.clone());
            // Sound text is decoded from itself: a `Value` would lose digits of long numbers.
            (&repaired.value, repaired.fixes.is_empty().then_some(text))
        }
    };

    let mismatches = schema.check(value);
    if !mismatches.is_empty() {
        let problems: Vec<_> = mismatches.iter().map(ToString::to_string).collect();
        return Err(refuse(spec, &problems));
    }

    let mut track = serde_path_to_error::Track::new();
    let values = match text {
        Some(text) => {
            let mut input = serde_json::Deserializer::from_str(text);
            let input = serde_path_to_error::Deserializer::new(&mut input, &mut track);
            spec.layout.read::<P, _>(input)
        }
        None => {
            let input = serde_path_to_error::Deserializer::new(value, &mut track);
            spec.layout.read::<P, _>(input)
        }
    };
    values.map_err(|error| {
        let path = track.path().to_string();
        let problem = if path == "." { error.to_string() } else { format!("`{path}`: {error}") };
        refuse(spec, &[problem]).with_source(error)
    })
}

/// What the model reads when the function was not called.
fn refuse(spec: &Spec, problems: &[String]) -> ToolError {
    let name = &spec.definition.name;
    let mut text = format!("`{name}` was not called: its arguments are wrong.");
    for problem in problems {
        let _ = write!(text, "\n- {problem}");
    }
    text.push_str("\nCall it again with this put right.");
    ToolError::validation(text)
}
