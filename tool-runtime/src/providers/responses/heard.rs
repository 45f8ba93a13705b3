//! What was heard of one item of a streamed response.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::sealed::{Item, kind_of, text_of};
use crate::models::{Delta, Deltas, WireNames};

/// Where in an item a text stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    Summary(u64),
    Content(u64),
    Arguments,
}

pub(super) struct Heard {
    pub(super) id: Option<String>,
    /// Its place among the items, where the server tells.
    pub(super) index: Option<u64>,
    /// Whether all of it is there.
    pub(super) is_whole: bool,
    item: Item,
    texts: BTreeMap<Slot, String>,
    /// Which of the reply's calls it is, once its name is known.
    place: Option<usize>,
}

impl Heard {
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
            place: None,
        }
    }

    pub(super) fn kind(&self) -> &str {
        kind_of(&self.item)
    }

    /// Whether this can't be the same item, though it is said to be at the same place.
    pub(super) fn is_another(&self, item: &Item, is_whole: bool) -> bool {
        let differs = |member| {
            let [known, told] = [&self.item, item].map(|item| text_of(item, member));
            known.zip(told).is_some_and(|(known, told)| known != told)
        };
        differs("type") || differs("call_id") || (!is_whole && differs("id"))
    }

    /// Hears more of a text.
    pub(super) fn more(&mut self, slot: Slot, more: &str, deltas: &mut Deltas<'_>) {
        if more.is_empty() {
            return;
        }
        if slot != Slot::Arguments && !self.texts.contains_key(&slot) && !self.texts.is_empty() {
            self.tell_break(deltas);
        }
        self.texts.entry(slot).or_default().push_str(more);
        self.tell(slot, more, deltas);
    }

    /// Hears all of a text: what of it wasn't heard before is more.
    pub(super) fn all(&mut self, slot: Slot, text: &str, deltas: &mut Deltas<'_>) {
        if text.is_empty() {
            return;
        }
        let heard = self.texts.get(&slot).map_or("", String::as_str);
        if let Some(more) = text.strip_prefix(heard) {
            self.more(slot, more, deltas);
        }
    }

    /// Hears what its server knows of it by now.
    pub(super) fn learn(&mut self, item: Item, is_whole: bool, deltas: &mut Deltas<'_>) {
        for (member, slot) in
            [("summary", Slot::Summary as fn(u64) -> Slot), ("content", Slot::Content)]
        {
            let parts = item.get(member).and_then(Value::as_array);
            for (index, part) in (0..).zip(parts.into_iter().flatten()) {
                let text = part.get("text").or_else(|| part.get("refusal"));
                if let Some(text) = text.and_then(Value::as_str) {
                    self.all(slot(index), text, deltas);
                }
            }
        }
        match item.get("arguments") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => self.all(Slot::Arguments, text, deltas),
            Some(object) => self.all(Slot::Arguments, &object.to_string(), deltas),
        }
        if is_whole || !self.is_whole {
            self.item = item;
        }
        self.is_whole |= is_whole;
    }

    /// Tells that a call begins, and of what was heard of it before its name was.
    pub(super) fn begin_call(
        &mut self,
        calls: &mut usize,
        names: &WireNames,
        deltas: &mut Deltas<'_>,
    ) {
        let name = text_of(&self.item, "name").filter(|name| !name.is_empty());
        let Some(name) = name.filter(|_| self.kind() == "function_call" && self.place.is_none())
        else {
            return;
        };
        let place = *calls;
        deltas(Delta::Call { place, name: names.own(name) });
        if let Some(text) = self.texts.get(&Slot::Arguments).filter(|text| !text.is_empty()) {
            deltas(Delta::Arguments { place, text });
        }
        self.place = Some(place);
        *calls += 1;
    }

    fn tell(&self, slot: Slot, text: &str, deltas: &mut Deltas<'_>) {
        match (slot, self.kind()) {
            (Slot::Arguments, _) => {
                if let Some(place) = self.place {
                    deltas(Delta::Arguments { place, text });
                }
            }
            (Slot::Content(_), "message") => deltas(Delta::Text(text)),
            (_, "reasoning") => deltas(Delta::Reasoning(text)),
            _ => {}
        }
    }

    /// The parts of what was thought stand apart.
    fn tell_break(&self, deltas: &mut Deltas<'_>) {
        if self.kind() == "reasoning" {
            deltas(Delta::Reasoning("\n\n"));
        }
    }

    /// The item as its server told of it; or as it was heard, if it never did.
    pub(super) fn into_item(mut self) -> Item {
        if self.is_whole {
            return self.item;
        }
        let (mut summary, mut content) = (Vec::new(), Vec::new());
        let kind = if self.kind() == "reasoning" { "reasoning_text" } else { "output_text" };
        for (slot, text) in self.texts {
            match slot {
                Slot::Summary(_) => summary.push(json!({ "type": "summary_text", "text": text })),
                Slot::Content(_) => content.push(json!({ "type": kind, "text": text })),
                Slot::Arguments => _ = self.item.insert("arguments".into(), text.into()),
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
