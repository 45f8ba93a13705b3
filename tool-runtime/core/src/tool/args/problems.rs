//! Describes everything that is wrong with the arguments of a call: what the schema does not allow,
//! and what the types reject.

use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

use super::ArgumentDecodeError;
use super::document::Node;
use super::location::Location;
use super::type_search::{DecodedPart, KnownMismatch, Rejected, TypeSearch};
use crate::schema::{Edit, Mismatch, Schema};

/// The maximum size of arguments that are searched with samples, because each sample requires a
/// validation of all of them.
const MAX_BYTES: usize = 1 << 16;
/// The number of times that samples are inserted for mismatches.
const MAX_ROUNDS: usize = 8;

/// The description of wrong arguments.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    /// One line for each wrong argument.
    pub(crate) lines: Vec<String>,
    /// The first error of a type; none if the arguments may contain secrets.
    pub(crate) source: Option<Error>,
}

/// Describes the mismatches of arguments and the values that the types of the parts reject, each
/// once. `json` is the text of `value`.
#[cold]
pub(super) fn problems(
    schema: &Schema,
    value: &Value,
    json: &str,
    parts: &[DecodedPart<'_>],
    is_secret: bool,
) -> Problems {
    let mut lines = mismatch_lines(&schema.check(value), is_secret);
    let Some(tree) = Node::parse(json) else { return Problems { lines, source: None } };
    let missing: Vec<_> = parts.iter().filter_map(|part| missing(part, &tree)).collect();
    let is_small = json.len() <= MAX_BYTES;
    let (known, skipped, corrected) = corrected(schema, tree, is_small);
    for name in missing {
        let location = Location::member(name);
        if !known.iter().any(|known| location.is_within(&known.location)) {
            lines.push(format!("`{name}` is missing"));
        }
    }
    let mut search = TypeSearch::new(schema, corrected, &known, skipped, is_small);
    for part in parts {
        search.search(part);
    }
    let rejected = search.rejected;
    lines.extend(rejected.iter().map(|rejected| line(rejected, is_secret)));
    let source = rejected.into_iter().next().map(|rejected| rejected.error);
    Problems { lines, source: source.filter(|_| !is_secret) }
}

/// Describes the mismatches of JSON and the values in it that `T` rejects, each once.
pub(crate) fn problems_of<T: DeserializeOwned>(
    schema: &Schema,
    value: &Value,
    json: &str,
    is_secret: bool,
) -> Problems {
    let decode_error = |text: Option<&str>| {
        let error = serde_json::from_str::<T>(text?).err()?;
        Some(ArgumentDecodeError::Rejected(error))
    };
    let part = DecodedPart { name: None, decode_error: &decode_error };
    problems(schema, value, json, &[part], is_secret)
}

/// Describes mismatches, one line each.
pub(super) fn mismatch_lines(mismatches: &[Mismatch], is_secret: bool) -> Vec<String> {
    let line = |mut mismatch: Mismatch| {
        if is_secret {
            // A long value is truncated, and half a secret can't be redacted later.
            mismatch.found.clear();
        }
        mismatch.to_string()
    };
    mismatches.iter().cloned().map(line).collect()
}

/// Returns the name of an argument that is missing and not optional.
fn missing<'a>(part: &DecodedPart<'a>, tree: &Node) -> Option<&'a str> {
    let name = part.name?;
    let is_missing = tree.at(&Location::member(name)).is_none();
    (is_missing && (part.decode_error)(None).is_some()).then_some(name)
}

/// Inserts samples for what the schema does not allow. Returns the mismatches, the locations of
/// those for which there is no sample, and the corrected arguments.
fn corrected(
    schema: &Schema,
    mut tree: Node,
    is_small: bool,
) -> (Vec<KnownMismatch>, Vec<Location>, Node) {
    let mut known = Vec::new();
    let mut remaining = Vec::new();
    for round in 0..=MAX_ROUNDS {
        let value = tree.to_value();
        let corrections = schema.corrections(&value);
        // Those of later rounds are due to the samples.
        known.extend(corrections.iter().map(|correction| {
            let path = Some(correction.path.as_slice());
            let object = path.and_then(<[_]>::split_last).map(|(_, object)| object);
            let path = if correction.is_tag { object } else { path };
            let is_whole = !matches!(correction.edit, Edit::Keep);
            KnownMismatch { location: path.unwrap_or_default().into(), is_whole }
        }));
        remaining.clear();
        let mut is_changed = false;
        for correction in &corrections {
            let location = Location::from(correction.path.as_slice());
            let edited = match &correction.edit {
                Edit::Keep => continue,
                _ if round == MAX_ROUNDS || !is_small => None,
                Edit::Remove => tree.without(&location),
                Edit::Insert(samples) => {
                    let sample = samples.get(round.checked_rem(samples.len()).unwrap_or(0));
                    sample.and_then(|sample| tree.with(&location, sample))
                }
            };
            match edited {
                Some(edited) => (tree, is_changed) = (edited, true),
                None => remaining.push(location),
            }
        }
        if !is_changed {
            break;
        }
    }
    (known, remaining, tree)
}

fn line(rejected: &Rejected, is_secret: bool) -> String {
    let path = rejected.location.path();
    let prefix = if path.is_empty() { path } else { format!("`{path}`: ") };
    match &rejected.format {
        // A type may quote the value that it rejects.
        None if is_secret => format!("{prefix}the value is not accepted"),
        None => prefix + &message(&rejected.error),
        Some(format) if is_secret => {
            mismatch_lines(std::slice::from_ref(format), is_secret).concat()
        }
        Some(format) => format!("{format}: {}", message(&rejected.error)),
    }
}

/// Returns the message of an error in one line, without the position that serde_json appends: it
/// refers to text that the model may not have written.
fn message(error: &Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(&message).replace(['\r', '\n'], " ")
}
