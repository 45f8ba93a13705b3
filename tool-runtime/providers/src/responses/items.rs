//! Conversion between items and the parts of a message.
//!
//! A reply is a list of items. The text of a message, and the name and arguments of a call, become
//! parts; reasoning, and what the provider's own tools did, is sealed unchanged. OpenAI ties an
//! item to the reasoning before it by their ids and refuses either one alone. The sealed reasoning
//! is therefore followed by the *remainder* of the item that it led to: the item without the
//! members that its part has.

use std::collections::{HashMap, HashSet};
use std::mem;

use serde_json::{Map, Value, json};

use tool_core::Reasoning;
use tool_core::message::GeneratedFile;

pub(super) type Item = Map<String, Value>;

/// Members of a message and of a call that a part has.
const MESSAGE_PART_MEMBERS: [&str; 2] = ["content", "role"];
const CALL_PART_MEMBERS: [&str; 3] = ["arguments", "call_id", "name"];

pub(super) fn text_of<'i>(item: &'i Item, member: &str) -> Option<&'i str> {
    item.get(member).and_then(Value::as_str)
}

pub(super) fn kind_of(item: &Item) -> &str {
    text_of(item, "type").unwrap_or_default()
}

/// Returns the members of an item that no part has, or `None` if none of them needs to be sent
/// back. Ids need to be sent back after something sealed, other members always.
pub(super) fn remainder(item: &Item, follows_sealed: bool) -> Option<Item> {
    let in_part: &[&str] = match kind_of(item) {
        "message" => &MESSAGE_PART_MEMBERS,
        _ => &CALL_PART_MEMBERS,
    };
    let mut remainder = item.clone();
    remainder.retain(|name, value| !in_part.contains(&name.as_str()) && !value.is_null());
    let is_more = |name: &String| !["type", "id", "status"].contains(&name.as_str());
    (follows_sealed || remainder.keys().any(is_more)).then_some(remainder)
}

fn is_remainder(item: &Item) -> bool {
    match kind_of(item) {
        "message" => !item.contains_key("content"),
        "function_call" => !item.contains_key("call_id"),
        _ => false,
    }
}

/// Builds the items of a conversation for a provider.
///
/// Sealed items are sent with the item that they led to, or not at all.
pub(super) struct InputItems<'p> {
    provider: &'p str,
    /// Whether the provider stores what it sent and can look it up.
    is_stored: bool,
    items: Vec<Value>,
    /// Ids of the items; each may occur once.
    ids: HashSet<String>,
    /// Sealed items that wait for the item that they led to.
    sealed: Vec<Item>,
    /// Remainder of that item.
    remainder: Option<Item>,
    /// Programs whose calls the provider waits for, by their ids.
    programs: HashSet<String>,
    /// Callers of the calls that programs made, by the ids of the calls.
    callers: HashMap<String, Value>,
}

impl<'p> InputItems<'p> {
    pub(super) fn new(provider: &'p str, is_stored: bool) -> Self {
        Self {
            provider,
            is_stored,
            items: Vec::new(),
            ids: HashSet::new(),
            sealed: Vec::new(),
            remainder: None,
            programs: HashSet::new(),
            callers: HashMap::new(),
        }
    }

    /// Adds an item that no model created. The result of a call names the caller of the call.
    pub(super) fn push_input(&mut self, mut item: Item) {
        let caller = text_of(&item, "call_id").and_then(|call| self.callers.get(call));
        if let Some(caller) = caller {
            item.insert("caller".into(), caller.clone());
        }
        self.items.push(item.into());
    }

    /// Adds sealed items to those that are sent.
    fn extend_sealed(&mut self, sealed: Vec<Item>) {
        let programs = sealed.iter().filter(|item| kind_of(item) == "program");
        self.programs
            .extend(programs.filter_map(|item| Some(text_of(item, "call_id")?.to_owned())));
        self.items.extend(sealed.into_iter().map(Value::Object));
    }

    /// Records the caller of a call. A caller that is not a part of the conversation is removed.
    fn keep_caller(&mut self, call: &mut Item) {
        let Some(caller) = call.get("caller") else { return };
        let program = caller.get("caller_id").and_then(Value::as_str);
        if program.is_some_and(|program| !self.programs.contains(program)) {
            call.remove("caller");
        } else if let Some(id) = text_of(call, "call_id") {
            self.callers.insert(id.to_owned(), caller.clone());
        }
    }

    /// Adds a sealed item, or the remainder of an item.
    pub(super) fn push_sealed(&mut self, reasoning: &Reasoning) {
        let Value::Object(item) = &reasoning.sealed else { return };
        if reasoning.provider != self.provider {
            return;
        }
        // The item that the sealed items led to is missing.
        if self.remainder.take().is_some() {
            self.sealed.clear();
        }
        if is_remainder(item) {
            self.remainder = Some(item.clone());
        } else {
            self.sealed.push(item.clone());
        }
    }

    /// Adds the data of an image to the sealed item that created it. Returns whether that item is
    /// the last one.
    pub(super) fn restore_file(&mut self, file: &GeneratedFile) -> bool {
        let item = self.sealed.last_mut().filter(|_| file.provider == self.provider);
        let item = item.filter(|item| lacks_image(item));
        let (Some(item), Some(media)) = (item, file.media()) else { return false };
        item.insert("result".into(), media.base64.into());
        true
    }

    /// Adds an item that a model created.
    pub(super) fn push_output(&mut self, mut item: Item) {
        let remainder = self.remainder.take().unwrap_or_default();
        let fits = remainder.is_empty() || kind_of(&remainder) == kind_of(&item);
        let sealed = mem::take(&mut self.sealed);
        let is_tied = fits
            && !sealed.is_empty()
            && self.can_be_read(&sealed)
            && self.are_new(sealed.iter().chain([&remainder]));
        if is_tied {
            self.extend_sealed(sealed);
        }
        for (name, value) in remainder.into_iter().filter(|_| fits) {
            if is_tied || !["id", "status"].contains(&name.as_str()) {
                item.insert(name, value);
            }
        }
        self.keep_caller(&mut item);
        self.items.push(with_parts(item).into());
    }

    /// Ends a message of the model.
    pub(super) fn end_message(&mut self) {
        let sealed = mem::take(&mut self.sealed);
        let has_remainder = self.remainder.take().is_some();
        let ends_with_reasoning = sealed.last().is_some_and(|item| kind_of(item) == "reasoning");
        if !has_remainder
            && !ends_with_reasoning
            && self.can_be_read(&sealed)
            && self.are_new(sealed.iter())
        {
            self.extend_sealed(sealed);
        }
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        self.items
    }

    /// Returns whether the provider can read the sealed items. Reasoning that has only an id is
    /// looked up, and a call that only the program could answer has no result.
    fn can_be_read(&self, sealed: &[Item]) -> bool {
        let has = |item: &Item, member| match item.get(member) {
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(parts)) => !parts.is_empty(),
            _ => false,
        };
        let mut of_call = HashMap::<_, usize>::new();
        for call in sealed.iter().filter_map(|item| text_of(item, "call_id")) {
            *of_call.entry(call).or_default() += 1;
        }
        sealed.iter().all(|item| {
            if kind_of(item) == "reasoning" {
                return self.is_stored || has(item, "encrypted_content") || has(item, "content");
            }
            if lacks_image(item) {
                return false;
            }
            // The results of a program are those of its calls.
            if ["program", "program_output"].contains(&kind_of(item)) {
                return true;
            }
            let call = text_of(item, "call_id");
            call.is_none_or(|call| of_call.get(call).is_some_and(|count| *count > 1))
        })
    }

    /// Returns whether all ids are new, and records them if they are.
    fn are_new<'i>(&mut self, items: impl Iterator<Item = &'i Item>) -> bool {
        let mut ids = HashSet::new();
        let mut new = items.filter_map(|item| text_of(item, "id"));
        let are_new = new.all(|id| !self.ids.contains(id) && ids.insert(id.to_owned()));
        if are_new {
            self.ids.extend(ids);
        }
        are_new
    }
}

/// Returns whether the image that an item created is another part.
fn lacks_image(item: &Item) -> bool {
    kind_of(item) == "image_generation_call"
        && text_of(item, "status").is_none_or(|status| status == "completed")
        && !item.contains_key("result")
}

/// Completes a message with an id or annotations: it comes from the provider, so it needs parts
/// and, with an id, a status.
fn with_parts(mut item: Item) -> Item {
    let annotations = item.remove(ANNOTATIONS);
    if kind_of(&item) == "message"
        && (item.contains_key("id") || annotations.is_some())
        && let Some(Value::String(text)) = item.remove("content")
    {
        let annotations = annotations.unwrap_or_else(|| json!([]));
        let part = json!({ "type": "output_text", "text": text, ANNOTATIONS: annotations });
        item.insert("content".into(), json!([part]));
        if item.contains_key("id") {
            item.entry("status").or_insert_with(|| "completed".into());
        }
    }
    item
}

/// Member of the text of a message, with its citations.
pub(super) const ANNOTATIONS: &str = "annotations";

/// Adds the annotations of the texts of a message to the message itself. Their positions become
/// those in the whole text, which the part of the message has.
pub(super) fn with_annotations(item: &Item) -> Item {
    let mut item = item.clone();
    let (mut start, mut all) = (0, Vec::new());
    for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
        let annotations = part.get(ANNOTATIONS).and_then(Value::as_array);
        all.extend(annotations.into_iter().flatten().map(|annotation| moved(annotation, start)));
        let text = part.get("text").or_else(|| part.get("refusal")).and_then(Value::as_str);
        start += text.map_or(0, |text| text.chars().count() as u64);
    }
    if !all.is_empty() {
        item.insert(ANNOTATIONS.into(), all.into());
    }
    item
}

/// Returns an annotation with positions that are this much later.
fn moved(annotation: &Value, distance: u64) -> Value {
    let mut annotation = annotation.clone();
    for name in ["start_index", "end_index", "index"] {
        if let Some(position) = annotation.get_mut(name)
            && let Some(number) = position.as_u64()
        {
            *position = number.saturating_add(distance).into();
        }
    }
    annotation
}
