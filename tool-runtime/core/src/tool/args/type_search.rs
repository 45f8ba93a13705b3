//! Finds all values that a type rejects.
//!
//! A decoder stops at its first error. The search replaces the rejected value by a sample of its
//! schema, or, if the type accepts no sample, leaves it out (`open_text.rs`), and decodes again.
//!
//! Serde buffers the content of some values before it decodes them: of tagged and untagged enums,
//! and of flattened members. The location of an error in such a value is unknown. The search looks
//! for samples that make the whole value valid, and then puts the original members back one by one:
//! those that are rejected are wrong (`buffered.rs`).

use std::cell::Cell;

use serde_json::{Error, Value};

use super::ArgumentDecodeError;
use super::document::Node;
use super::location::{Location, locate};
use super::open_text::{OpenText, open_texts};
use crate::guard::catch_panic;
use crate::schema::{Expectation, Mismatch, Schema};

/// The maximum number of reported values, and of values that are tried if the location of an error
/// is unknown.
pub(super) const MAX_ERRORS: usize = 20;
/// The maximum number of bytes that are decoded again.
const MAX_DECODED: usize = 1 << 22;
/// The cost of one attempt besides its text, in bytes.
const ATTEMPT_COST: usize = 256;
/// The maximum number of items that are tried in place of another item of their list.
const MAX_SIBLINGS: usize = 4;

/// A part of the arguments that is decoded alone.
pub(super) struct DecodedPart<'a> {
    /// The name of the argument; `None` if the part is the whole object.
    pub(super) name: Option<&'a str>,
    /// Decodes the text of the part and returns the error of its type.
    pub(super) decode_error: &'a dyn Fn(Option<&str>) -> Option<ArgumentDecodeError>,
}

/// A value that a type rejected.
pub(super) struct Rejected {
    pub(super) location: Location,
    /// Describes the expected format.
    pub(super) format: Option<Mismatch>,
    pub(super) error: Error,
}

/// A value that the schema does not allow, which is reported already.
pub(super) struct KnownMismatch {
    pub(super) location: Location,
    /// Whether the whole value is wrong, not only one rule about it.
    pub(super) is_whole: bool,
}

/// The state of a search.
pub(super) struct TypeSearch<'a> {
    pub(super) schema: &'a Schema,
    /// The arguments, corrected so far.
    pub(super) tree: Node,
    pub(super) known: &'a [KnownMismatch],
    /// The values for which there is no sample.
    pub(super) skipped: Vec<Location>,
    pub(super) rejected: Vec<Rejected>,
    /// The number of bytes that may be decoded.
    fuel: Cell<usize>,
    /// Whether samples are tried. Each requires a validation of all arguments.
    tries_samples: bool,
}

impl<'a> TypeSearch<'a> {
    pub(super) fn new(
        schema: &'a Schema,
        tree: Node,
        known: &'a [KnownMismatch],
        skipped: Vec<Location>,
        tries_samples: bool,
    ) -> Self {
        let (rejected, fuel) = (Vec::new(), Cell::new(MAX_DECODED));
        Self { schema, tree, known, skipped, rejected, fuel, tries_samples }
    }

    /// Adds the values of one part that its type rejects.
    pub(super) fn search(&mut self, part: &DecodedPart<'_>) {
        // Each round corrects a value or leaves it out.
        while self.rejected.len() < MAX_ERRORS
            && let Some((location, error)) = self.first_error(&self.tree, part)
        {
            if self.tries_samples && self.correct_within(&location, part) {
                continue;
            }
            let expected = self.tries_samples.then(|| self.expectation(&location));
            let (format, samples) =
                expected.map(|expected| (expected.format, expected.samples)).unwrap_or_default();
            self.report(location.clone(), format, error);
            if !self.correct(&location, &samples, part) {
                self.skipped.push(location);
            }
        }
    }

    /// Puts a sample that the type accepts in place of a value. Returns false if there is none.
    fn correct(&mut self, location: &Location, samples: &[Value], part: &DecodedPart<'_>) -> bool {
        let siblings = location.parent().filter(|_| self.tries_samples);
        let siblings = siblings.and_then(|parent| match self.tree.at(&parent)? {
            Node::List(items) => Some(items.iter().take(MAX_SIBLINGS)),
            _ => None,
        });
        let siblings = siblings.into_iter().flatten();
        let siblings = siblings.filter_map(|item| self.tree.with_node(location, item.clone()));
        let samples = samples.iter().filter_map(|sample| self.tree.with(location, sample));
        let mut corrected = siblings.chain(samples);
        match corrected.find(|tree| self.error_at(tree, location, part).is_none()) {
            Some(tree) if self.has_fuel() => {
                drop(corrected);
                self.tree = tree;
                true
            }
            _ => false,
        }
    }

    /// Returns what the schema expects at a location.
    pub(super) fn expectation(&self, location: &Location) -> Expectation {
        let value = self.tree.to_value();
        self.spend(self.tree.to_json().len());
        self.schema.expectation(&value, &location.segments())
    }

    /// Returns the first error, if it is at a location, within it or around it.
    pub(super) fn error_at(
        &self,
        tree: &Node,
        location: &Location,
        part: &DecodedPart<'_>,
    ) -> Option<Error> {
        let (found, error) = self.first_error(tree, part)?;
        found.is_related(location).then_some(error)
    }

    /// Returns the first value in `tree` that the type rejects.
    pub(super) fn first_error(
        &self,
        tree: &Node,
        part: &DecodedPart<'_>,
    ) -> Option<(Location, Error)> {
        let root = part.name.map(Location::member).unwrap_or_default();
        let texts = if self.skipped.iter().any(|location| location.is_within(&root)) {
            let is_uniform = |list: &Location| {
                self.tries_samples
                    && self.schema.has_uniform_items(&tree.to_value(), &list.segments())
            };
            open_texts(tree, &root, &self.skipped, &is_uniform)
        } else {
            vec![OpenText::closed(tree.at(&root)?.to_json())]
        };
        texts.iter().find_map(|text| {
            let error = self.decode_error(part, &text.json)?;
            let steps = locate(&text.json, |prefix| self.decode_error(part, prefix).is_some());
            Some((text.original(&root, &steps), error))
        })
    }

    /// Decodes a text and returns the error of the type. None for text that only ends too early.
    fn decode_error(&self, part: &DecodedPart<'_>, text: &str) -> Option<Error> {
        if !self.has_fuel() {
            return None;
        }
        self.spend(ATTEMPT_COST + text.len());
        match catch_panic(|| (part.decode_error)(Some(text))) {
            Ok(Some(ArgumentDecodeError::Rejected(error))) => Some(error).filter(Error::is_data),
            Ok(_) => None,
            Err(_) => {
                self.fuel.set(0);
                None
            }
        }
    }

    /// Whether the search can continue. Without fuel, it finds no error.
    pub(super) fn has_fuel(&self) -> bool {
        self.fuel.get() > 0
    }

    fn spend(&self, fuel: usize) {
        self.fuel.set(self.fuel.get().saturating_sub(fuel));
    }

    /// Adds a rejected value, unless it is reported already.
    pub(super) fn report(&mut self, location: Location, format: Option<Mismatch>, error: Error) {
        let is_known = self.known.iter().any(|known| {
            known.location.is_within(&location)
                || known.is_whole && location.is_within(&known.location)
        });
        if !is_known && !self.rejected.iter().any(|other| other.location == location) {
            self.rejected.push(Rejected { location, format, error });
        }
    }
}
