//! What is told of arguments that fit the schema, and that their type refuses all the same.

use std::cell::Cell;

use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

use super::place::{Place, place};
use crate::schema::{Mismatch, Schema, value_at_mut};

/// As many are told at once, and so many texts are tried in place of one that nobody knows.
const MOST: usize = 20;
/// As often is a type asked again.
const MOST_TRIES: usize = 64;
/// Larger arguments are not searched: each try reads them all.
const MOST_BYTES: usize = 1 << 16;

/// What a type refused, and why.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) place: Place,
    pub(crate) error: Error,
}

impl Refusal {
    fn of<T: DeserializeOwned>(json: &str, error: Error) -> Self {
        let refuses =
            |text: &str| serde_json::from_str::<T>(text).is_err_and(|error| error.is_data());
        Self { place: place(Place::default(), json, &refuses), error }
    }
}

/// A line for each thing that a type refuses of JSON that fits its schema.
pub(crate) fn refused<T: DeserializeOwned>(
    schema: &Schema,
    value: &Value,
    json: &str,
    error: Error,
) -> Vec<String> {
    told(schema, value.clone(), &Refusal::of::<T>(json, error), &[], false, &|value| {
        let json = value.to_string();
        Some(Refusal::of::<T>(&json, serde_json::from_str::<T>(&json).err()?))
    })
}

/// A line for each thing that the type refuses, but for what is `known` to be wrong: the first, and as long as that
/// is a text in another format than it reads, also the next one. `again` tells what it refuses of other arguments.
pub(crate) fn told(
    schema: &Schema,
    mut value: Value,
    first: &Refusal,
    known: &[Mismatch],
    is_secret: bool,
    again: &dyn Fn(&Value) -> Option<Refusal>,
) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut places: Vec<String> = known.iter().map(|mismatch| mismatch.path.clone()).collect();
    let mut next = None;
    let is_small = value.to_string().len() <= MOST_BYTES;
    let left = Cell::new(if is_small { MOST_TRIES } else { 0 });
    let again = &|value: &Value| {
        left.set(left.get().saturating_sub(1));
        again(value)
    };
    while let refusal = next.as_ref().unwrap_or(first)
        && let path = refusal.place.path()
        && !places.contains(&path)
        && told.len() < MOST
    {
        let words = own_words(&refusal.error);
        let found = (left.get() > 0).then(|| text(schema, &value, refusal, &left, again));
        let Some((mut wanted, mended)) = found.flatten() else {
            told.push(if path.is_empty() { words } else { format!("`{path}`: {words}") });
            break;
        };
        if is_secret {
            wanted.found.clear();
        }
        told.push(format!("{wanted}: {words}"));
        places.push(wanted.path);
        // Put right, it doesn't hide what is wrong behind it.
        next = again(&mended);
        value = mended;
        if next.is_none() {
            break;
        }
    }
    told
}

/// The text that is in another format than the type reads, and the value with one that isn't.
fn text(
    schema: &Schema,
    value: &Value,
    refusal: &Refusal,
    left: &Cell<usize>,
    again: &dyn Fn(&Value) -> Option<Refusal>,
) -> Option<(Mismatch, Value)> {
    let mended = |place: &Place| {
        let (wanted, example) = schema.format_mismatch(value, &place.steps())?;
        let mut mended = value.clone();
        *value_at_mut(&mut mended, &place.steps())? = example.into();
        Some((wanted, mended))
    };
    mended(&refusal.place).or_else(|| {
        // A tagged enum reads what is within it only when it has seen all of it, and then nobody knows where it was.
        let is_it = |(_, mended): &(Mismatch, Value)| {
            again(mended).is_none_or(|again| {
                again.error.to_string() != refusal.error.to_string()
                    || again.place.path() != refusal.place.path()
            })
        };
        let texts = refusal.place.texts(value, MOST);
        let texts = texts.iter().take_while(|_| left.get() > 0);
        texts.filter_map(mended).find(is_it)
    })
}

/// What a type says, in one line. The position that serde_json puts behind it is one in text that
/// the model may never have written.
fn own_words(error: &Error) -> String {
    let words = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    words.strip_suffix(&position).unwrap_or(&words).replace(['\r', '\n'], " ")
}
