//! A view of what has arrived.

use serde_json::{Map, Number, Value};

use super::reader::{Open, Reader, Scalar};

/// A value of which more may arrive, or a part of one. It borrows from the
/// [`Partial`](super::Partial), and costs nothing to get.
///
/// What can still change is **growing**: the last member or item that has begun, and all that it
/// stands in. Everything else is complete.
///
/// ```
/// use tool_runtime::json::Partial;
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
pub struct SoFar<'p>(Part<'p>);

#[derive(Clone, Debug)]
enum Part<'p> {
    Whole(&'p Value),
    /// What is open at this depth.
    Open(&'p Reader, usize),
    Text(&'p str),
    Number(Number),
}

/// A member: its key, and what there is of its value.
type Named<'p> = (&'p str, SoFar<'p>);

impl<'p> SoFar<'p> {
    pub(super) fn of(reader: &'p Reader) -> Option<Self> {
        match &reader.whole {
            Some(value) => Some(Self(Part::Whole(value))),
            None => (!reader.open.is_empty()).then_some(Self(Part::Open(reader, 0))),
        }
    }

    /// What is growing inside the container at `depth`.
    fn within(reader: &'p Reader, depth: usize) -> Option<Self> {
        if depth + 1 < reader.open.len() {
            return Some(Self(Part::Open(reader, depth + 1)));
        }
        match reader.scalar.as_ref()? {
            Scalar::Text(text) => Some(Self(Part::Text(text.content()))),
            Scalar::Number(digits) => digits.so_far().map(|number| Self(Part::Number(number))),
        }
    }

    /// Whether all of it has arrived.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push("[12");
    /// // It may be 123.
    /// assert!(!partial.value().unwrap().item(0).unwrap().is_complete());
    /// partial.push(",");
    /// assert!(partial.value().unwrap().item(0).unwrap().is_complete());
    /// ```
    pub const fn is_complete(&self) -> bool {
        matches!(self.0, Part::Whole(_))
    }

    /// The value, once all of it has arrived.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"size": [1, 2], "name": "a"#);
    /// let so_far = partial.value().unwrap();
    /// assert_eq!(so_far.get("size").unwrap().as_complete(), Some(&serde_json::json!([1, 2])));
    /// assert_eq!(so_far.get("name").unwrap().as_complete(), None);
    /// ```
    pub const fn as_complete(&self) -> Option<&'p Value> {
        match self.0 {
            Part::Whole(value) => Some(value),
            _ => None,
        }
    }

    /// The text, if it is one, as far as it has arrived.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"code": "fn main() {\n"#);
    /// assert_eq!(partial.value().unwrap().get("code").unwrap().as_str(), Some("fn main() {\n"));
    /// ```
    pub fn as_str(&self) -> Option<&'p str> {
        match self.0 {
            Part::Whole(value) => value.as_str(),
            Part::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A member of the object, if its value has begun.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"a": {"b": 1}, "c":"#);
    /// let so_far = partial.value().unwrap();
    /// assert_eq!(so_far.get("a").unwrap().get("b").unwrap().to_value(), 1);
    /// assert!(so_far.get("c").is_none());
    /// ```
    pub fn get(&self, key: &str) -> Option<Self> {
        match self.0 {
            Part::Whole(value) => value.get(key).map(|value| Self(Part::Whole(value))),
            Part::Open(reader, depth) => {
                let Open::Object { members, key: growing } = reader.open.get(depth)? else {
                    return None;
                };
                let growing = growing.as_ref().filter(|growing| *growing == key);
                let part = growing.and_then(|_| Self::within(reader, depth));
                part.or_else(|| members.get(key).map(|value| Self(Part::Whole(value))))
            }
            _ => None,
        }
    }

    /// An item of the list, if it has begun.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"["a", "b"#);
    /// let so_far = partial.value().unwrap();
    /// assert_eq!(so_far.item(1).unwrap().as_str(), Some("b"));
    /// assert!(so_far.item(2).is_none());
    /// ```
    pub fn item(&self, index: usize) -> Option<Self> {
        let (whole, growing) = self.list();
        match whole.get(index) {
            Some(value) => Some(Self(Part::Whole(value))),
            None => growing.filter(|_| index == whole.len()),
        }
    }

    /// The items of the list in order, the growing one last; none of anything else.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push("[true, [], [1");
    /// let items = partial.value().unwrap();
    /// let complete: Vec<_> = items.items().map(|item| item.is_complete()).collect();
    /// assert_eq!(complete, [true, true, false]);
    /// ```
    pub fn items(&self) -> impl Iterator<Item = Self> + use<'p> {
        let (whole, growing) = self.list();
        whole.iter().map(|value| Self(Part::Whole(value))).chain(growing)
    }

    fn list(&self) -> (&'p [Value], Option<Self>) {
        match self.0 {
            Part::Whole(Value::Array(items)) => (items, None),
            Part::Open(reader, depth) => match reader.open.get(depth) {
                Some(Open::List(items)) => (items, Self::within(reader, depth)),
                _ => (&[], None),
            },
            _ => (&[], None),
        }
    }

    /// The members of the object, the growing one last; none of anything else.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"a": 1, "b": nul"#);
    /// let keys: Vec<_> = partial.value().unwrap().members().map(|(key, _)| key).collect();
    /// assert_eq!(keys, ["a"]);
    /// ```
    pub fn members(&self) -> impl Iterator<Item = (&'p str, Self)> + use<'p> {
        let (whole, growing) = self.object();
        let again = growing.as_ref().map(|(key, _)| *key);
        whole
            .into_iter()
            .flatten()
            .filter(move |(key, _)| Some(key.as_str()) != again)
            .map(|(key, value)| (key.as_str(), Self(Part::Whole(value))))
            .chain(growing)
    }

    fn object(&self) -> (Option<&'p Map<String, Value>>, Option<Named<'p>>) {
        match self.0 {
            Part::Whole(Value::Object(members)) => (Some(members), None),
            Part::Open(reader, depth) => match reader.open.get(depth) {
                Some(Open::Object { members, key }) => {
                    let part = || Self::within(reader, depth);
                    (Some(members), key.as_deref().and_then(|key| Some((key, part()?))))
                }
                _ => (None, None),
            },
            _ => (None, None),
        }
    }

    /// A copy of it as a value of its own.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push(r#"{"a": [1, 2."#);
    /// assert_eq!(partial.value().unwrap().to_value().to_string(), r#"{"a":[1,2]}"#);
    /// ```
    pub fn to_value(&self) -> Value {
        match &self.0 {
            Part::Whole(value) => Value::clone(value),
            Part::Text(text) => Value::String((*text).to_owned()),
            Part::Number(number) => Value::Number(number.clone()),
            // As deep as the reader goes.
            Part::Open(reader, depth) => match reader.open.get(*depth) {
                Some(Open::List(_)) => self.items().map(|item| item.to_value()).collect(),
                _ => {
                    let pair = |(key, part): (&str, Self)| (key.to_owned(), part.to_value());
                    Value::Object(self.members().map(pair).collect())
                }
            },
        }
    }
}
