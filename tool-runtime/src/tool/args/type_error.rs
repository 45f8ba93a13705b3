//! Describes arguments that match the schema but that their type rejects.

use std::cell::Cell;

use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

use super::location::{ValueLocation, locate};
use crate::schema::{Mismatch, Schema, value_at_mut};

/// The maximum number of reported errors, and of strings that are tried if the location of an error
/// is unknown.
const MAX_ERRORS: usize = 20;
/// The maximum number of times that the arguments are decoded again.
const MAX_ATTEMPTS: usize = 64;
/// The maximum size of arguments that are searched for further errors, because each attempt decodes
/// all of them.
const MAX_BYTES: usize = 1 << 16;

/// A value that a type rejected.
#[derive(Debug)]
pub(crate) struct TypeError {
    pub(crate) location: ValueLocation,
    pub(crate) error: Error,
}

impl TypeError {
    fn of<T: DeserializeOwned>(json: &str, error: Error) -> Self {
        let rejects =
            |text: &str| serde_json::from_str::<T>(text).is_err_and(|error| error.is_data());
        Self { location: locate(ValueLocation::default(), json, &rejects), error }
    }
}

/// Describes, one line each, the values that `T` rejects in JSON that matches its schema.
pub(crate) fn type_errors<T: DeserializeOwned>(
    schema: &Schema,
    value: &Value,
    json: &str,
    error: Error,
) -> Vec<String> {
    let first = TypeError::of::<T>(json, error);
    describe_type_errors(schema, value.clone(), &first, &[], false, &|value| {
        let json = value.to_string();
        Some(TypeError::of::<T>(&json, serde_json::from_str::<T>(&json).err()?))
    })
}

/// Describes the values that a type rejects, one line each, except for the `known` mismatches.
///
/// A decoder stops at its first error. If that is a string in a format that the type does not
/// accept, the string is replaced by a valid example and `decode_again` finds the next error.
pub(crate) fn describe_type_errors(
    schema: &Schema,
    mut value: Value,
    first: &TypeError,
    known: &[Mismatch],
    is_secret: bool,
    decode_again: &dyn Fn(&Value) -> Option<TypeError>,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut paths: Vec<String> = known.iter().map(|mismatch| mismatch.path.clone()).collect();
    let mut next = None;
    let is_small = value.to_string().len() <= MAX_BYTES;
    let attempts_left = Cell::new(if is_small { MAX_ATTEMPTS } else { 0 });
    let decode_again = &|value: &Value| {
        attempts_left.set(attempts_left.get().saturating_sub(1));
        decode_again(value)
    };
    while let type_error = next.as_ref().unwrap_or(first)
        && let path = type_error.location.path()
        && !paths.contains(&path)
        && lines.len() < MAX_ERRORS
    {
        let message = message(&type_error.error);
        let found = (attempts_left.get() > 0)
            .then(|| find_string(schema, &value, type_error, &attempts_left, decode_again));
        let Some((mut mismatch, corrected)) = found.flatten() else {
            lines.push(if path.is_empty() { message } else { format!("`{path}`: {message}") });
            break;
        };
        if is_secret {
            mismatch.found.clear();
        }
        lines.push(format!("{mismatch}: {message}"));
        paths.push(mismatch.path);
        // With this error corrected, the decoder reaches the next one.
        next = decode_again(&corrected);
        value = corrected;
        if next.is_none() {
            break;
        }
    }
    lines
}

/// Finds the string in a wrong format that caused an error; returns the mismatch and the value with
/// a valid example in place of the string.
fn find_string(
    schema: &Schema,
    value: &Value,
    type_error: &TypeError,
    attempts_left: &Cell<usize>,
    decode_again: &dyn Fn(&Value) -> Option<TypeError>,
) -> Option<(Mismatch, Value)> {
    let correct = |location: &ValueLocation| {
        let (mismatch, example) = schema.format_mismatch(value, &location.segments())?;
        let mut corrected = value.clone();
        *value_at_mut(&mut corrected, &location.segments())? = example.into();
        Some((mismatch, corrected))
    };
    correct(&type_error.location).or_else(|| {
        // A tagged enum buffers its content before it decodes it, so the location of an error
        // within it is unknown. Each string is corrected in turn, until the error changes.
        let is_cause = |(_, corrected): &(Mismatch, Value)| {
            decode_again(corrected).is_none_or(|next| {
                next.error.to_string() != type_error.error.to_string()
                    || next.location.path() != type_error.location.path()
            })
        };
        let strings = type_error.location.strings(value, MAX_ERRORS);
        let strings = strings.iter().take_while(|_| attempts_left.get() > 0);
        strings.filter_map(correct).find(is_cause)
    })
}

/// Returns the message of an error in one line, without the position that serde_json appends: it
/// refers to text that the model may not have written.
fn message(error: &Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(&message).replace(['\r', '\n'], " ")
}
