//! Conversion of events into rows: a row joins the event that starts something with the one that
//! ends it, and belongs to the call or run that made it.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::row::{Form, Mark, Note, Row, RowKind, RowState, one_line};
use super::{details, micros};
use tool_core::event::{EventKind, LogEvent, ModelEvent, Origin, RunEvent, RunId, ToolEvent};
use tool_core::{CallId, Event, ToolCall, ToolExecution};

/// Rows in the order of their first events.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub rows: Vec<Row>,
    pub events: u64,
    pub dropped: u64,
    scopes: HashMap<ScopeKey, OpenRows>,
    /// Last row of each run.
    runs: HashMap<ScopeKey, usize>,
    /// Last call of an id within a scope.
    calls: HashMap<(ScopeKey, CallId), usize>,
    /// Last call of an id at a depth of a run, and of an id anywhere: nested calls come from
    /// another scope.
    callers: HashMap<(RunId, u32, CallId), usize>,
    all_callers: HashMap<CallId, usize>,
    /// Outermost row of each row, and the time of the last event in each outermost row.
    roots: Vec<usize>,
    last_events: HashMap<usize, u64>,
}

/// Group of events: a run, or the calls that one of its calls makes.
type ScopeKey = (RunId, u32, Option<CallId>);

/// Code of a run that waits for a decision.
const AWAITING_APPROVAL: &str = "AWAITING_APPROVAL";

/// Unfinished rows of a scope.
#[derive(Debug, Default)]
struct OpenRows {
    run: Option<usize>,
    model: Option<usize>,
    /// Last reply of the model, which may still fail extraction or validation.
    replied: Option<usize>,
}

fn scope(origin: &Origin) -> ScopeKey {
    (origin.run, origin.depth, origin.parent.clone())
}

fn since_1970(at: SystemTime) -> u64 {
    micros(at.duration_since(UNIX_EPOCH).unwrap_or_default())
}

impl Trace {
    pub(super) fn add(&mut self, event: &Event) {
        self.events += 1;
        let (origin, at) = (&event.origin, since_1970(event.at));
        match &event.kind {
            EventKind::Run(RunEvent::Started { parent_run, agent, session, metadata }) => {
                let place = self.run_started(origin, *parent_run, agent.as_deref(), at);
                if let Some(row) = self.rows.get_mut(place) {
                    details::of_run(row, session.as_deref(), metadata);
                }
            }
            EventKind::Run(RunEvent::MessageAdded {
                source,
                source_name,
                text,
                attachments,
                ..
            }) => {
                let index = self.run(origin, at);
                if let Some(row) = self.touch(index, at) {
                    details::of_message(
                        row,
                        (at, origin.turn == 0),
                        (*source, source_name.as_deref()),
                        text,
                        attachments,
                    );
                }
            }
            EventKind::Run(event @ RunEvent::Finished { duration, .. }) => {
                self.run_finished(origin, at, *duration, event);
            }
            EventKind::Model(ModelEvent::Requested { .. }) => {
                self.model_requested(origin, at);
            }
            EventKind::Model(event @ ModelEvent::Replied { usage, duration, .. }) => {
                if let Some(row) = self.model_replied(origin, at, *duration) {
                    row.usage = *usage;
                    details::of_reply(row, event);
                }
            }
            EventKind::Model(event @ ModelEvent::Failed { code, usage, duration, .. }) => {
                if let Some(row) = self.model_replied(origin, at, *duration) {
                    (row.usage, row.code) = (*usage, Some(code.clone()));
                    row.state = RowState::Failed;
                    details::of_failed_request(row, event);
                }
            }
            EventKind::Tool(ToolEvent::Running { call, attempt: 1 }) => {
                let index = self.calls.get(&(scope(origin), call.clone())).copied();
                if let Some(row) = index.and_then(|index| self.touch(index, at)) {
                    row.waited = at.saturating_sub(row.start);
                }
            }
            EventKind::Tool(ToolEvent::Running { .. }) => {}
            EventKind::Tool(ToolEvent::Started { call, .. }) => {
                self.tool_started(origin, at, call);
            }
            EventKind::Tool(ToolEvent::Finished(execution)) => {
                self.tool_finished(origin, at, execution);
            }
            _ => self.note(event, at),
        }
    }

    fn run_started(
        &mut self,
        origin: &Origin,
        parent_run: Option<RunId>,
        agent: Option<&str>,
        at: u64,
    ) -> usize {
        let mut outer = origin.clone();
        outer.run = parent_run.unwrap_or(origin.run);
        let parent = self.caller(&outer);
        let unnamed = if parent.is_some() { "agent" } else { "run" };
        let name = agent.unwrap_or(unnamed);
        let index = self.begin_run(origin, parent, name, at);
        self.scopes.insert(scope(origin), OpenRows { run: Some(index), ..OpenRows::default() });
        index
    }

    fn run_finished(&mut self, origin: &Origin, at: u64, duration: Duration, event: &RunEvent) {
        let RunEvent::Finished { code, error, usage, usage_by_model, cost, .. } = event else {
            return;
        };
        let index = self.run(origin, at.saturating_sub(micros(duration)));
        let open = self.scopes.remove(&scope(origin)).unwrap_or_default();
        if let Some(row) = self.end(index, at) {
            row.state = match code.as_deref() {
                None => RowState::Done,
                Some(AWAITING_APPROVAL) => RowState::Waiting,
                Some(_) => RowState::Failed,
            };
            row.code.clone_from(code);
            row.usage = (!usage.is_zero()).then_some(*usage);
            // Without a token count, the cost is unknown, not zero.
            row.cost = cost.filter(|_| row.usage.is_some() || !row.has_model_requests);
            details::of_models(row, usage_by_model);
            details::of_end(row, error.as_deref());
        }
        // A run that has ended receives no reply.
        if let Some(row) = open.model.and_then(|index| self.end(index, at)) {
            row.state = RowState::Failed;
            row.code = Some("no reply".into());
            details::of_end(row, error.as_deref());
        }
    }

    fn model_requested(&mut self, origin: &Origin, at: u64) -> usize {
        // A new request replaces one without a reply.
        self.model_unanswered(origin, at);
        let parent = self.run(origin, at);
        if let Some(run) = self.rows.get_mut(parent) {
            run.has_model_requests = true;
        }
        let row = Row { kind: RowKind::Model, name: "model".into(), start: at, ..Row::default() };
        let index = self.begin(origin, Some(parent), row);
        self.scopes.entry(scope(origin)).or_default().model = Some(index);
        index
    }

    fn model_unanswered(&mut self, origin: &Origin, at: u64) {
        let open = self.scopes.get_mut(&scope(origin)).and_then(|open| open.model.take());
        if let Some(row) = open.and_then(|index| self.end(index, at)) {
            row.state = RowState::Failed;
            row.code = Some("no reply".into());
        }
    }

    fn model_replied(&mut self, origin: &Origin, at: u64, duration: Duration) -> Option<&mut Row> {
        let open = self.scopes.get_mut(&scope(origin)).and_then(|open| open.model.take());
        let index = open
            .unwrap_or_else(|| self.model_requested(origin, at.saturating_sub(micros(duration))));
        let open = self.scopes.entry(scope(origin)).or_default();
        open.model = None;
        open.replied = Some(index);
        self.end(index, at)
    }

    fn tool_started(&mut self, origin: &Origin, at: u64, call: &ToolCall) -> usize {
        let parent = self.scope_row(origin, at);
        let mut row =
            Row { kind: RowKind::Tool, name: call.name.clone(), start: at, ..Row::default() };
        row.summary = one_line(&call.arguments.to_text());
        details::of_call(&mut row, call);
        let index = self.begin(origin, Some(parent), row);
        let before = self.calls.insert((scope(origin), call.id.clone()), index);
        if let Some(row) = before.and_then(|index| self.rows.get_mut(index)) {
            row.is_continued |= matches!(row.state, RowState::Waiting | RowState::Open);
        }
        self.callers.insert((origin.run, origin.depth, call.id.clone()), index);
        self.all_callers.insert(call.id.clone(), index);
        index
    }

    fn tool_finished(&mut self, origin: &Origin, at: u64, execution: &ToolExecution) {
        let key = (scope(origin), execution.call.id.clone());
        let open =
            self.calls.get(&key).copied().filter(|index| {
                self.rows.get(*index).is_some_and(|row| row.state == RowState::Open)
            });
        let run_row = self.scope_row(origin, at);
        let index = open.unwrap_or_else(|| {
            let started = at.saturating_sub(micros(execution.duration));
            self.tool_started(origin, started, &execution.call)
        });
        // The end of a call that started before the run was resumed was not observed.
        let was_observed = self.rows.get(index).is_none_or(|row| row.parent == Some(run_row));
        let last_event = self.roots.get(index).and_then(|root| self.last_events.get(root)).copied();
        let ended = last_event.filter(|_| !was_observed).unwrap_or(at);
        let Some(row) = self.end(index, ended) else { return };
        let failure = execution.result.error.clone();
        (row.state, row.code) = match execution.blocked_by {
            _ if execution.is_pending() => (RowState::Waiting, failure),
            Some(gate) => (RowState::Blocked, Some(details::serialized_name(&gate))),
            None if execution.is_success() => (RowState::Done, None),
            None => (RowState::Failed, failure),
        };
        row.marks = [
            (execution.was_retried(), Mark::Retried),
            (execution.was_repaired(), Mark::Repaired),
            (execution.cached, Mark::Cached),
        ]
        .into_iter()
        .filter_map(|(is_set, mark)| is_set.then_some(mark))
        .collect();
        details::of_execution(row, execution);
    }

    /// Adds an event that neither starts nor ends anything, as a note of its row or as a separate
    /// row.
    fn note(&mut self, event: &Event, at: u64) {
        let origin = &event.origin;
        if let EventKind::Log(LogEvent::Dropped { count }) = event.kind {
            self.dropped = self.dropped.saturating_add(count);
        }
        let index = match (event.call_id(), &event.kind) {
            (Some(call), _) => self.calls.get(&(scope(origin), call.clone())).copied(),
            (None, EventKind::Model(_)) => {
                self.scopes.get(&scope(origin)).and_then(|open| open.model.or(open.replied))
            }
            (None, _) => None,
        };
        let text = details::of_note(event);
        let is_refusal = matches!(
            event.kind,
            EventKind::Model(
                ModelEvent::ExtractionFailed { .. } | ModelEvent::ValidationFailed { .. }
            )
        );
        if let Some(row) = index.and_then(|index| self.touch(index, at)) {
            if is_refusal && !row.marks.contains(&Mark::Refused) {
                row.marks.push(Mark::Refused);
            }
            row.note(Note::new(at, event.name(), text));
            return;
        }
        let parent = self.scope_row(origin, at);
        let name = event.name().to_owned();
        let mut row = Row { name, start: at, summary: one_line(&text), ..Row::default() };
        row.text("Data", text, Form::Plain);
        let index = self.begin(origin, Some(parent), row);
        if let Some(row) = self.end(index, at) {
            row.state = RowState::Done;
        }
    }

    /// Returns the row of the run, and starts it if its start was not recorded.
    fn run(&mut self, origin: &Origin, at: u64) -> usize {
        if let Some(index) = self.scopes.get(&scope(origin)).and_then(|open| open.run) {
            return index;
        }
        let parent = self.caller(origin);
        let is_run = origin.run != RunId::default();
        let name = match (is_run, parent) {
            (_, Some(_)) => "agent",
            (true, None) => "run",
            (false, None) => "outside runs",
        };
        let index = self.begin_run(origin, parent, name, at);
        self.scopes.entry(scope(origin)).or_default().run = Some(index);
        index
    }

    /// Returns the parent of the calls of a scope: its run, or the call that made them if no run
    /// was started within it.
    fn scope_row(&mut self, origin: &Origin, at: u64) -> usize {
        let run = self.scopes.get(&scope(origin)).and_then(|open| open.run);
        match run.or_else(|| self.caller(origin)) {
            Some(index) => index,
            // If the caller is unknown, the row belongs to the run.
            None => self.run(&Origin::new(origin.run, origin.turn), at),
        }
    }

    /// Returns the call whose tool emitted the event.
    fn caller(&self, origin: &Origin) -> Option<usize> {
        let call = origin.parent.as_ref()?;
        let caller = (origin.run, origin.depth.saturating_sub(1), call.clone());
        self.callers.get(&caller).or_else(|| self.all_callers.get(call)).copied()
    }

    fn begin_run(&mut self, origin: &Origin, parent: Option<usize>, name: &str, at: u64) -> usize {
        let mut row = Row { kind: RowKind::Run, name: name.into(), start: at, ..Row::default() };
        details::of_start(&mut row, origin);
        let index = self.begin(origin, parent, row);
        // A resumed run is the same run.
        if origin.run != RunId::default()
            && let Some(before) = self.runs.insert(scope(origin), index)
        {
            let earlier = self.rows.get_mut(before).map(|row| {
                row.is_continued = true;
                (row.start, row.prompt.clone(), row.has_model_requests)
            });
            if let (Some(row), Some((start, prompt, has_model_requests))) =
                (self.rows.get_mut(index), earlier)
            {
                row.previous = Some(before);
                row.has_model_requests = has_model_requests;
                details::of_resumed_run(row, start, prompt);
            }
        }
        index
    }

    fn begin(&mut self, origin: &Origin, parent: Option<usize>, mut row: Row) -> usize {
        let index = self.rows.len();
        (row.parent, row.turn, row.state, row.end) =
            (parent, origin.turn, RowState::Open, row.start);
        let root = parent.and_then(|parent| self.roots.get(parent)).copied().unwrap_or(index);
        self.roots.push(root);
        let start = row.start;
        self.rows.push(row);
        self.touch(index, start);
        index
    }

    fn touch(&mut self, index: usize, at: u64) -> Option<&mut Row> {
        let last_events = self.last_events.entry(*self.roots.get(index)?).or_default();
        *last_events = at.max(*last_events);
        self.rows.get_mut(index)
    }

    fn end(&mut self, index: usize, at: u64) -> Option<&mut Row> {
        let row = self.touch(index, at)?;
        // If the clock was set back, a row still does not end before it started.
        row.end = at.max(row.start);
        row.state = RowState::Done;
        Some(row)
    }

    /// Returns the rows. Unfinished ones end at the last event of their outermost row.
    pub(super) fn into_rows(mut self) -> Vec<Row> {
        for (row, root) in self.rows.iter_mut().zip(&self.roots) {
            if row.state == RowState::Open {
                row.end = row.start.max(self.last_events.get(root).copied().unwrap_or_default());
            }
        }
        self.rows
    }
}

#[cfg(test)]
mod tests;
