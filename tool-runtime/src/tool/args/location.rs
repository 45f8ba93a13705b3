//! Finds the location in valid JSON text at which a type rejected a value.

use serde_json::Value;

use crate::schema::{PathSegment, path, value_at_mut};

/// The location of a value: the open containers from the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueLocation(Vec<ContainerPosition>);

impl ValueLocation {
    pub(super) fn member(name: &str) -> Self {
        Self(vec![ContainerPosition::Object(Some(name.to_owned()))])
    }

    pub(super) fn segments(&self) -> Vec<PathSegment<'_>> {
        self.0.iter().filter_map(ContainerPosition::segment).collect()
    }

    /// Returns the locations of the first strings at or below this location, at most `max`.
    pub(super) fn strings(&self, value: &Value, max: usize) -> Vec<Self> {
        let (mut value, mut strings) = (value.clone(), Vec::new());
        let mut stack = vec![self.clone()];
        while strings.len() < max
            && let Some(location) = stack.pop()
        {
            let child = |segment| Self(location.0.iter().cloned().chain([segment]).collect());
            match value_at_mut(&mut value, &location.segments()) {
                Some(Value::String(_)) => strings.push(location),
                Some(Value::Array(items)) => {
                    stack.extend(
                        (0..items.len()).rev().map(|at| child(ContainerPosition::List(at))),
                    );
                }
                Some(Value::Object(members)) => {
                    let keys = members.keys().rev().cloned();
                    stack.extend(keys.map(|key| child(ContainerPosition::Object(Some(key)))));
                }
                _ => {}
            }
        }
        strings
    }

    /// Returns the location as a path, such as `stops[1].city`.
    pub(super) fn path(&self) -> String {
        path(&self.segments())
    }
}

/// Returns the location, below `root`, of the value at which `text` is first rejected.
///
/// `rejects` decodes a prefix of the text: it returns true if the type rejects it, and false if the
/// prefix is only too short. A binary search finds the shortest rejected prefix, so a failed call
/// is decoded a few times more. A decoder that tracks its path would have to be compiled for every
/// type.
pub(crate) fn locate<'t>(
    root: ValueLocation,
    text: &'t str,
    mut rejects: impl FnMut(&'t str) -> bool,
) -> ValueLocation {
    let tokens: Vec<_> = Tokens { text, at: 0 }.collect();
    let mut is_rejected = |token: &TextToken<'_>| text.get(..token.end).is_some_and(&mut rejects);
    let last = tokens.partition_point(|token| !is_rejected(token));
    let ValueLocation(mut open) = root;
    for (at, token) in tokens.iter().take(last + 1).enumerate() {
        match (token.text, open.last_mut()) {
            // The rejected value may be a container itself.
            ("[" | "{", _) if at == last => {}
            ("[", _) => open.push(ContainerPosition::List(0)),
            ("{", _) => open.push(ContainerPosition::Object(None)),
            ("]" | "}", _) => drop(open.pop()),
            (",", Some(ContainerPosition::List(index))) => *index += 1,
            (",", Some(ContainerPosition::Object(key))) => *key = None,
            (text, Some(ContainerPosition::Object(key @ None))) => {
                *key = Some(serde_json::from_str::<String>(text).unwrap_or_default());
            }
            _ => {}
        }
    }
    ValueLocation(open)
}

/// A container that has started and not ended.
#[derive(Clone, Debug)]
enum ContainerPosition {
    /// The index of the current item.
    List(usize),
    /// The current key, once it is known.
    Object(Option<String>),
}

impl ContainerPosition {
    fn segment(&self) -> Option<PathSegment<'_>> {
        match self {
            Self::List(index) => Some(PathSegment::Index(*index)),
            Self::Object(key) => key.as_deref().map(PathSegment::Key),
        }
    }
}

struct TextToken<'t> {
    text: &'t str,
    end: usize,
}

/// The tokens of valid JSON: strings, brackets, commas, colons, and scalars.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Tokens<'t> {
    type Item = TextToken<'t>;

    fn next(&mut self) -> Option<TextToken<'t>> {
        let rest = self.text.get(self.at..)?.trim_start();
        let start = self.text.len() - rest.len();
        let length = match rest.chars().next()? {
            '"' => string_length(rest),
            '[' | ']' | '{' | '}' | ',' | ':' => 1,
            _ => rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(rest.len()),
        };
        self.at = start + length;
        Some(TextToken { text: rest.get(..length)?, end: self.at })
    }
}

/// Returns the length of a string with both quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let mut bytes = text.bytes().skip(1);
    let content = bytes.position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    content.map_or(text.len(), |content| content + 2)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU8;

    use serde::de::DeserializeOwned;

    use super::{ValueLocation, locate};

    fn path_in<T: DeserializeOwned>(text: &str) -> String {
        let rejects = |text| serde_json::from_str::<T>(text).is_err_and(|error| error.is_data());
        locate(ValueLocation::default(), text, rejects).path()
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
