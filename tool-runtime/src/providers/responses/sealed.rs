//! Items and what our types hold of them.
//!
//! A reply is a list of items. Of a message we hold the text and of a call its name and arguments;
//! reasoning, and what the provider's own tools did, is kept sealed, as it came. OpenAI ties an item to
//! the reasoning before it by their ids and refuses either alone. So right behind what is sealed stands
//! the *rest* of the item that it led to: the item without what our types hold of it.

use std::collections::HashSet;
use std::mem;

use serde_json::{Map, Value, json};

use crate::message::Reasoning;

pub(super) type Item = Map<String, Value>;

/// What our types hold of a message and of a call.
const HELD_OF_MESSAGE: [&str; 2] = ["content", "role"];
const HELD_OF_CALL: [&str; 3] = ["arguments", "call_id", "name"];

pub(super) fn text_of<'i>(item: &'i Item, member: &str) -> Option<&'i str> {
    item.get(member).and_then(Value::as_str)
}

pub(super) fn kind_of(item: &Item) -> &str {
    text_of(item, "type").unwrap_or_default()
}

/// What our types don't hold of an item; nothing where none of it has to go back. An id has to behind
/// something that is sealed, and what else a server tells of an item always.
pub(super) fn rest(item: &Item, is_behind_sealed: bool) -> Option<Item> {
    let held: &[&str] = match kind_of(item) {
        "message" => &HELD_OF_MESSAGE,
        _ => &HELD_OF_CALL,
    };
    let mut rest = item.clone();
    rest.retain(|name, value| !held.contains(&name.as_str()) && !value.is_null());
    let is_more = |name: &String| !["type", "id", "status"].contains(&name.as_str());
    (is_behind_sealed || rest.keys().any(is_more)).then_some(rest)
}

fn is_rest(item: &Item) -> bool {
    match kind_of(item) {
        "message" => !item.contains_key("content"),
        "function_call" => !item.contains_key("call_id"),
        _ => false,
    }
}

/// Puts the items of a conversation together for a provider.
///
/// What is sealed is sent with the item that it led to, or not at all.
pub(super) struct Items<'p> {
    provider: &'p str,
    /// Whether the provider finds again what it once said.
    is_stored: bool,
    items: Vec<Value>,
    /// The ids of these: each may be there once.
    ids: HashSet<String>,
    /// What is sealed and waits for the item that it led to.
    sealed: Vec<Item>,
    /// The rest of that item.
    rest: Option<Item>,
}

impl<'p> Items<'p> {
    pub(super) fn new(provider: &'p str, is_stored: bool) -> Self {
        let (items, ids, sealed) = (Vec::new(), HashSet::new(), Vec::new());
        Self { provider, is_stored, items, ids, sealed, rest: None }
    }

    /// Takes what no model said.
    pub(super) fn hear(&mut self, item: Item) {
        self.items.push(item.into());
    }

    /// Takes what was sealed.
    pub(super) fn think(&mut self, thought: &Reasoning) {
        let Value::Object(item) = &thought.sealed else { return };
        if thought.provider != self.provider {
            return;
        }
        // The item that all this led to is gone.
        if self.rest.take().is_some() {
            self.sealed.clear();
        }
        match is_rest(item) {
            true => self.rest = Some(item.clone()),
            false => self.sealed.push(item.clone()),
        }
    }

    /// Takes what a model said and our types hold.
    pub(super) fn say(&mut self, mut item: Item) {
        let rest = self.rest.take().unwrap_or_default();
        let fits = rest.is_empty() || kind_of(&rest) == kind_of(&item);
        let sealed = mem::take(&mut self.sealed);
        let is_tied = fits
            && !sealed.is_empty()
            && self.can_be_read(&sealed)
            && self.are_new(sealed.iter().chain([&rest]));
        if is_tied {
            self.items.extend(sealed.into_iter().map(Value::Object));
        }
        for (name, value) in rest.into_iter().filter(|_| fits) {
            if is_tied || !["id", "status"].contains(&name.as_str()) {
                item.insert(name, value);
            }
        }
        self.items.push(with_parts(item).into());
    }

    /// No more comes of this message.
    pub(super) fn pause(&mut self) {
        let sealed = mem::take(&mut self.sealed);
        let is_led_to = self.rest.take().is_some();
        let leads_on = sealed.last().is_some_and(|item| kind_of(item) == "reasoning");
        if !is_led_to && !leads_on && self.can_be_read(&sealed) && self.are_new(sealed.iter()) {
            self.items.extend(sealed.into_iter().map(Value::Object));
        }
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        self.items
    }

    /// Whether a provider can read what is sealed: reasoning that isn't there but for its id is looked
    /// up, and a call that only the program could answer has no answer.
    fn can_be_read(&self, sealed: &[Item]) -> bool {
        let has = |item: &Item, member| match item.get(member) {
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(parts)) => !parts.is_empty(),
            _ => false,
        };
        sealed.iter().all(|item| {
            if kind_of(item) == "reasoning" {
                return self.is_stored || has(item, "encrypted_content") || has(item, "content");
            }
            let call = text_of(item, "call_id");
            let of_call = sealed.iter().filter(|other| text_of(other, "call_id") == call);
            call.is_none() || of_call.count() > 1
        })
    }

    /// Whether none of these is there already; from now on, they are.
    fn are_new<'i>(&mut self, items: impl Iterator<Item = &'i Item>) -> bool {
        let mut ids = HashSet::new();
        let mut told = items.filter_map(|item| text_of(item, "id"));
        let are_new = told.all(|id| !self.ids.contains(id) && ids.insert(id.to_owned()));
        if are_new {
            self.ids.extend(ids);
        }
        are_new
    }
}

/// A message with an id is one that the provider said: it has to have parts and a status.
fn with_parts(mut item: Item) -> Item {
    if kind_of(&item) == "message"
        && item.contains_key("id")
        && let Some(Value::String(text)) = item.remove("content")
    {
        let part = json!({ "type": "output_text", "text": text, "annotations": [] });
        item.insert("content".into(), json!([part]));
        item.entry("status").or_insert_with(|| "completed".into());
    }
    item
}
