//! A view of the value that has arrived so far.

use serde_json::{Map, Number, Value};

use super::parser::{IncrementalParser, OpenContainer, OpenScalar};

/// A view of a value, or of a part of one, that may still grow.
///
/// The view borrows from the [`Partial`](super::Partial) without copying. A part is **growing**
/// while it can still change: the last member or item that has begun, and everything that contains
/// it. Every other part is complete.
///
/// ```
/// use tool_json::Partial;
///
/// let mut partial = Partial::new();
/// partial.push(r#"{"title": "Fjords", "stops": [{"city": "Oslo"}, {"city": "Ber"#);
///
/// let so_far = partial.value().unwrap();
/// let complete: Vec<_> =
///     so_far.members().map(|(key, part)| (key, part.is_complete())).collect();
/// assert_eq!(complete, [("title", true), ("stops", false)]);
///
/// let stops = so_far.get("stops").unwrap();
/// let cities: Vec<_> = stops.items().filter_map(|stop| stop.get("city")?.as_str()).collect();
/// assert_eq!(cities, ["Oslo", "Ber"]);
/// ```
#[derive(Clone, Debug)]
pub struct PartialValue<'p>(Repr<'p>);

/// The representation of a partial value.
#[derive(Clone, Debug)]
enum Repr<'p> {
    Complete(&'p Value),
    /// The open container at this depth.
    Container(&'p IncrementalParser, usize),
    String(&'p str),
    Number(Number),
}

/// A key and the view of its value.
type PartialMember<'p> = (&'p str, PartialValue<'p>);

impl<'p> PartialValue<'p> {
    pub(super) fn of(parser: &'p IncrementalParser) -> Option<Self> {
        match &parser.complete {
            Some(value) => Some(Self(Repr::Complete(value))),
            None => (!parser.open.is_empty()).then_some(Self(Repr::Container(parser, 0))),
        }
    }

    /// The growing part inside the container at `depth`.
    fn growing_in(parser: &'p IncrementalParser, depth: usize) -> Option<Self> {
        if depth + 1 < parser.open.len() {
            return Some(Self(Repr::Container(parser, depth + 1)));
        }
        match parser.scalar.as_ref()? {
            OpenScalar::String(text) => Some(Self(Repr::String(text.content()))),
            OpenScalar::Number(digits) => {
                digits.longest_number().map(|number| Self(Repr::Number(number)))
            }
        }
    }

    /// Returns whether the value has arrived completely.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push("[12");
    /// // It may be 123.
    /// assert!(!partial.value().unwrap().item(0).unwrap().is_complete());
    /// partial.push(",");
    /// assert!(partial.value().unwrap().item(0).unwrap().is_complete());
    /// ```
    pub const fn is_complete(&self) -> bool {
        matches!(self.0, Repr::Complete(_))
    }

    /// Returns the value, if it has arrived completely.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"size": [1, 2], "name": "a"#);
    /// let so_far = partial.value().unwrap();
    /// assert_eq!(so_far.get("size").unwrap().as_complete(), Some(&serde_json::json!([1, 2])));
    /// assert_eq!(so_far.get("name").unwrap().as_complete(), None);
    /// ```
    pub const fn as_complete(&self) -> Option<&'p Value> {
        match self.0 {
            Repr::Complete(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the received part of the string, if the value is a string.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"code": "fn main() {\n"#);
    /// assert_eq!(partial.value().unwrap().get("code").unwrap().as_str(), Some("fn main() {\n"));
    /// ```
    pub fn as_str(&self) -> Option<&'p str> {
        match self.0 {
            Repr::Complete(value) => value.as_str(),
            Repr::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a member of the object, if its value has begun.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"a": {"b": 1}, "c":"#);
    /// let so_far = partial.value().unwrap();
    /// assert_eq!(so_far.get("a").unwrap().get("b").unwrap().to_value(), 1);
    /// assert!(so_far.get("c").is_none());
    /// ```
    pub fn get(&self, key: &str) -> Option<Self> {
        match self.0 {
            Repr::Complete(value) => value.get(key).map(|value| Self(Repr::Complete(value))),
            Repr::Container(parser, depth) => {
                let OpenContainer::Object { members, key: growing } = parser.open.get(depth)?
                else {
                    return None;
                };
                let growing = growing.as_ref().filter(|growing| *growing == key);
                let part = growing.and_then(|_| Self::growing_in(parser, depth));
                part.or_else(|| members.get(key).map(|value| Self(Repr::Complete(value))))
            }
            _ => None,
        }
    }

    /// Returns an item of the array, if it has begun.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"["a", "b"#);
    /// let so_far = partial.value().unwrap();
    /// assert_eq!(so_far.item(1).unwrap().as_str(), Some("b"));
    /// assert!(so_far.item(2).is_none());
    /// ```
    pub fn item(&self, index: usize) -> Option<Self> {
        let (complete, growing) = self.array_parts();
        match complete.get(index) {
            Some(value) => Some(Self(Repr::Complete(value))),
            None => growing.filter(|_| index == complete.len()),
        }
    }

    /// Returns the items of the array in order, the growing one last; empty for other types.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push("[true, [], [1");
    /// let items = partial.value().unwrap();
    /// let complete: Vec<_> = items.items().map(|item| item.is_complete()).collect();
    /// assert_eq!(complete, [true, true, false]);
    /// ```
    pub fn items(&self) -> impl Iterator<Item = Self> + use<'p> {
        let (complete, growing) = self.array_parts();
        complete.iter().map(|value| Self(Repr::Complete(value))).chain(growing)
    }

    fn array_parts(&self) -> (&'p [Value], Option<Self>) {
        match self.0 {
            Repr::Complete(Value::Array(items)) => (items, None),
            Repr::Container(parser, depth) => match parser.open.get(depth) {
                Some(OpenContainer::Array(items)) => (items, Self::growing_in(parser, depth)),
                _ => (&[], None),
            },
            _ => (&[], None),
        }
    }

    /// Returns the members of the object, the growing one last; empty for other types.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"a": 1, "b": nul"#);
    /// let keys: Vec<_> = partial.value().unwrap().members().map(|(key, _)| key).collect();
    /// assert_eq!(keys, ["a"]);
    /// ```
    pub fn members(&self) -> impl Iterator<Item = (&'p str, Self)> + use<'p> {
        let (complete, growing) = self.object_parts();
        let growing_key = growing.as_ref().map(|(key, _)| *key);
        complete
            .into_iter()
            .flatten()
            .filter(move |(key, _)| Some(key.as_str()) != growing_key)
            .map(|(key, value)| (key.as_str(), Self(Repr::Complete(value))))
            .chain(growing)
    }

    fn object_parts(&self) -> (Option<&'p Map<String, Value>>, Option<PartialMember<'p>>) {
        match self.0 {
            Repr::Complete(Value::Object(members)) => (Some(members), None),
            Repr::Container(parser, depth) => match parser.open.get(depth) {
                Some(OpenContainer::Object { members, key }) => {
                    let part = || Self::growing_in(parser, depth);
                    (Some(members), key.as_deref().and_then(|key| Some((key, part()?))))
                }
                _ => (None, None),
            },
            _ => (None, None),
        }
    }

    /// Copies the value so far into a [`Value`].
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"a": [1, 2."#);
    /// assert_eq!(partial.value().unwrap().to_value().to_string(), r#"{"a":[1,2]}"#);
    /// ```
    pub fn to_value(&self) -> Value {
        match &self.0 {
            Repr::Complete(value) => Value::clone(value),
            Repr::String(text) => Value::String((*text).to_owned()),
            Repr::Number(number) => Value::Number(number.clone()),
            // The parser limits the depth, so recursion is bounded.
            Repr::Container(parser, depth) => match parser.open.get(*depth) {
                Some(OpenContainer::Array(_)) => self.items().map(|item| item.to_value()).collect(),
                _ => {
                    let pair = |(key, part): (&str, Self)| (key.to_owned(), part.to_value());
                    Value::Object(self.members().map(pair).collect())
                }
            },
        }
    }
}
