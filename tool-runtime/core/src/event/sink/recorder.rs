use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::{EffectRecord, Event, Observer, RunId, ToolExecution};
use crate::message::CallId;

/// Keeps the latest events in memory.
///
/// Clones share the events: give one to the agent, and query another.
///
/// ```
/// use tool_runtime::event::{FileChange, FileOp, Recorder};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, ToolContext, tool, tools};
///
/// /// Writes a file.
/// #[tool(effect = "write")]
/// async fn write(path: String, ctx: &ToolContext) {
///     ctx.record(FileChange::new(path, FileOp::Write));
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("write", r#"{"path": "a"}"#).call("write", r#"{"path": "b"}"#),
/// #     ChatReply::text("Done."),
/// # ]);
/// let recorder = Recorder::new(10_000);
/// let agent = Agent::new(model, tools![write]).observer(recorder.clone());
/// agent.run("Write a and b.").await?;
///
/// assert_eq!(recorder.executions().len(), 2);
/// for ((_run, turn), effects) in recorder.effects_by_turn() {
///     assert_eq!((turn, effects.len()), (1, 2));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Recorder {
    capacity: usize,
    log: Arc<Mutex<EventLog>>,
}

#[derive(Default)]
struct EventLog {
    events: VecDeque<Event>,
    dropped_count: u64,
}

impl Recorder {
    /// Creates a recorder of at most `capacity` events, and of one at least. Beyond that, each new
    /// event replaces the oldest, which is dropped.
    ///
    /// ```
    /// use tool_runtime::event::Recorder;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let recorder = Recorder::new(10_000);
    /// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
    /// Agent::new(model, Tools::new()).observer(recorder.clone()).run("Hi").await?;
    /// assert_eq!(recorder.events().last().map(|event| event.name()), Some("run.finished"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), log: Arc::default() }
    }

    /// Returns all recorded events, oldest first.
    pub fn events(&self) -> Vec<Event> {
        self.filter(|_| true)
    }

    /// Returns the events of one call.
    pub fn events_of_call(&self, call: &CallId) -> Vec<Event> {
        self.filter(|event| event.call_id() == Some(call))
    }

    /// Returns the events of one run.
    pub fn events_of_run(&self, run: RunId) -> Vec<Event> {
        self.filter(|event| event.origin.run == run)
    }

    /// Returns the events for which the predicate holds, oldest first.
    pub fn filter(&self, predicate: impl Fn(&Event) -> bool) -> Vec<Event> {
        self.lock().events.iter().filter(|event| predicate(event)).cloned().collect()
    }

    /// Returns the executions of all calls, in the order in which they finished.
    pub fn executions(&self) -> Vec<ToolExecution> {
        self.lock().events.iter().filter_map(Event::execution).cloned().collect()
    }

    /// Returns the effects of tools by run and turn. Effects of nested calls belong to the turn of
    /// the outermost call.
    pub fn effects_by_turn(&self) -> BTreeMap<(RunId, u32), Vec<EffectRecord>> {
        let mut turns = BTreeMap::<_, Vec<_>>::new();
        for event in &self.lock().events {
            let effects = event.execution().map_or(&[][..], |execution| &execution.effects);
            if !effects.is_empty() {
                let turn = (event.origin.run, event.origin.turn);
                turns.entry(turn).or_default().extend_from_slice(effects);
            }
        }
        turns
    }

    /// Returns the effects of tools in one turn of a run.
    pub fn effects_of_turn(&self, run: RunId, turn: u32) -> Vec<EffectRecord> {
        self.effects_by_turn().remove(&(run, turn)).unwrap_or_default()
    }

    /// Returns the number of events that were dropped because the recorder was full.
    pub fn dropped_count(&self) -> u64 {
        self.lock().dropped_count
    }

    /// Removes all events, and resets the number of dropped events.
    pub fn clear(&self) {
        *self.lock() = EventLog::default();
    }

    fn lock(&self) -> MutexGuard<'_, EventLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Recorder {
    fn observe(&self, event: &Event) {
        let event = event.clone();
        let mut log = self.lock();
        if log.events.len() >= self.capacity {
            log.events.pop_front();
            log.dropped_count += 1;
        }
        log.events.push_back(event);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.lock();
        f.debug_struct("Recorder")
            .field("events", &log.events.len())
            .field("dropped_count", &log.dropped_count)
            .finish_non_exhaustive()
    }
}
