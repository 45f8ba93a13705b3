//! Counter of calls that the model repeats with the same arguments.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Arguments, CallId, ToolCall};
use crate::schema::has_lossy_numbers;

/// The calls of the last reply, each with the number of replies in a row that made it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct RepeatedCalls(Vec<RepeatedCall>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RepeatedCall {
    call: CallId,
    /// The name and the canonical arguments.
    #[serde(rename = "what")]
    key: String,
    #[serde(rename = "times")]
    count: u32,
}

impl RepeatedCalls {
    /// Records the calls of a reply. Equal calls within one reply count once.
    pub(super) fn record<'c>(&mut self, calls: impl Iterator<Item = &'c ToolCall>) {
        let counted = calls.map(|call| {
            let key = format!("{}\n{}", call.name, canonical(&call.arguments));
            let before = self.0.iter().filter(|known| known.key == key).map(|known| known.count);
            let count = before.max().unwrap_or(0).saturating_add(1);
            RepeatedCall { call: call.id.clone(), key, count }
        });
        self.0 = counted.collect();
    }

    /// Does not count a call of the last reply as one more repetition.
    pub(super) fn discount(&mut self, call: &CallId) {
        if let Some(known) = self.0.iter_mut().find(|known| known.call == *call) {
            known.count = known.count.saturating_sub(1);
        }
    }

    /// Returns how many replies in a row made this call; 0 if the last reply did not.
    pub(super) fn count(&self, call: &CallId) -> u32 {
        self.0.iter().find(|known| known.call == *call).map_or(0, |known| known.count)
    }

    /// Whether a call was made more than `limit` times in a row.
    pub(super) fn exceed(&self, limit: u32) -> bool {
        self.0.iter().any(|known| known.count > limit)
    }
}

/// Returns one spelling for equal arguments, whatever their formatting.
fn canonical(arguments: &Arguments) -> String {
    match arguments {
        Arguments::Value(value) => value.to_string(),
        // Equal values may stand for different numbers.
        Arguments::Text(text) if has_lossy_numbers(text) => text.to_string(),
        Arguments::Text(text) => {
            let parsed: Result<Value, _> = serde_json::from_str(text);
            parsed.map_or_else(|_| text.to_string(), |value| value.to_string())
        }
    }
}
