//! The events of a streamed response → our reply.
//!
//! The shapes are those of OpenAI's API reference, "Streaming events". All is said up to three times:
//! in pieces, then as a whole item, then as a whole response. Servers leave out one or the other,
//! the places of the items, or their ids; so whatever comes is held against what was heard before.

use std::mem;

use serde::Deserialize;
use serde_json::Value;

use super::decode::{Response, failed, failure, put_together};
use super::heard::{Heard, Slot};
use super::sealed::{Item, kind_of, text_of};
use crate::models::{ChatReply, Deltas, WireNames};
use crate::providers::codec::{Assemble, Unreadable};

#[derive(Deserialize)]
struct Event {
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

/// What was said so far.
pub(super) struct Assembler {
    names: WireNames,
    provider: &'static str,
    items: Vec<Heard>,
    calls: usize,
    last: Option<Response>,
    is_done: bool,
}

impl Assembler {
    pub(super) fn new(names: WireNames, provider: &'static str) -> Self {
        Self { names, provider, items: Vec::new(), calls: 0, last: None, is_done: false }
    }

    /// The item of an event. One that was never announced begins by this.
    fn item(&mut self, kind: &str, id: Option<&str>, index: Option<u64>) -> Option<&mut Heard> {
        let place = self.place_of(id, index).or_else(|| {
            let is_last = |item: &Heard| item.kind() == kind && !item.is_whole;
            let last = self.items.len().checked_sub(1)?;
            let is_unnamed = id.is_none() && index.is_none();
            (is_unnamed && self.items.get(last).is_some_and(is_last)).then_some(last)
        });
        let place = place.unwrap_or_else(|| {
            self.items.push(Heard::new(kind, id, index));
            self.items.len() - 1
        });
        self.items.get_mut(place)
    }

    /// Some servers give every event another id, others all items the same index.
    fn place_of(&self, id: Option<&str>, index: Option<u64>) -> Option<usize> {
        let by_id = || self.items.iter().rposition(|item| item.id.as_deref() == id);
        let by_index = || self.items.iter().rposition(|item| item.index == index);
        id.and_then(|_| by_id()).or_else(|| index.and_then(|_| by_index()))
    }

    fn more(&mut self, event: &Event, deltas: &mut Deltas<'_>) {
        let Some((kind, slot)) = slot(event) else { return };
        let is_piece = event.kind.ends_with(".delta");
        let text = match is_piece {
            true => &event.delta,
            false => [&event.text, &event.refusal, &event.arguments]
                .into_iter()
                .find(|text| text.is_some())
                .unwrap_or(&None),
        };
        let Some(text) = text.as_ref().and_then(Value::as_str) else { return };
        let Some(item) = self.item(kind, event.item_id.as_deref(), event.output_index) else {
            return;
        };
        match is_piece {
            true => item.more(slot, text, deltas),
            false => item.all(slot, text, deltas),
        }
    }

    /// An item is announced, or there as a whole.
    fn meet(&mut self, item: Item, index: Option<u64>, is_whole: bool, deltas: &mut Deltas<'_>) {
        let id = id_of(&item);
        // One index for all: then a new item has an id of its own.
        let is_it = |place: &usize| {
            let known = self.items.get(*place);
            known.is_some_and(|known| !known.is_another(&item, is_whole))
        };
        let place = self.place_of(id, index).filter(is_it).unwrap_or_else(|| {
            self.items.push(Heard::new(kind_of(&item), id, index));
            self.items.len() - 1
        });
        self.learn(place, item, is_whole, deltas);
    }

    /// The response as it is told of in the end; with what was heard, where less is told than that.
    fn end(&mut self, mut response: Response, deltas: &mut Deltas<'_>) -> Response {
        if self.items.iter().all(|item| item.index.is_some()) {
            self.items.sort_by_key(|item| item.index);
        }
        let told = response.output.take().unwrap_or_default();
        let is_all = told.len() >= self.items.len();
        for (place, item) in told.iter().enumerate() {
            let known = self.place_of(id_of(item), None).or_else(|| is_all.then_some(place));
            match known.filter(|known| *known < self.items.len()) {
                Some(known) => self.learn(known, item.clone(), true, deltas),
                None if is_all => self.meet(item.clone(), None, true, deltas),
                None => {}
            }
        }
        let heard = mem::take(&mut self.items);
        response.output = Some(match is_all {
            true => told,
            false => heard.into_iter().map(Heard::into_item).collect(),
        });
        response
    }

    fn learn(&mut self, place: usize, item: Item, is_whole: bool, deltas: &mut Deltas<'_>) {
        let Some(known) = self.items.get_mut(place) else { return };
        known.learn(item, is_whole, deltas);
        known.begin_call(&mut self.calls, &self.names, deltas);
    }
}

fn id_of(item: &Item) -> Option<&str> {
    text_of(item, "id").filter(|id| !id.is_empty())
}

/// What an event is more of, and of what kind of item.
fn slot(event: &Event) -> Option<(&'static str, Slot)> {
    let content = Slot::Content(event.content_index.unwrap_or(0));
    let summary = Slot::Summary(event.summary_index.unwrap_or(0));
    let (what, _) = event.kind.strip_prefix("response.")?.rsplit_once('.')?;
    match what {
        "output_text" | "refusal" => Some(("message", content)),
        "reasoning_text" => Some(("reasoning", content)),
        "reasoning_summary_text" => Some(("reasoning", summary)),
        "function_call_arguments" => Some(("function_call", Slot::Arguments)),
        _ => None,
    }
}

impl Assemble for Assembler {
    fn take(&mut self, message: &str, deltas: &mut Deltas<'_>) -> Result<(), Unreadable> {
        if message.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let event: Event = serde_json::from_str(message).map_err(|error| {
            failure(message).unwrap_or_else(|| Unreadable::malformed(error.to_string()))
        })?;
        match event.kind.as_str() {
            "response.output_item.added" | "response.output_item.done" => {
                let is_whole = event.kind.ends_with(".done");
                if let Some(Value::Object(item)) = event.item {
                    self.meet(item, event.output_index, is_whole, deltas);
                }
            }
            "response.failed" => {
                let error = event.response.and_then(|mut said| Some(said.get_mut("error")?.take()));
                return Err(failed("failed", error));
            }
            "response.completed" | "response.incomplete" if self.last.is_none() => {
                let response = event.response.unwrap_or_default();
                let response = serde_json::from_value(response)
                    .map_err(|error| Unreadable::malformed(error.to_string()))?;
                self.last = Some(self.end(response, deltas));
            }
            "error" => {
                let own = || serde_json::from_str(message).unwrap_or_default();
                return Err(failure(message).unwrap_or_else(|| Unreadable::Failed(own())));
            }
            "" => return failure(message).map_or(Ok(()), Err),
            _ => self.more(&event, deltas),
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn finish(mut self) -> Result<ChatReply, Unreadable> {
        let response = match self.last.take() {
            Some(response) => response,
            None if self.is_done => self.end(Response::default(), &mut |_| {}),
            None => return Err(Unreadable::Ended),
        };
        put_together(response, &self.names, self.provider)
    }
}
