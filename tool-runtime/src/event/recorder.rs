//! Events kept in memory, to be asked about.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{EffectRecord, Event, Observer, RunId, ToolExecution};
use crate::message::CallId;

/// Keeps the last events in memory. Clones share them: one is given to the agent, another is asked.
///
/// ```
/// use tool_runtime::event::Recorder;
/// use tool_runtime::{Agent, ChatReply, EffectRecord, ScriptedModel, ToolContext, tool, tools};
///
/// /// Writes a file.
/// #[tool(effect = "write")]
/// async fn write(path: String, ctx: &ToolContext) {
///     ctx.record(EffectRecord::FileWritten { path });
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("write", r#"{"path": "a"}"#).call("write", r#"{"path": "b"}"#),
/// #     ChatReply::text("Done."),
/// # ]);
/// let recorder = Recorder::new(10_000);
/// let agent = Agent::new(model, tools![write]).observer(recorder.clone());
/// agent.run("Write a and b.").await?;
///
/// assert_eq!(recorder.of_layer("tool").len(), 4);
/// assert_eq!(recorder.of_action("tool", "finished").len(), 2);
/// for ((_run, turn), effects) in recorder.effects() {
///     assert_eq!((turn, effects.len()), (1, 2));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Recorder {
    most: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<Event>,
    forgotten: u64,
}

impl Recorder {
    /// Keeps this many events, and at least one; then the oldest is forgotten.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), kept: Arc::default() }
    }

    /// All events that are kept, the oldest first.
    pub fn events(&self) -> Vec<Event> {
        self.filter(|_| true)
    }

    /// Those of one layer: `run`, `model`, `tool` or `log`.
    pub fn of_layer(&self, layer: &str) -> Vec<Event> {
        self.filter(|event| event.layer() == layer)
    }

    /// Those of one action of a layer, such as `finished` of `tool`.
    pub fn of_action(&self, layer: &str, action: &str) -> Vec<Event> {
        self.filter(|event| event.layer() == layer && event.action() == action)
    }

    /// Those of one call.
    pub fn of_call(&self, call: &CallId) -> Vec<Event> {
        self.filter(|event| event.call() == Some(call))
    }

    /// Those of one run.
    pub fn of_run(&self, run: RunId) -> Vec<Event> {
        self.filter(|event| event.origin.run == run)
    }

    /// Those for which this holds.
    pub fn filter(&self, is_wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        self.lock().events.iter().filter(|event| is_wanted(event)).cloned().collect()
    }

    /// What became of all calls, in the order in which they finished.
    pub fn executions(&self) -> Vec<ToolExecution> {
        self.lock().events.iter().filter_map(Event::finished).cloned().collect()
    }

    /// What tools did to the world, turn by turn of each run; those of calls within calls are of the
    /// turn of the outermost.
    pub fn effects(&self) -> BTreeMap<(RunId, u32), Vec<EffectRecord>> {
        let mut turns = BTreeMap::<_, Vec<_>>::new();
        for event in &self.lock().events {
            let effects = event.finished().map_or(&[][..], |execution| &execution.effects);
            if !effects.is_empty() {
                let turn = (event.origin.run, event.origin.turn);
                turns.entry(turn).or_default().extend_from_slice(effects);
            }
        }
        turns
    }

    /// What tools did to the world on one turn.
    pub fn effects_of(&self, run: RunId, turn: u32) -> Vec<EffectRecord> {
        self.effects().remove(&(run, turn)).unwrap_or_default()
    }

    /// How many events were forgotten.
    pub fn forgotten(&self) -> u64 {
        self.lock().forgotten
    }

    /// Forgets all.
    pub fn clear(&self) {
        *self.lock() = Kept::default();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Recorder {
    fn observe(&self, event: &Event) {
        let event = event.clone();
        let mut kept = self.lock();
        if kept.events.len() >= self.most {
            kept.events.pop_front();
            kept.forgotten += 1;
        }
        kept.events.push_back(event);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.lock();
        f.debug_struct("Recorder")
            .field("events", &kept.events.len())
            .field("forgotten", &kept.forgotten)
            .finish_non_exhaustive()
    }
}
