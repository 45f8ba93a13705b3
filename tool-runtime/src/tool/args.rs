//! Decoding: a call's arguments → the parameters of a function.
//!
//! The fast path goes from the text straight into the types. Everything else, repair and the
//! search for what is wrong, happens only when that fails or when the schema holds rules that the
//! types don't.

use std::fmt::Write as _;

use serde::Deserializer;
use serde::de::Error as _;
use serde_path_to_error::Track;

use super::param::{Named, Names, Params};
use super::{ToolContext, ToolDefinition, ToolError};
use crate::json;
use crate::message::Arguments;

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

/// Everything in its place, or one error that names all that is wrong.
#[inline]
pub(super) fn decode<N: Names, P: Params>(
    definition: &ToolDefinition,
    layout: Layout,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Result<P::Values, ToolError> {
    if !definition.parameters.is_constrained() {
        let values = match arguments {
            Arguments::Text(text) => layout.read_text::<N, P>(text).ok(),
            Arguments::Value(value) => layout.read::<N, P, _>(value.as_ref()).ok(),
        };
        if let Some(values) = values {
            return Ok(values);
        }
    }
    let sound = settle(definition, arguments, ctx)?;
    layout.read_sound::<N, P>(&sound).or_else(|misread| {
        // The schema took 30.0 for an integer; the type may not have.
        match whole(&sound).and_then(|whole| layout.read_sound::<N, P>(&whole).ok()) {
            Some(values) => Ok(values),
            None => Err(misread.refuse(definition)),
        }
    })
}

/// Reads the arguments as a value, repairs it and checks it; gives back text that holds no more
/// and no less. Text that was sound comes back as it is: a value would lose digits of long numbers.
#[cold]
fn settle(
    definition: &ToolDefinition,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Result<String, ToolError> {
    let schema = &definition.parameters;
    let text = arguments.to_text();
    let parsed = match arguments {
        Arguments::Value(value) => {
            refuse_mismatches(definition, value)?;
            return Ok(text.into_owned());
        }
        Arguments::Text(text) => json::parse_as(text, schema.as_value()).map_err(|unreadable| {
            refuse(definition, &[unreadable.to_string()]).with_source(unreadable)
        })?,
    };
    if !parsed.fixes.is_empty() && !definition.repair.allows(parsed.risk()) {
        let fixes: Vec<_> = parsed.fixes.iter().map(ToString::to_string).collect();
        let fixes = fixes.join(", ");
        let problem = format!("this tool takes only what needs no such repair: {fixes}");
        return Err(refuse(definition, &[problem]));
    }
    ctx.record_fixes(parsed.fixes.clone());
    refuse_mismatches(definition, &parsed.value)?;
    Ok(if parsed.fixes.is_empty() { text.into_owned() } else { parsed.value.to_string() })
}

/// The same text with its integers written as such, where one wasn't.
#[cold]
fn whole(sound: &str) -> Option<String> {
    let mut value = serde_json::from_str(sound).ok()?;
    json::make_whole(&mut value).then(|| value.to_string())
}

fn refuse_mismatches(
    definition: &ToolDefinition,
    value: &serde_json::Value,
) -> Result<(), ToolError> {
    let mismatches = definition.parameters.check(value);
    if mismatches.is_empty() {
        return Ok(());
    }
    let problems: Vec<_> = mismatches.iter().map(ToString::to_string).collect();
    Err(refuse(definition, &problems))
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
