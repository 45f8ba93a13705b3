//! Counter of calls that the model repeats with the same arguments.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Arguments, CallId, ToolCall};
use crate::schema::has_lossy_numbers;

/// The calls of the last reply, each with the number of replies in a row that made it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<RepeatedCall>", into = "Vec<RepeatedCall>")]
pub(super) struct RepeatedCalls(BTreeMap<CallId, RepeatedCall>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RepeatedCall {
    call: CallId,
    /// The name and the canonical arguments.
    key: String,
    count: u32,
}

impl RepeatedCalls {
    /// Records the calls of a reply. Equal calls within one reply count once.
    pub(super) fn record<'c>(&mut self, calls: impl Iterator<Item = &'c ToolCall>) {
        let mut before = HashMap::<_, u32>::new();
        for known in self.0.values() {
            let count = before.entry(known.key.as_str()).or_default();
            *count = known.count.max(*count);
        }
        let counted: Vec<_> = calls
            .map(|call| {
                let key = format!("{}\n{}", call.name, canonical(&call.arguments));
                let count = before.get(key.as_str()).copied().unwrap_or(0).saturating_add(1);
                RepeatedCall { call: call.id.clone(), key, count }
            })
            .collect();
        *self = Self::from(counted);
    }

    /// Does not count a call of the last reply as one more repetition.
    pub(super) fn discount(&mut self, call: &CallId) {
        if let Some(known) = self.0.get_mut(call) {
            known.count = known.count.saturating_sub(1);
        }
    }

    /// Returns how many replies in a row made this call; 0 if the last reply did not.
    pub(super) fn count(&self, call: &CallId) -> u32 {
        self.0.get(call).map_or(0, |known| known.count)
    }

    /// Whether a call was made more than `limit` times in a row.
    pub(super) fn exceed(&self, limit: u32) -> bool {
        self.0.values().any(|known| known.count > limit)
    }
}

impl From<Vec<RepeatedCall>> for RepeatedCalls {
    fn from(calls: Vec<RepeatedCall>) -> Self {
        Self(calls.into_iter().map(|call| (call.call.clone(), call)).collect())
    }
}

impl From<RepeatedCalls> for Vec<RepeatedCall> {
    fn from(calls: RepeatedCalls) -> Self {
        calls.0.into_values().collect()
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
