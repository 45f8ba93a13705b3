//! Events of a streamed response → [`ChatReply`].
//!
//! The shapes follow OpenAI's API reference, "Streaming events". OpenAI sends everything up to
//! three times: in pieces, as a whole item, and in the whole response. Servers leave out some of
//! these, the indexes of items, or their ids, so each event is compared with what was received
//! before.

use std::collections::HashMap;
use std::mem;

use serde::Deserialize;
use serde_json::Value;

use super::decode::{Response, assemble_reply, failed, failure, sources, text_len};
use super::items::{Item, kind_of, text_of};
use super::streamed_item::{StreamedItem, TextSlot};
use crate::codec::{Assemble, DecodeError};
use crate::shared::shifted;
use tool_core::models::{DeltaSink, WireNames};
use tool_core::{AssistantPart, ChatReply, Delta};

#[derive(Deserialize)]
struct StreamEvent {
    #[serde(default, rename = "type")]
    kind: String,
    item_id: Option<String>,
    output_index: Option<u64>,
    content_index: Option<u64>,
    summary_index: Option<u64>,
    delta: Option<Value>,
    text: Option<Value>,
    refusal: Option<Value>,
    arguments: Option<Value>,
    item: Option<Value>,
    response: Option<Value>,
}

/// Reply that is being assembled.
pub(super) struct Assembler {
    names: WireNames,
    provider: &'static str,
    items: Vec<StreamedItem>,
    /// Positions of the last items with an id, and with an index.
    by_id: HashMap<String, usize>,
    by_index: HashMap<u64, usize>,
    calls: usize,
    /// Length of the text of the messages that are complete.
    text_len: usize,
    last: Option<Response>,
    is_done: bool,
}

impl Assembler {
    pub(super) fn new(names: WireNames, provider: &'static str) -> Self {
        Self {
            names,
            provider,
            items: Vec::new(),
            by_id: HashMap::new(),
            by_index: HashMap::new(),
            calls: 0,
            text_len: 0,
            last: None,
            is_done: false,
        }
    }

    /// Returns the item of an event. An item that was never announced starts here.
    fn item(
        &mut self,
        kind: &str,
        id: Option<&str>,
        index: Option<u64>,
    ) -> Option<&mut StreamedItem> {
        let position = self.index_of(id, index).or_else(|| {
            let is_last = |item: &StreamedItem| item.kind() == kind && !item.is_whole;
            let last = self.items.len().checked_sub(1)?;
            let is_unnamed = id.is_none() && index.is_none();
            (is_unnamed && self.items.get(last).is_some_and(is_last)).then_some(last)
        });
        let position = position.unwrap_or_else(|| self.start_item(kind, id, index));
        self.items.get_mut(position)
    }

    /// Returns the index of a known item. Some servers give every event another id, others all
    /// items the same index.
    fn index_of(&self, id: Option<&str>, index: Option<u64>) -> Option<usize> {
        let position = id.and_then(|id| self.by_id.get(id));
        position.or_else(|| self.by_index.get(&index?)).copied()
    }

    /// Starts an item and returns its index.
    fn start_item(&mut self, kind: &str, id: Option<&str>, index: Option<u64>) -> usize {
        let position = self.items.len();
        self.items.push(StreamedItem::new(kind, id, index));
        self.by_id.extend(id.map(|id| (id.to_owned(), position)));
        self.by_index.extend(index.map(|index| (index, position)));
        position
    }

    /// Sorts the items by their indexes, if all of them have one.
    fn sort_items(&mut self) {
        if !self.items.iter().all(|item| item.index.is_some()) {
            return;
        }
        self.items.sort_by_key(|item| item.index);
        for (position, item) in self.items.iter().enumerate() {
            self.by_id.extend(item.id.clone().map(|id| (id, position)));
            self.by_index.extend(item.index.map(|index| (index, position)));
        }
    }

    fn add_text(&mut self, event: &StreamEvent, deltas: &mut DeltaSink<'_>) {
        let Some((kind, slot)) = slot(event) else { return };
        let is_piece = event.kind.ends_with(".delta");
        let text = if is_piece {
            &event.delta
        } else {
            [&event.text, &event.refusal, &event.arguments]
                .into_iter()
                .find(|text| text.is_some())
                .unwrap_or(&None)
        };
        let Some(text) = text.as_ref().and_then(Value::as_str) else { return };
        let Some(item) = self.item(kind, event.item_id.as_deref(), event.output_index) else {
            return;
        };
        if is_piece { item.append(slot, text, deltas) } else { item.set_full(slot, text, deltas) }
    }

    /// Adds an item that was announced or is complete.
    fn add_item(
        &mut self,
        item: Item,
        index: Option<u64>,
        is_whole: bool,
        deltas: &mut DeltaSink<'_>,
    ) {
        let id = id_of(&item);
        // If a server sends one index for all items, a new item has a new id.
        let is_same = |position: &usize| {
            let known = self.items.get(*position);
            known.is_some_and(|known| !known.is_another(&item, is_whole))
        };
        let known = self.index_of(id, index).filter(is_same);
        let position = known.unwrap_or_else(|| self.start_item(kind_of(&item), id, index));
        self.update(position, item, is_whole, deltas);
    }

    /// Completes the response that ends the stream. If it contains fewer items than were received,
    /// the received ones replace them.
    fn complete(&mut self, mut response: Response, deltas: &mut DeltaSink<'_>) -> Response {
        self.sort_items();
        let output = response.output.take().unwrap_or_default();
        let is_complete = output.len() >= self.items.len();
        for (position, item) in output.iter().enumerate() {
            let known =
                self.index_of(id_of(item), None).or_else(|| is_complete.then_some(position));
            match known.filter(|known| *known < self.items.len()) {
                Some(known) => self.update(known, item.clone(), true, deltas),
                None if is_complete => self.add_item(item.clone(), None, true, deltas),
                None => {}
            }
        }
        let received = mem::take(&mut self.items);
        response.output = Some(if is_complete {
            output
        } else {
            received.into_iter().map(StreamedItem::into_item).collect()
        });
        response
    }

    fn update(&mut self, position: usize, item: Item, is_whole: bool, deltas: &mut DeltaSink<'_>) {
        let Some(known) = self.items.get_mut(position) else { return };
        if is_whole && !known.is_whole {
            for part in sources(&item) {
                if let AssistantPart::Source(source) = part {
                    deltas(Delta::Source(&shifted(&source, self.text_len)));
                }
            }
            self.text_len += text_len(&item);
        }
        known.update(item, is_whole, deltas);
        known.begin_call(&mut self.calls, &self.names, deltas);
    }
}

fn id_of(item: &Item) -> Option<&str> {
    text_of(item, "id").filter(|id| !id.is_empty())
}

/// Returns the kind of item that an event belongs to, and the text in it that the event extends.
fn slot(event: &StreamEvent) -> Option<(&'static str, TextSlot)> {
    let content = TextSlot::Content(event.content_index.unwrap_or(0));
    let summary = TextSlot::Summary(event.summary_index.unwrap_or(0));
    let (part, _) = event.kind.strip_prefix("response.")?.rsplit_once('.')?;
    match part {
        "output_text" | "refusal" => Some(("message", content)),
        "reasoning_text" => Some(("reasoning", content)),
        "reasoning_summary_text" => Some(("reasoning", summary)),
        "function_call_arguments" => Some(("function_call", TextSlot::Arguments)),
        _ => None,
    }
}

impl Assemble for Assembler {
    fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
        if message.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let event: StreamEvent = serde_json::from_str(message).map_err(|error| {
            failure(message).unwrap_or_else(|| DecodeError::malformed(error.to_string()))
        })?;
        match event.kind.as_str() {
            "response.output_item.added" | "response.output_item.done" => {
                let is_whole = event.kind.ends_with(".done");
                if let Some(Value::Object(item)) = event.item {
                    self.add_item(item, event.output_index, is_whole, deltas);
                }
            }
            "response.failed" => {
                let error =
                    event.response.and_then(|mut response| Some(response.get_mut("error")?.take()));
                return Err(failed("failed", error));
            }
            "response.completed" | "response.incomplete" if self.last.is_none() => {
                let response = event.response.unwrap_or_default();
                let response = serde_json::from_value(response)
                    .map_err(|error| DecodeError::malformed(error.to_string()))?;
                self.last = Some(self.complete(response, deltas));
            }
            "error" => {
                let whole = || serde_json::from_str(message).unwrap_or_default();
                return Err(failure(message).unwrap_or_else(|| DecodeError::Reported(whole())));
            }
            "" => return failure(message).map_or(Ok(()), Err),
            _ => self.add_text(&event, deltas),
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn finish(mut self) -> Result<ChatReply, DecodeError> {
        let response = match self.last.take() {
            Some(response) => response,
            None if self.is_done => self.complete(Response::default(), &mut |_| {}),
            None => return Err(DecodeError::Incomplete),
        };
        assemble_reply(response, &self.names, self.provider)
    }
}
