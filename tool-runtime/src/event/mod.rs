//! What happens during a run, as plain data: all that reporters ever see.
//!
//! Events are told as things happen, from whichever task they happen in. An observer reads them
//! and changes nothing; one that panics is left out of that event and harms no run.

mod effect;
mod execution;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::guard::guarded;
use crate::message::ToolCall;

pub use effect::EffectRecord;
pub use execution::ToolExecution;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "made to be looked at, one at a time")]
pub enum Event {
    /// The model was asked to go on.
    ModelAsked {
        /// How often it has been asked in this run, this time included.
        iteration: u32,
    },
    /// The model answered.
    ModelReplied {
        /// How often it has been asked in this run.
        iteration: u32,
        /// What it said in words.
        text: String,
        /// What it wants called.
        calls: Vec<ToolCall>,
        /// From question to answer.
        took: Duration,
    },
    /// A tool is about to run.
    CallStarted {
        /// The call as it came.
        call: ToolCall,
    },
    /// A call has its result.
    CallFinished(ToolExecution),
}

/// Someone who is told of events.
type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// Those who are told of events.
#[derive(Clone, Default)]
pub struct Observers(Vec<Observer>);

impl Observers {
    /// Adds one more.
    pub fn add(&mut self, observer: impl Fn(&Event) + Send + Sync + 'static) {
        self.0.push(Arc::new(observer));
    }

    /// Tells everyone; the event is made only if someone listens.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if self.0.is_empty() {
            return;
        }
        let event = event();
        for observer in &self.0 {
            // An observer's panic is its own affair: the panic hook has reported it.
            let _ = guarded(|| observer(&event));
        }
    }
}

impl std::fmt::Debug for Observers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Observers({})", self.0.len())
    }
}
