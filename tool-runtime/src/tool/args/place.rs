//! Where in sound JSON text a type refused what it was given.

use serde_json::Value;

use crate::schema::{PathSegment, path, value_at_mut};

/// The way to a value from the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(Vec<Open>);

impl Place {
    pub(super) fn member(name: &str) -> Self {
        Self(vec![Open::Object(Some(name.to_owned()))])
    }

    pub(super) fn steps(&self) -> Vec<PathSegment<'_>> {
        self.0.iter().filter_map(Open::step).collect()
    }

    /// The first texts within it, so many at most.
    pub(super) fn texts(&self, value: &Value, most: usize) -> Vec<Self> {
        let (mut value, mut texts) = (value.clone(), Vec::new());
        let mut waiting = vec![self.clone()];
        while texts.len() < most
            && let Some(place) = waiting.pop()
        {
            let within = |step| Self(place.0.iter().cloned().chain([step]).collect());
            match value_at_mut(&mut value, &place.steps()) {
                Some(Value::String(_)) => texts.push(place),
                Some(Value::Array(items)) => {
                    waiting.extend((0..items.len()).rev().map(|at| within(Open::List(at))));
                }
                Some(Value::Object(members)) => {
                    let keys = members.keys().rev().cloned();
                    waiting.extend(keys.map(|key| within(Open::Object(Some(key)))));
                }
                _ => {}
            }
        }
        texts
    }

    /// As it is told, such as `stops[1].city`.
    pub(super) fn path(&self) -> String {
        path(&self.steps())
    }
}

/// The place, behind those `above`, of the value at which `text` is first refused. `refuses` tells whether a
/// beginning of the text is refused, rather than too short.
///
/// Reading beginnings until the shortest is found costs a failed call a few readings more. A
/// decoder that keeps its place instead would be compiled for each type that is ever decoded.
pub(crate) fn place<'t>(
    above: Place,
    text: &'t str,
    mut refuses: impl FnMut(&'t str) -> bool,
) -> Place {
    let tokens: Vec<_> = Tokens { text, at: 0 }.collect();
    let mut refused = |token: &Token<'_>| text.get(..token.end).is_some_and(&mut refuses);
    let last = tokens.partition_point(|token| !refused(token));
    let Place(mut open) = above;
    for (at, token) in tokens.iter().take(last + 1).enumerate() {
        match (token.text, open.last_mut()) {
            // What the last one opens isn't entered.
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
    Place(open)
}

/// What has begun and not ended.
#[derive(Clone, Debug)]
enum Open {
    /// The items before this one.
    List(usize),
    /// The key, once it has come.
    Object(Option<String>),
}

impl Open {
    fn step(&self) -> Option<PathSegment<'_>> {
        match self {
            Self::List(index) => Some(PathSegment::Index(*index)),
            Self::Object(key) => key.as_deref().map(PathSegment::Key),
        }
    }
}

struct Token<'t> {
    text: &'t str,
    end: usize,
}

/// Strings, brackets, commas, colons, and what stands between them.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let rest = self.text.get(self.at..)?.trim_start();
        let start = self.text.len() - rest.len();
        let length = match rest.chars().next()? {
            '"' => string_length(rest),
            '[' | ']' | '{' | '}' | ',' | ':' => 1,
            _ => rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(rest.len()),
        };
        self.at = start + length;
        Some(Token { text: rest.get(..length)?, end: self.at })
    }
}

/// With both quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let mut letters = text.bytes().skip(1);
    let inside = letters.position(|letter| {
        let closes = letter == b'"' && !is_escaped;
        is_escaped = letter == b'\\' && !is_escaped;
        closes
    });
    inside.map_or(text.len(), |inside| inside + 2)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU8;

    use serde::de::DeserializeOwned;

    use super::{Place, place};

    fn place_in<T: DeserializeOwned>(text: &str) -> String {
        let refuses = |text| serde_json::from_str::<T>(text).is_err_and(|error| error.is_data());
        place(Place::default(), text, refuses).path()
    }

    #[test]
    fn what_was_refused_is_found() {
        type Lists = BTreeMap<String, Vec<u8>>;
        type Deep = Vec<BTreeMap<String, Vec<(NonZeroU8, bool)>>>;
        type Numbers = BTreeMap<u8, u8>;
        assert_eq!(place_in::<u8>("\"a\""), "");
        assert_eq!(place_in::<Lists>("[]"), "");
        assert_eq!(place_in::<Lists>("{\"a\": [1], \"b\": 2}"), "b");
        assert_eq!(place_in::<Lists>("{\"a\": [1],\n \"b\":\n [1, 2, 300]}"), "b[2]");
        assert_eq!(place_in::<Lists>(r#"{"a\"]": [1, [2], 3]}"#), r#"["a\"]"][1]"#);
        assert_eq!(place_in::<Lists>(r#"{"é\\": [1, {"x": []}]}"#), r#"["é\\"][1]"#);
        assert_eq!(place_in::<Deep>(r#"[{}, {"a": [[1, true], [2, 3]]}]"#), "[1].a[1][1]");
        assert_eq!(place_in::<Deep>(r#"[{}, {"a": [[1, true], [2]]}]"#), "[1].a[1]");
        assert_eq!(place_in::<Deep>(r#"[{}, {"a": [[10, true], [0, true]]}]"#), "[1].a[1][0]");
        assert_eq!(place_in::<Numbers>(r#"{"1": 1, "300": 1}"#), r#"["300"]"#);
    }
}
