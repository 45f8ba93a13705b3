//! One page of a list, decoded item by item within the limits of the list.
//!
//! A page of 14 MB can hold 200,000 tools, or a few whose values take a hundred times the memory of
//! their text. What is beyond a limit is skipped without being decoded, and so is what is nested
//! too deeply: the items before and behind it are kept.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The number of levels of an item. The decoder stops at 128, of which the message takes some.
const MAX_DEPTH: usize = 100;

/// The memory that an object takes, whatever is in it.
const OBJECT_BYTES: usize = 640;

/// The memory that a value takes in the object or array around it.
const VALUE_BYTES: usize = 64;

/// Limits for decoding a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLimits {
    /// The member of the result that has the items.
    pub(crate) member: &'static str,
    pub(crate) max_items: usize,
    /// The maximum memory of all items, by estimate.
    pub(crate) max_bytes: usize,
}

/// The items of a page, and how they were limited.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// `None` if the result has no list of this kind.
    pub(crate) items: Option<Vec<PageItem>>,
    pub(crate) next_cursor: Option<String>,
    pub(crate) ttl_ms: Option<u64>,
    /// Whether items were left out because of a limit.
    pub(crate) is_truncated: bool,
    /// The memory of the items, by estimate.
    pub(crate) bytes: usize,
}

/// An item of a page.
#[derive(Debug)]
pub(crate) struct PageItem {
    /// The item. If it is nested too deeply, without the values that are.
    pub(crate) value: Value,
    pub(crate) is_too_deep: bool,
}

impl Page {
    /// Decodes a response.
    ///
    /// # Errors
    /// The text is not JSON.
    pub(crate) fn decode(text: &[u8], limits: PageLimits) -> serde_json::Result<Self> {
        let mut decoder = serde_json::Deserializer::from_slice(text);
        let page = Response(limits).deserialize(&mut decoder)?;
        decoder.end()?;
        Ok(page)
    }
}

/// Reads the result of a response.
struct Response(PageLimits);

impl<'de> DeserializeSeed<'de> for Response {
    type Value = Page;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Page, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Response {
    type Value = Page;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a response")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Page, A::Error> {
        let mut page = Page::default();
        while let Some(name) = members.next_key::<String>()? {
            if name == "result" {
                page = members.next_value_seed(PageResult(self.0))?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(page)
    }
}

/// Reads the members of a result.
struct PageResult(PageLimits);

impl<'de> DeserializeSeed<'de> for PageResult {
    type Value = Page;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Page, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PageResult {
    type Value = Page;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the result of a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Page, A::Error> {
        let limits = self.0;
        let mut page = Page::default();
        // The cursor and the time are short, so what is large there is no cursor and no time.
        let other_budget = Budget::new(1 << 20);
        while let Some(name) = members.next_key::<String>()? {
            if name == limits.member {
                let budget = Budget::new(limits.max_bytes);
                let (items, is_truncated) =
                    members.next_value_seed(Items { budget: &budget, max: limits.max_items })?;
                page.items = items;
                page.is_truncated = is_truncated;
                page.bytes = limits.max_bytes.saturating_sub(budget.left.get());
                continue;
            }
            let value = members.next_value_seed(Bounded { budget: &other_budget, depth: 0 })?;
            match (name.as_str(), value) {
                ("nextCursor", Value::String(cursor)) => page.next_cursor = Some(cursor),
                ("ttlMs", value) => page.ttl_ms = value.as_u64(),
                _ => {}
            }
        }
        Ok(page)
    }
}

/// Reads the items up to a number and a size, and whether there are more. What is no array has no
/// items.
struct Items<'b> {
    budget: &'b Budget,
    max: usize,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = (Option<Vec<PageItem>>, bool);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = (Option<Vec<PageItem>>, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < self.max {
            self.budget.is_too_deep.set(false);
            let seed = Bounded { budget: self.budget, depth: 0 };
            let Some(value) = values.next_element_seed(seed)? else {
                return Ok((Some(items), false));
            };
            if self.budget.is_exceeded.get() {
                break;
            }
            items.push(PageItem { value, is_too_deep: self.budget.is_too_deep.get() });
        }
        let mut is_truncated = self.budget.is_exceeded.get();
        while values.next_element::<IgnoredAny>()?.is_some() {
            is_truncated = true;
        }
        Ok((Some(items), is_truncated))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok((None, false))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok((None, false))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok((None, false))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok((None, false))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok((None, false))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok((None, false))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok((None, false))
    }
}

/// The memory that is left, and what was skipped.
struct Budget {
    left: Cell<usize>,
    is_exceeded: Cell<bool>,
    is_too_deep: Cell<bool>,
}

impl Budget {
    fn new(bytes: usize) -> Self {
        Self { left: Cell::new(bytes), is_exceeded: Cell::default(), is_too_deep: Cell::default() }
    }

    /// Takes memory. Returns whether there was enough.
    fn take(&self, bytes: usize) -> bool {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => {
                self.is_exceeded.set(true);
                false
            }
        }
    }
}

/// Reads a value. What exceeds the budget, or is nested too deeply, is skipped and becomes null.
struct Bounded<'b> {
    budget: &'b Budget,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let is_too_deep = self.depth >= MAX_DEPTH;
        if is_too_deep {
            self.budget.is_too_deep.set(true);
        }
        if is_too_deep || self.budget.is_exceeded.get() || !self.budget.take(VALUE_BYTES) {
            // Skips without recursion.
            deserializer.deserialize_ignored_any(IgnoredAny)?;
            return Ok(Value::Null);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(if self.budget.take(text.len()) { text.into() } else { Value::Null })
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            if self.budget.is_exceeded.get() {
                while values.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(Value::Null);
            }
            let seed = Bounded { budget: self.budget, depth: self.depth + 1 };
            match values.next_element_seed(seed)? {
                Some(item) => items.push(item),
                None => return Ok(items.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        self.budget.take(OBJECT_BYTES);
        loop {
            if self.budget.is_exceeded.get() {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(Value::Null);
            }
            let Some(name) = members.next_key::<String>()? else { return Ok(object.into()) };
            self.budget.take(name.len());
            let seed = Bounded { budget: self.budget, depth: self.depth + 1 };
            let value = members.next_value_seed(seed)?;
            object.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMITS: PageLimits = PageLimits { member: "tools", max_items: 3, max_bytes: 100_000 };

    fn decode(result: &str, limits: PageLimits) -> Page {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}");
        Page::decode(text.as_bytes(), limits).unwrap()
    }

    fn values(page: Page) -> Vec<Value> {
        page.items.unwrap().into_iter().map(|item| item.value).collect()
    }

    #[test]
    fn values_are_those_of_serde_json() {
        let item = json!({
            "a": [1, -2, 3.5, 1e300, true, null, "x\n\u{1f600}"], "b": { "c": {}, "d": [] },
        });
        let page =
            decode(&json!({ "tools": [item], "nextCursor": "c", "ttlMs": 5 }).to_string(), LIMITS);
        assert_eq!((page.next_cursor.as_deref(), page.ttl_ms), (Some("c"), Some(5)));
        assert!(!page.is_truncated);
        assert_eq!(values(page), [item]);
    }

    #[test]
    fn items_beyond_the_number_are_skipped() {
        let page = decode(r#"{"tools":[1,2,3,4,{"a":[5]}],"nextCursor":"c"}"#, LIMITS);
        assert!(page.is_truncated);
        assert_eq!(page.next_cursor.as_deref(), Some("c"));
        assert_eq!(values(page), [1, 2, 3]);
        assert!(!decode(r#"{"tools":[1,2,3]}"#, LIMITS).is_truncated);
    }

    #[test]
    fn values_that_take_much_more_memory_than_their_text_end_the_list() {
        let array = |text: &str| format!("[{}{text}]", format!("{text},").repeat(5_000));
        for big in [
            array("{}"),
            array("{\"a\":1}"),
            array("[]"),
            array("0"),
            array("\"\""),
            format!("{{{}\"z\":0}}", (0..5_000).map(|n| format!("\"{n}\":0,")).collect::<String>()),
            format!("\"{}\"", "x".repeat(200_000)),
        ] {
            let page = decode(&format!("{{\"tools\":[1,{big},3],\"ttlMs\":1}}"), LIMITS);
            assert!(page.is_truncated && page.bytes <= LIMITS.max_bytes, "{page:?}");
            assert_eq!(page.ttl_ms, Some(1));
            assert_eq!(values(page), [1], "{:?}", big.get(..20));
        }
    }

    #[test]
    fn item_that_is_nested_too_deeply_leaves_the_others() {
        for depth in [MAX_DEPTH + 1, 1_000, 100_000] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                let text = format!("{{\"tools\":[1,{{\"name\":\"deep\",\"s\":{deep}}},3]}}");
                let page = decode(&text, PageLimits { max_bytes: 1 << 20, ..LIMITS });
                let items = page.items.unwrap();
                let found: Vec<_> = items.iter().map(|item| item.is_too_deep).collect();
                assert_eq!(found, [false, true, false], "{depth}");
                assert_eq!(items[1].value["name"], "deep");
            }
        }
    }

    #[test]
    fn member_that_is_no_list_has_no_items() {
        for result in [r#"{"tools":{"a":1}}"#, r#"{"tools":7}"#, r#"{"tools":null}"#, "{}"] {
            assert!(decode(result, LIMITS).items.is_none(), "{result}");
        }
    }
}
