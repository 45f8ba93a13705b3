//! Finds the location in valid JSON text at which a type rejected a value.

use super::tokens::Tokens;
use crate::schema::{PathSegment, path};

/// A step from a container to a value in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// The location of a value: the steps from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Location(Vec<Step>);

impl Location {
    pub(super) fn member(name: &str) -> Self {
        Self(vec![Step::Key(name.to_owned())])
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Returns the location of a value within this one.
    pub(super) fn join(&self, steps: &[Step]) -> Self {
        Self(self.0.iter().chain(steps).cloned().collect())
    }

    /// Returns the location without its last step.
    pub(super) fn parent(&self) -> Option<Self> {
        self.0.split_last().map(|(_, parent)| Self(parent.to_vec()))
    }

    /// Whether the location is `outer` or within it.
    pub(super) fn is_within(&self, outer: &Self) -> bool {
        self.0.starts_with(&outer.0)
    }

    /// Whether one of two locations is within the other.
    pub(super) fn is_related(&self, other: &Self) -> bool {
        self.is_within(other) || other.is_within(self)
    }

    pub(super) fn segments(&self) -> Vec<PathSegment<'_>> {
        let segments = self.0.iter().map(|step| match step {
            Step::Key(key) => PathSegment::Key(key),
            Step::Index(index) => PathSegment::Index(*index),
        });
        segments.collect()
    }

    /// Returns the location as a path, such as `stops[1].city`.
    pub(super) fn path(&self) -> String {
        path(&self.segments())
    }
}

impl From<&[PathSegment<'_>]> for Location {
    fn from(segments: &[PathSegment<'_>]) -> Self {
        let step = |segment: &PathSegment<'_>| match segment {
            PathSegment::Key(key) => Step::Key((*key).to_owned()),
            PathSegment::Index(index) => Step::Index(*index),
        };
        Self(segments.iter().map(step).collect())
    }
}

/// Returns the steps to the value at which `text` is first rejected.
///
/// `rejects` decodes a prefix of the text: it returns true if the type rejects it, and false if the
/// prefix is only too short. A binary search finds the shortest rejected prefix, so a failed call
/// is decoded a few times more. A decoder that tracks its path would have to be compiled for every
/// type.
pub(super) fn locate<'t>(text: &'t str, mut rejects: impl FnMut(&'t str) -> bool) -> Vec<Step> {
    let tokens: Vec<_> = Tokens::new(text).collect();
    let last = tokens.partition_point(|token| !text.get(..token.end).is_some_and(&mut rejects));
    let mut open: Vec<Open> = Vec::new();
    for (at, token) in tokens.iter().take(last + 1).enumerate() {
        match (token.text, open.last_mut()) {
            // The rejected value may be a container itself.
            ("[" | "{", _) if at == last => {}
            ("[", _) => open.push(Open::List(0)),
            ("{", _) => open.push(Open::Object(None)),
            ("]" | "}", _) => drop(open.pop()),
            (",", Some(Open::List(index))) => *index += 1,
            (",", Some(Open::Object(key))) => *key = None,
            (text, Some(Open::Object(key @ None))) => {
                *key = Some(serde_json::from_str::<String>(text).unwrap_or_default());
            }
            _ => {}
        }
    }
    let steps = open.into_iter().filter_map(|open| match open {
        Open::List(index) => Some(Step::Index(index)),
        Open::Object(key) => key.map(Step::Key),
    });
    steps.collect()
}

/// A container that has started and not ended.
enum Open {
    /// The index of the current item.
    List(usize),
    /// The current key, once it is known.
    Object(Option<String>),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU8;

    use serde::de::DeserializeOwned;

    use super::{Location, locate};

    fn path_in<T: DeserializeOwned>(text: &str) -> String {
        let rejects = |text| serde_json::from_str::<T>(text).is_err_and(|error| error.is_data());
        Location::default().join(&locate(text, rejects)).path()
    }

    #[test]
    fn rejected_value_is_located() {
        type Lists = BTreeMap<String, Vec<u8>>;
        type Deep = Vec<BTreeMap<String, Vec<(NonZeroU8, bool)>>>;
        type Numbers = BTreeMap<u8, u8>;
        assert_eq!(path_in::<u8>("\"a\""), "");
        assert_eq!(path_in::<Lists>("[]"), "");
        assert_eq!(path_in::<Lists>("{\"a\": [1], \"b\": 2}"), "b");
        assert_eq!(path_in::<Lists>("{\"a\": [1],\n \"b\":\n [1, 2, 300]}"), "b[2]");
        assert_eq!(path_in::<Lists>(r#"{"a\"]": [1, [2], 3]}"#), r#"["a\"]"][1]"#);
        assert_eq!(path_in::<Lists>(r#"{"é\\": [1, {"x": []}]}"#), r#"["é\\"][1]"#);
        assert_eq!(path_in::<Deep>(r#"[{}, {"a": [[1, true], [2, 3]]}]"#), "[1].a[1][1]");
        assert_eq!(path_in::<Deep>(r#"[{}, {"a": [[1, true], [2]]}]"#), "[1].a[1]");
        assert_eq!(path_in::<Deep>(r#"[{}, {"a": [[10, true], [0, true]]}]"#), "[1].a[1][0]");
        assert_eq!(path_in::<Numbers>(r#"{"1": 1, "300": 1}"#), r#"["300"]"#);
    }
}
