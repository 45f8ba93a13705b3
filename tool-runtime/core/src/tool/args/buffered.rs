//! Finds the wrong values in a value that serde buffers before it decodes it, so that the location
//! of an error within it is unknown.

use std::slice;

use serde_json::{Error, Value, json};

use super::document::Node;
use super::location::Location;
use super::type_search::{DecodedPart, MAX_ERRORS, TypeSearch};
use crate::schema::Mismatch;

/// A scalar that may be wrong.
struct Candidate {
    location: Location,
    original: Node,
    format: Option<Mismatch>,
    samples: Vec<Value>,
}

impl TypeSearch<'_> {
    /// Finds the wrong scalars in the container at a location, and corrects them or leaves the
    /// container out. Returns false if there are none.
    pub(super) fn correct_within(&mut self, location: &Location, part: &DecodedPart<'_>) -> bool {
        let candidates = self.candidates(location, part);
        if candidates.is_empty() {
            return false;
        }
        match self.samples_for(&candidates, location, part) {
            Some((base, replaced)) => self.put_back(&base, &replaced, location, part),
            None => self.isolate(&candidates, location, part),
        }
    }

    /// Returns the buffered scalars within a container, except for those that the schema lists.
    fn candidates(&self, location: &Location, part: &DecodedPart<'_>) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        if matches!(self.tree.at(location), None | Some(Node::Scalar(_))) {
            return candidates;
        }
        for location in self.tree.scalars(location, MAX_ERRORS) {
            let Some(Node::Scalar(text)) = self.tree.at(&location) else { continue };
            if matches!(text.as_str(), "null" | "true" | "false") {
                continue;
            }
            let original = Node::Scalar(text.clone());
            let expected = self.expectation(&location);
            if !expected.is_choice && self.is_buffered(&location, part) {
                let (format, samples) = (expected.format, expected.samples);
                candidates.push(Candidate { location, original, format, samples });
            }
        }
        candidates
    }

    /// Whether the location of an error in this scalar is unknown. If it is known, the type has
    /// accepted the scalar, and the error is about the whole container.
    fn is_buffered(&self, location: &Location, part: &DecodedPart<'_>) -> bool {
        // Hardly any type accepts this in place of a scalar.
        let other = json!({ "": [] });
        let found = self.tree.with(location, &other).and_then(|tree| self.first_error(&tree, part));
        found.is_none_or(|(found, _)| !found.is_within(location))
    }

    /// Returns the arguments with samples that make the container valid, and the replaced
    /// candidates: all strings in a format, and at most one other value.
    fn samples_for<'c>(
        &self,
        candidates: &'c [Candidate],
        location: &Location,
        part: &DecodedPart<'_>,
    ) -> Option<(Node, Vec<&'c Candidate>)> {
        let is_valid = |tree: &Node| self.error_at(tree, location, part).is_none();
        let (formatted, others): (Vec<_>, Vec<_>) =
            candidates.iter().partition(|candidate| candidate.format.is_some());
        let mut base = self.tree.clone();
        for candidate in &formatted {
            base = base.with(&candidate.location, candidate.samples.first()?)?;
        }
        if !formatted.is_empty() && is_valid(&base) {
            return self.has_fuel().then_some((base, formatted));
        }
        for candidate in others {
            let trees = candidate
                .samples
                .iter()
                .filter_map(|sample| base.with(&candidate.location, sample));
            if let Some(tree) = trees.filter(|_| self.has_fuel()).find(is_valid) {
                let replaced = formatted.into_iter().chain([candidate]).collect();
                return self.has_fuel().then_some((tree, replaced));
            }
        }
        None
    }

    /// Puts the original values back one by one, and reports those that are rejected.
    fn put_back(
        &mut self,
        base: &Node,
        replaced: &[&Candidate],
        location: &Location,
        part: &DecodedPart<'_>,
    ) -> bool {
        let (mut corrected, mut is_found) = (base.clone(), false);
        for candidate in replaced {
            let original = |tree: &Node| {
                tree.with_node(&candidate.location, candidate.original.clone())
                    .unwrap_or_else(|| tree.clone())
            };
            match self.error_at(&original(base), location, part) {
                None => corrected = original(&corrected),
                Some(error) => {
                    self.report(candidate.location.clone(), candidate.format.clone(), error);
                    is_found = true;
                }
            }
        }
        if is_found {
            self.tree = corrected;
        }
        is_found
    }

    /// Decodes the container with one candidate at a time, and reports those that are rejected.
    /// A valid one leads to the error about another member, which is missing.
    fn isolate(
        &mut self,
        candidates: &[Candidate],
        location: &Location,
        part: &DecodedPart<'_>,
    ) -> bool {
        let decode_with = |candidate: Option<&Candidate>| {
            let remaining = candidate.map(|candidate| &candidate.location);
            let node = isolated(self.tree.at(location)?, location, candidates, remaining);
            let error = self.error_at(&self.tree.with_node(location, node)?, location, part);
            Some(error.filter(|error| !is_incomplete(error)))
        };
        // An untagged enum reports any error in the same words.
        if !matches!(decode_with(None), Some(None)) {
            return false;
        }
        let wrong = |candidate| Some((candidate, decode_with(Some(candidate)).flatten()?));
        let wrong: Vec<_> = candidates.iter().filter_map(wrong).collect();
        let is_found = !wrong.is_empty();
        for (candidate, error) in wrong {
            self.report(candidate.location.clone(), candidate.format.clone(), error);
        }
        if is_found {
            self.skipped.push(location.clone());
        }
        is_found
    }
}

/// Whether an error may be due to what was left out.
fn is_incomplete(error: &Error) -> bool {
    let message = error.to_string();
    message.starts_with("missing field `") || message.starts_with("invalid length ")
}

/// Returns the container with its tags and one candidate, without all else.
fn isolated(
    node: &Node,
    location: &Location,
    candidates: &[Candidate],
    remaining: Option<&Location>,
) -> Node {
    let children = node.children().into_iter().filter_map(|(step, child)| {
        let child_location = location.join(slice::from_ref(&step));
        let is_tag = matches!(child, Node::Scalar(_))
            && !candidates.iter().any(|candidate| candidate.location == child_location);
        let has_candidate = remaining.is_some_and(|scalar| scalar.is_within(&child_location));
        (is_tag || has_candidate)
            .then(|| (step, isolated(child, &child_location, candidates, remaining)))
    });
    node.with_children(children)
}
