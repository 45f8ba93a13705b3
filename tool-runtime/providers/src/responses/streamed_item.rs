//! Item of a streamed response that is being received.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::items::{Item, kind_of, text_of};
use tool_core::Delta;
use tool_core::models::{DeltaSink, WireNames};

/// Position of a text in an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TextSlot {
    Summary(u64),
    Content(u64),
    Arguments,
}

pub(super) struct StreamedItem {
    pub(super) id: Option<String>,
    /// Index of the item, if the server sends one.
    pub(super) index: Option<u64>,
    /// Whether the whole item was received.
    pub(super) is_whole: bool,
    item: Item,
    texts: BTreeMap<TextSlot, String>,
    /// Index of the call among the calls of the reply, once its name is known.
    call_index: Option<usize>,
}

impl StreamedItem {
    pub(super) fn new(kind: &str, id: Option<&str>, index: Option<u64>) -> Self {
        let mut item = Item::new();
        item.insert("type".into(), kind.into());
        item.extend(id.map(|id| ("id".to_owned(), id.into())));
        Self {
            id: id.map(ToOwned::to_owned),
            index,
            is_whole: false,
            item,
            texts: BTreeMap::new(),
            call_index: None,
        }
    }

    pub(super) fn kind(&self) -> &str {
        kind_of(&self.item)
    }

    /// Returns whether `item` must be another item, even though it has the same index.
    pub(super) fn is_another(&self, item: &Item, is_whole: bool) -> bool {
        let differs = |member| {
            let [known, new] = [&self.item, item].map(|item| text_of(item, member));
            known.zip(new).is_some_and(|(known, new)| known != new)
        };
        differs("type") || differs("call_id") || (!is_whole && differs("id"))
    }

    /// Appends a piece to a text.
    pub(super) fn append(&mut self, slot: TextSlot, more: &str, deltas: &mut DeltaSink<'_>) {
        if more.is_empty() {
            return;
        }
        if slot != TextSlot::Arguments && !self.texts.contains_key(&slot) && !self.texts.is_empty()
        {
            self.emit_break(deltas);
        }
        self.texts.entry(slot).or_default().push_str(more);
        self.emit(slot, more, deltas);
    }

    /// Sets a whole text: the part that was not received in pieces is appended.
    pub(super) fn set_full(&mut self, slot: TextSlot, text: &str, deltas: &mut DeltaSink<'_>) {
        if text.is_empty() {
            return;
        }
        let received = self.texts.get(&slot).map_or("", String::as_str);
        if let Some(more) = text.strip_prefix(received) {
            self.append(slot, more, deltas);
        }
    }

    /// Updates the item with the one that the server sent.
    pub(super) fn update(&mut self, item: Item, is_whole: bool, deltas: &mut DeltaSink<'_>) {
        for (member, slot) in
            [("summary", TextSlot::Summary as fn(u64) -> TextSlot), ("content", TextSlot::Content)]
        {
            let parts = item.get(member).and_then(Value::as_array);
            for (index, part) in (0..).zip(parts.into_iter().flatten()) {
                let text = part.get("text").or_else(|| part.get("refusal"));
                if let Some(text) = text.and_then(Value::as_str) {
                    self.set_full(slot(index), text, deltas);
                }
            }
        }
        match item.get("arguments") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => self.set_full(TextSlot::Arguments, text, deltas),
            Some(object) => self.set_full(TextSlot::Arguments, &object.to_string(), deltas),
        }
        if is_whole || !self.is_whole {
            self.item = item;
        }
        self.is_whole |= is_whole;
    }

    /// Emits the start of a call once its name is known, and the arguments received before.
    pub(super) fn begin_call(
        &mut self,
        calls: &mut usize,
        names: &WireNames,
        deltas: &mut DeltaSink<'_>,
    ) {
        let name = text_of(&self.item, "name").filter(|name| !name.is_empty());
        let Some(name) =
            name.filter(|_| self.kind() == "function_call" && self.call_index.is_none())
        else {
            return;
        };
        let index = *calls;
        let id = text_of(&self.item, "call_id").unwrap_or_default();
        deltas(Delta::Call { index, id, name: names.tool_name(name) });
        if let Some(text) = self.texts.get(&TextSlot::Arguments).filter(|text| !text.is_empty()) {
            deltas(Delta::Arguments { index, text });
        }
        self.call_index = Some(index);
        *calls += 1;
    }

    fn emit(&self, slot: TextSlot, text: &str, deltas: &mut DeltaSink<'_>) {
        match (slot, self.kind()) {
            (TextSlot::Arguments, _) => {
                if let Some(index) = self.call_index {
                    deltas(Delta::Arguments { index, text });
                }
            }
            (TextSlot::Content(_), "message") => deltas(Delta::Text(text)),
            (_, "reasoning") => deltas(Delta::Reasoning(text)),
            _ => {}
        }
    }

    /// Emits the separator between two parts of reasoning.
    fn emit_break(&self, deltas: &mut DeltaSink<'_>) {
        if self.kind() == "reasoning" {
            deltas(Delta::Reasoning("\n\n"));
        }
    }

    /// Returns the item as the server sent it, or, if it never did, as its pieces describe it.
    pub(super) fn into_item(mut self) -> Item {
        if self.is_whole {
            return self.item;
        }
        let (mut summary, mut content) = (Vec::new(), Vec::new());
        let kind = if self.kind() == "reasoning" { "reasoning_text" } else { "output_text" };
        for (slot, text) in self.texts {
            match slot {
                TextSlot::Summary(_) => {
                    summary.push(json!({ "type": "summary_text", "text": text }))
                }
                TextSlot::Content(_) => content.push(json!({ "type": kind, "text": text })),
                TextSlot::Arguments => _ = self.item.insert("arguments".into(), text.into()),
            }
        }
        for (member, parts) in [("summary", summary), ("content", content)] {
            if !parts.is_empty() {
                self.item.insert(member.into(), parts.into());
            }
        }
        self.item
    }
}
