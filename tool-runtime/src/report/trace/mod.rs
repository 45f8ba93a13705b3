//! Events become rows: what began is joined with what ended it, and hangs below what it was made by.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::row::{Form, Kind, Mark, Note, Row, State, on_one_line};
use super::{details, micros};
use crate::event::{
    Event, EventKind, LogEvent, ModelEvent, Origin, RunEvent, RunId, ToolEvent, ToolExecution,
};
use crate::message::{CallId, ToolCall};

/// All that was told, as rows in the order in which they began to be told of.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub rows: Vec<Row>,
    pub events: u64,
    pub lost: u64,
    scopes: HashMap<Scope, Open>,
    /// The last row of each run.
    runs: HashMap<Scope, usize>,
    /// The last call of an id within a scope.
    calls: HashMap<(Scope, CallId), usize>,
    /// The last call of an id at a depth of a run, and of an id at all: whoever is called by it comes
    /// from another scope.
    callers: HashMap<(RunId, u32, CallId), usize>,
    all_callers: HashMap<CallId, usize>,
    /// Of each row, the outermost row around it; and when one was last heard of.
    roots: Vec<usize>,
    heard: HashMap<usize, u64>,
}

/// Where events belong together: in a run, or in what a call of it makes.
type Scope = (RunId, u32, Option<CallId>);

/// The code of a run that waits for somebody to decide.
const WAITS: &str = "AWAITING_APPROVAL";

/// What has no end yet.
#[derive(Debug, Default)]
struct Open {
    run: Option<usize>,
    model: Option<usize>,
    /// The model's last reply, which may turn out not to be what was asked for.
    replied: Option<usize>,
}

fn scope(origin: &Origin) -> Scope {
    (origin.run, origin.depth, origin.parent.clone())
}

fn since_1970(at: SystemTime) -> u64 {
    micros(at.duration_since(UNIX_EPOCH).unwrap_or_default())
}

impl Trace {
    pub(super) fn take(&mut self, event: &Event) {
        self.events += 1;
        let (origin, at) = (&event.origin, since_1970(event.at));
        match &event.kind {
            EventKind::Run(RunEvent::Started { within, agent, session }) => {
                let place = self.run_started(origin, *within, agent.as_deref(), at);
                if let (Some(session), Some(row)) = (session, self.rows.get_mut(place)) {
                    details::of_session(row, session);
                }
            }
            EventKind::Run(RunEvent::Said { by, source, text, images }) => {
                let place = self.run(origin, at);
                if let Some(row) = self.hear(place, at) {
                    details::of_said(
                        row,
                        (at, origin.turn == 0),
                        (*by, source.as_deref()),
                        text,
                        *images,
                    );
                }
            }
            EventKind::Run(event @ RunEvent::Finished { took, .. }) => {
                self.run_finished(origin, at, *took, event);
            }
            EventKind::Model(ModelEvent::Asked) => {
                self.model_asked(origin, at);
            }
            EventKind::Model(ModelEvent::Replied { text, reasoning, calls, usage, took }) => {
                if let Some(row) = self.model_replied(origin, at, *took) {
                    row.usage = *usage;
                    details::of_reply(row, text, reasoning.as_deref(), calls);
                }
            }
            EventKind::Tool(ToolEvent::Started { call }) => {
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
        within: Option<RunId>,
        agent: Option<&str>,
        at: u64,
    ) -> usize {
        let outer = Origin { run: within.unwrap_or(origin.run), ..origin.clone() };
        let parent = self.caller(&outer);
        let unnamed = if parent.is_some() { "agent" } else { "run" };
        let name = agent.unwrap_or(unnamed);
        let place = self.begin_run(origin, parent, name, at);
        self.scopes.insert(scope(origin), Open { run: Some(place), ..Open::default() });
        place
    }

    fn run_finished(&mut self, origin: &Origin, at: u64, took: Duration, event: &RunEvent) {
        let RunEvent::Finished { code, error, usage, cost, .. } = event else { return };
        let place = self.run(origin, at.saturating_sub(micros(took)));
        let open = self.scopes.remove(&scope(origin)).unwrap_or_default();
        if let Some(row) = self.end(place, at) {
            (row.state, row.code) = match (code.as_deref(), error) {
                (None, None) => (State::Done, None),
                (Some(WAITS), _) => (State::Waiting, code.clone()),
                // A log of before there were codes.
                (None, Some(_)) => (State::Failed, Some("stopped".into())),
                (Some(_), _) => (State::Failed, code.clone()),
            };
            row.usage = (!usage.is_none()).then_some(*usage);
            // Where nobody has counted, what was spent is not nothing.
            row.cost = cost.filter(|_| row.usage.is_some() || !row.has_spent);
            details::of_end(row, error.as_deref());
        }
        // Nobody answers a run that is over.
        if let Some(row) = open.model.and_then(|place| self.end(place, at)) {
            (row.state, row.code) = (State::Failed, Some("no reply".into()));
            details::of_end(row, error.as_deref());
        }
    }

    fn model_asked(&mut self, origin: &Origin, at: u64) -> usize {
        // A question that comes before the answer to the last one takes its place.
        self.model_given_up(origin, at);
        let parent = self.run(origin, at);
        if let Some(run) = self.rows.get_mut(parent) {
            run.has_spent = true;
        }
        let row = Row { kind: Kind::Model, name: "model".into(), start: at, ..Row::default() };
        let place = self.begin(origin, Some(parent), row);
        self.scopes.entry(scope(origin)).or_default().model = Some(place);
        place
    }

    fn model_given_up(&mut self, origin: &Origin, at: u64) {
        let open = self.scopes.get_mut(&scope(origin)).and_then(|open| open.model.take());
        if let Some(row) = open.and_then(|place| self.end(place, at)) {
            (row.state, row.code) = (State::Failed, Some("no reply".into()));
        }
    }

    fn model_replied(&mut self, origin: &Origin, at: u64, took: Duration) -> Option<&mut Row> {
        let open = self.scopes.get_mut(&scope(origin)).and_then(|open| open.model.take());
        let place =
            open.unwrap_or_else(|| self.model_asked(origin, at.saturating_sub(micros(took))));
        let open = self.scopes.entry(scope(origin)).or_default();
        (open.model, open.replied) = (None, Some(place));
        self.end(place, at)
    }

    fn tool_started(&mut self, origin: &Origin, at: u64, call: &ToolCall) -> usize {
        let parent = self.scope_row(origin, at);
        let mut row =
            Row { kind: Kind::Tool, name: call.name.clone(), start: at, ..Row::default() };
        row.summary = on_one_line(&call.arguments.to_text());
        details::of_call(&mut row, call);
        let place = self.begin(origin, Some(parent), row);
        let before = self.calls.insert((scope(origin), call.id.clone()), place);
        if let Some(row) = before.and_then(|place| self.rows.get_mut(place)) {
            row.goes_on |= matches!(row.state, State::Waiting | State::Open);
        }
        self.callers.insert((origin.run, origin.depth, call.id.clone()), place);
        self.all_callers.insert(call.id.clone(), place);
        place
    }

    fn tool_finished(&mut self, origin: &Origin, at: u64, execution: &ToolExecution) {
        let key = (scope(origin), execution.call.id.clone());
        let open = self
            .calls
            .get(&key)
            .copied()
            .filter(|place| self.rows.get(*place).is_some_and(|row| row.state == State::Open));
        let stretch = self.scope_row(origin, at);
        let place = open.unwrap_or_else(|| {
            let started = at.saturating_sub(micros(execution.took));
            self.tool_started(origin, started, &execution.call)
        });
        // Nobody saw one end that began before the run was gone on with.
        let was_seen = self.rows.get(place).is_none_or(|row| row.parent == Some(stretch));
        let last_heard = self.roots.get(place).and_then(|root| self.heard.get(root)).copied();
        let ended = last_heard.filter(|_| !was_seen).unwrap_or(at);
        let Some(row) = self.end(place, ended) else { return };
        let failure = execution.result.error.clone();
        (row.state, row.code) = match execution.blocked_by {
            _ if execution.is_pending() => (State::Waiting, failure),
            Some(gate) => (State::Blocked, Some(details::word(&gate))),
            None if execution.is_success() => (State::Done, None),
            None => (State::Failed, failure),
        };
        row.marks = [
            (execution.was_retried(), Mark::Retried),
            (execution.was_repaired(), Mark::Repaired),
            (execution.remembered, Mark::Remembered),
        ]
        .into_iter()
        .filter_map(|(is_so, mark)| is_so.then_some(mark))
        .collect();
        details::of_execution(row, execution);
    }

    /// What neither begins nor ends anything is said of what it happened to; or is a row of its own.
    fn note(&mut self, event: &Event, at: u64) {
        let origin = &event.origin;
        if let EventKind::Log(LogEvent::Lost { count }) = event.kind {
            self.lost = self.lost.saturating_add(count);
        }
        let place = match (event.call(), &event.kind) {
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
        if let Some(row) = place.and_then(|place| self.hear(place, at)) {
            if is_refusal && !row.marks.contains(&Mark::Refused) {
                row.marks.push(Mark::Refused);
            }
            row.note(Note::new(at, event.action(), text));
            return;
        }
        let parent = self.scope_row(origin, at);
        let name = format!("{} {}", event.layer(), event.action());
        let mut row = Row { name, start: at, summary: on_one_line(&text), ..Row::default() };
        row.text("Told", text, Form::Plain);
        let place = self.begin(origin, Some(parent), row);
        if let Some(row) = self.end(place, at) {
            row.state = State::Done;
        }
    }

    /// The run that this happened in, begun where that wasn't told of.
    fn run(&mut self, origin: &Origin, at: u64) -> usize {
        if let Some(place) = self.scopes.get(&scope(origin)).and_then(|open| open.run) {
            return place;
        }
        let parent = self.caller(origin);
        let is_run = origin.run != RunId::default();
        let name = match (is_run, parent) {
            (_, Some(_)) => "agent",
            (true, None) => "run",
            (false, None) => "outside of runs",
        };
        let place = self.begin_run(origin, parent, name, at);
        self.scopes.entry(scope(origin)).or_default().run = Some(place);
        place
    }

    /// What calls of this scope hang below: its run; or the call that made them, where no run was begun
    /// within that.
    fn scope_row(&mut self, origin: &Origin, at: u64) -> usize {
        let run = self.scopes.get(&scope(origin)).and_then(|open| open.run);
        match run.or_else(|| self.caller(origin)) {
            Some(place) => place,
            // Its caller isn't known: better below its run than nowhere.
            None => self.run(&Origin::new(origin.run, origin.turn), at),
        }
    }

    /// The call whose tool did this.
    fn caller(&self, origin: &Origin) -> Option<usize> {
        let call = origin.parent.as_ref()?;
        let within = (origin.run, origin.depth.saturating_sub(1), call.clone());
        self.callers.get(&within).or_else(|| self.all_callers.get(call)).copied()
    }

    fn begin_run(&mut self, origin: &Origin, parent: Option<usize>, name: &str, at: u64) -> usize {
        let mut row = Row { kind: Kind::Run, name: name.into(), start: at, ..Row::default() };
        details::of_start(&mut row, origin);
        let place = self.begin(origin, parent, row);
        // A run that goes on is the same run.
        if origin.run != RunId::default()
            && let Some(before) = self.runs.insert(scope(origin), place)
        {
            let was = self.rows.get_mut(before).map(|row| {
                row.goes_on = true;
                (row.start, row.asked.clone(), row.has_spent)
            });
            if let (Some(row), Some((began, asked, has_spent))) = (self.rows.get_mut(place), was) {
                (row.before, row.has_spent) = (Some(before), has_spent);
                details::of_more(row, began, asked);
            }
        }
        place
    }

    fn begin(&mut self, origin: &Origin, parent: Option<usize>, mut row: Row) -> usize {
        let place = self.rows.len();
        (row.parent, row.turn, row.state, row.end) = (parent, origin.turn, State::Open, row.start);
        let root = parent.and_then(|parent| self.roots.get(parent)).copied().unwrap_or(place);
        self.roots.push(root);
        let start = row.start;
        self.rows.push(row);
        self.hear(place, start);
        place
    }

    fn hear(&mut self, place: usize, at: u64) -> Option<&mut Row> {
        let heard = self.heard.entry(*self.roots.get(place)?).or_default();
        *heard = at.max(*heard);
        self.rows.get_mut(place)
    }

    fn end(&mut self, place: usize, at: u64) -> Option<&mut Row> {
        let row = self.hear(place, at)?;
        // A clock that was set back makes nothing end before it began.
        row.end = at.max(row.start);
        row.state = State::Done;
        Some(row)
    }

    /// The rows; those without an end reach to when the outermost row around them was last heard of.
    pub(super) fn into_rows(mut self) -> Vec<Row> {
        for (row, root) in self.rows.iter_mut().zip(&self.roots) {
            if row.state == State::Open {
                row.end = row.start.max(self.heard.get(root).copied().unwrap_or_default());
            }
        }
        self.rows
    }
}

#[cfg(test)]
mod tests;
