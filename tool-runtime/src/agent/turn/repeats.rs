//! Calls that are made again and again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Arguments, CallId, ToolCall};

/// The calls of the last reply, and how often in a row each was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Repeats(Vec<Repeated>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Repeated {
    call: CallId,
    /// The name and the arguments, the same for calls that mean the same.
    what: String,
    times: u32,
}

impl Repeats {
    /// The model made these calls. Those that it made twice in one reply count once.
    pub(super) fn note<'c>(&mut self, calls: impl Iterator<Item = &'c ToolCall>) {
        let repeated = calls.map(|call| {
            let what = format!("{}\n{}", call.name, canonical(&call.arguments));
            let before = self.0.iter().filter(|known| known.what == what).map(|known| known.times);
            let times = before.max().unwrap_or(0).saturating_add(1);
            Repeated { call: call.id.clone(), what, times }
        });
        self.0 = repeated.collect();
    }

    /// How often in a row this call was made.
    pub(super) fn times(&self, call: &CallId) -> u32 {
        self.0.iter().find(|known| known.call == *call).map_or(0, |known| known.times)
    }

    /// Whether one of them was made more often than that.
    pub(super) fn beyond(&self, most: u32) -> bool {
        self.0.iter().any(|known| known.times > most)
    }
}

/// The same text for the same arguments, however they are written.
fn canonical(arguments: &Arguments) -> String {
    match arguments {
        Arguments::Value(value) => value.to_string(),
        Arguments::Text(text) => {
            let read: Result<Value, _> = serde_json::from_str(text);
            read.map_or_else(|_| text.to_string(), |value| value.to_string())
        }
    }
}
