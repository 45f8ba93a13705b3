//! What an event changes on the screen: decided here, done by whoever draws.

use std::collections::HashMap;
use std::time::Duration;

use super::line::{Line, Sign, beside, indent, reason, shown, time};
use crate::event::money::money;
use crate::event::{
    Event, EventKind, ModelEvent, Origin, Progress, RunEvent, RunId, Speaker, ToolEvent,
    ToolExecution,
};
use crate::message::{CallId, ToolCall, Usage};

/// The code of a run that waits for somebody to decide.
const WAITS: &str = "AWAITING_APPROVAL";

/// A change of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// This goes on, and this is to be seen of it from now on.
    Shown(u64, String),
    /// It goes on no longer.
    Gone(u64),
    /// A line that stays.
    Said(Line),
}

/// What goes on.
#[derive(Debug, Default)]
pub(super) struct Screen {
    running: HashMap<Place, Running>,
    /// What the agents of runs are called.
    names: HashMap<Place, String>,
    begun: u64,
}

/// Where something goes on: in which run, below which call; a call, or the model where none.
type Place = (RunId, u32, Option<CallId>, Option<CallId>);

#[derive(Debug)]
struct Running {
    number: u64,
    name: String,
    about: String,
}

fn place(origin: &Origin, call: Option<&CallId>) -> Place {
    (origin.run, origin.depth, origin.parent.clone(), call.cloned())
}

impl Screen {
    /// What an event changes, where what a model says in it may be shown elsewhere.
    pub(super) fn take(&mut self, event: &Event, is_shown: bool) -> Vec<Change> {
        let origin = &event.origin;
        let line = |sign, text| Change::Said(Line { depth: origin.depth, sign, text });
        match &event.kind {
            EventKind::Run(RunEvent::Started { agent, .. }) => {
                let name = agent.as_deref().map(shown);
                self.names.extend(name.map(|name| (place(origin, None), name)));
                Vec::new()
            }
            // Standing orders are the program's own, and long.
            EventKind::Run(RunEvent::Said { by: Speaker::System, .. }) => Vec::new(),
            EventKind::Run(RunEvent::Said { by, source, text, .. }) => {
                let by = match (by, source) {
                    (Speaker::Loop, _) => "asked for the value".into(),
                    (Speaker::Steering, _) => "steering".into(),
                    (_, Some(source)) => format!("from {}", shown(source)),
                    (_, None) => "asked".into(),
                };
                vec![line(Sign::Told, beside([by, shown(text)]))]
            }
            EventKind::Run(event @ RunEvent::Finished { .. }) => {
                let gone = self.running.remove(&place(origin, None));
                let gone = gone.map(|running| Change::Gone(running.number));
                let unnamed = if origin.parent.is_some() { "agent" } else { "run" };
                let name = self.names.remove(&place(origin, None));
                let (sign, text) = ended(name.unwrap_or_else(|| unnamed.into()), event);
                gone.into_iter().chain([line(sign, text)]).collect()
            }
            EventKind::Model(ModelEvent::Asked) => vec![self.begin(origin, None, "model", "")],
            EventKind::Model(ModelEvent::Replied { text, calls, usage, took, .. }) => {
                let text = if is_shown { "" } else { text };
                let said = (!is_shown || !calls.is_empty())
                    .then(|| line(Sign::Said, reply(text, calls, *usage, *took)));
                self.end(origin, None, said)
            }
            EventKind::Tool(ToolEvent::Started { call }) => {
                let about = shown(&call.arguments.to_text());
                vec![self.begin(origin, Some(&call.id), &shown(&call.name), &about)]
            }
            EventKind::Tool(ToolEvent::Progress { call, progress }) => {
                self.show(origin, Some(call), &far(progress)).into_iter().collect()
            }
            EventKind::Model(
                ModelEvent::ExtractionFailed { reason, attempt, .. }
                | ModelEvent::ValidationFailed { reason, attempt, .. },
            ) => {
                let attempt = format!("attempt {attempt}");
                vec![line(Sign::Again, beside(["model".into(), shown(reason), attempt]))]
            }
            EventKind::Model(ModelEvent::SummaryFailed { reason }) => {
                vec![line(Sign::Failed, beside(["summary".into(), shown(reason)]))]
            }
            EventKind::Tool(ToolEvent::Retried { call, attempt, error, text, pause }) => {
                let name = self.running.get(&place(origin, Some(call)));
                let name = name.map_or_else(|| shown(call.as_str()), |call| call.name.clone());
                let (error, pause) = (shown(error), time(*pause));
                let failed = format!("attempt {attempt} failed with {error}, next in {pause}");
                vec![line(Sign::Again, beside([name, failed, shown(text)]))]
            }
            EventKind::Tool(ToolEvent::Finished(execution)) => {
                let (sign, text) = result(execution);
                self.end(origin, Some(&execution.call.id), Some(line(sign, text)))
            }
            // Also what isn't known here: it is seen where it happens, or else it is a line.
            _ => match self.show(origin, event.call(), event.action()) {
                Some(change) => vec![change],
                None => {
                    let text = format!("{} {}", event.layer(), event.action());
                    vec![line(Sign::Other, text)]
                }
            },
        }
    }

    fn begin(&mut self, origin: &Origin, call: Option<&CallId>, name: &str, about: &str) -> Change {
        // The same once more goes on in its place.
        let running = self.running.entry(place(origin, call)).or_insert_with(|| {
            self.begun += 1;
            Running { number: self.begun, name: String::new(), about: String::new() }
        });
        (running.name, running.about) = (name.into(), about.into());
        Change::Shown(running.number, beside([indent(origin.depth) + name, about.into()]))
    }

    fn show(&self, origin: &Origin, call: Option<&CallId>, now: &str) -> Option<Change> {
        let Running { number, name, about } = self.running.get(&place(origin, call))?;
        let texts = [indent(origin.depth) + name, now.into(), about.clone()];
        Some(Change::Shown(*number, beside(texts)))
    }

    fn end(&mut self, origin: &Origin, call: Option<&CallId>, said: Option<Change>) -> Vec<Change> {
        let gone = self.running.remove(&place(origin, call));
        gone.map(|running| Change::Gone(running.number)).into_iter().chain(said).collect()
    }
}

fn ended(name: String, event: &RunEvent) -> (Sign, String) {
    let RunEvent::Finished { code, error, usage, cost, took } = event else {
        return (Sign::Other, name);
    };
    let sign = match (code.as_deref(), error) {
        (Some(WAITS), _) => Sign::Waits,
        (None, None) => Sign::Done,
        _ => Sign::Failed,
    };
    let tokens = if usage.is_none() { String::new() } else { tokens(*usage) };
    // What nobody has counted has not cost nothing.
    let cost = cost.filter(|_| !usage.is_none());
    let cost = cost.map(|cost| format!("cost {}", money(cost))).unwrap_or_default();
    let error = error.as_deref().map(reason).unwrap_or_default();
    (sign, beside([name, time(*took), tokens, cost, error]))
}

fn tokens(usage: Usage) -> String {
    format!("{} → {} tokens", usage.input, usage.output)
}

fn reply(text: &str, calls: &[ToolCall], usage: Option<Usage>, took: Duration) -> String {
    let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
    let calls =
        if names.is_empty() { String::new() } else { format!("→ {}", shown(&names.join(", "))) };
    let tokens = usage.map(tokens).unwrap_or_default();
    beside(["model".into(), time(took), tokens, shown(text), calls])
}

fn result(execution: &ToolExecution) -> (Sign, String) {
    let sign = match execution {
        _ if execution.is_success() => Sign::Done,
        _ if execution.is_pending() => Sign::Waits,
        _ if execution.is_blocked() => Sign::Held,
        _ => Sign::Failed,
    };
    let code = execution.result.error.as_deref().map(shown).unwrap_or_default();
    let name = shown(&execution.call.name);
    let about = shown(&execution.call.arguments.to_text());
    (sign, beside([name, time(execution.took), code, about]))
}

fn far(progress: &Progress) -> String {
    let Progress { done, total, message } = progress;
    let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = message.as_deref().map(|text| format!(": {}", shown(text)));
    format!("{done}{total}{}", message.unwrap_or_default())
}
