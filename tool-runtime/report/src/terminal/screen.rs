//! Changes of the screen for an event; the display renders them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::Value;

use super::line::{Line, Sign, error_excerpt, excerpt, indent, join_columns, time};
use tool_core::__workspace::format_amount;
use tool_core::event::{
    Attachment, EventKind, MessageSource, ModelEvent, Origin, Plan, Progress, RunEvent, RunId,
    StepStatus, ToolEvent,
};
use tool_core::message::{ModelUsage, Source};
use tool_core::{CallId, Event, ToolCall, ToolExecution, Usage};

/// Code of a run that waits for a decision.
const AWAITING_APPROVAL: &str = "AWAITING_APPROVAL";

/// The highest number of sources of a reply that are shown.
const MAX_SOURCES: usize = 5;

/// Change of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Shows an activity, or replaces its text.
    Show(u64, String),
    /// Removes an activity.
    Remove(u64),
    /// Prints a permanent line.
    Print(Line),
}

/// Running activities.
#[derive(Debug, Default)]
pub(super) struct Screen {
    running: HashMap<ActivityKey, Activity>,
    /// Names of the agents of runs.
    names: HashMap<ActivityKey, String>,
    started: u64,
}

/// Identifies an activity by its run, its parent call, and its call, which is `None` for the model.
type ActivityKey = (RunId, u32, Option<CallId>, Option<CallId>);

#[derive(Debug)]
struct Activity {
    number: u64,
    name: String,
    arguments: String,
}

fn key(origin: &Origin, call: Option<&CallId>) -> ActivityKey {
    (origin.run, origin.depth, origin.parent.clone(), call.cloned())
}

impl Screen {
    /// Returns the changes for an event. `shows_text` is true if the program's output contains the
    /// model's text.
    pub(super) fn observe(&mut self, event: &Event, shows_text: bool) -> Vec<Change> {
        let origin = &event.origin;
        let line = |sign, text| Change::Print(Line { depth: origin.depth, sign, text });
        match &event.kind {
            EventKind::Run(RunEvent::Started { agent, .. }) => {
                let name = agent.as_deref().map(excerpt);
                self.names.extend(name.map(|name| (key(origin, None), name)));
                Vec::new()
            }
            // System messages come from the program itself and are long.
            EventKind::Run(RunEvent::MessageAdded { source: MessageSource::System, .. }) => {
                Vec::new()
            }
            EventKind::Run(RunEvent::MessageAdded { source, source_name, text, .. }) => {
                let sender = match (source, source_name) {
                    (MessageSource::Loop, _) => "value requested".into(),
                    (MessageSource::Steering, _) => "steering".into(),
                    (_, Some(name)) => format!("from {}", excerpt(name)),
                    (_, None) => "prompt".into(),
                };
                vec![line(Sign::Message, join_columns([sender, excerpt(text)]))]
            }
            EventKind::Run(RunEvent::RuleUnmatched(rule)) => {
                vec![line(Sign::Failed, join_columns(["rule".into(), excerpt(&rule.to_string())]))]
            }
            EventKind::Run(RunEvent::StateEvicted) => {
                let text = "approvals and secrets of a run were evicted";
                vec![line(Sign::Failed, join_columns(["dispatcher".into(), text.into()]))]
            }
            EventKind::Run(
                RunEvent::LeaseRenewalFailed { session, error }
                | RunEvent::LeaseReleaseFailed { session, error }
                | RunEvent::InboxFailed { session, error },
            ) => {
                let columns = ["session".into(), excerpt(session), excerpt(error)];
                vec![line(Sign::Failed, join_columns(columns))]
            }
            EventKind::Run(event @ RunEvent::Finished { .. }) => {
                let removed = self.running.remove(&key(origin, None));
                let removed = removed.map(|running| Change::Remove(running.number));
                let unnamed = if origin.parent.is_some() { "agent" } else { "run" };
                let name = self.names.remove(&key(origin, None));
                let (sign, text) = run_end(name.unwrap_or_else(|| unnamed.into()), event);
                let of_models =
                    model_usage_texts(event).into_iter().map(|text| line(Sign::Other, text));
                removed.into_iter().chain([line(sign, text)]).chain(of_models).collect()
            }
            EventKind::Model(ModelEvent::Requested { .. }) => {
                vec![self.begin(origin, None, "model", "")]
            }
            EventKind::Model(ModelEvent::Replied {
                text,
                calls,
                sources,
                attachments,
                usage,
                duration,
                ..
            }) => {
                let text = if shows_text { "" } else { text };
                let reply_line = (!shows_text || !calls.is_empty())
                    .then(|| line(Sign::Reply, reply_text(text, calls, *usage, *duration)));
                let source_lines = source_texts(sources)
                    .into_iter()
                    .map(|text| line(Sign::Reply, join_columns(["source".into(), text])));
                let file_lines = attachments.iter().map(|file| {
                    line(Sign::Reply, join_columns(["file".into(), attachment_text(file)]))
                });
                let reply = self.end(origin, None, reply_line).into_iter();
                reply.chain(file_lines).chain(source_lines).collect()
            }
            EventKind::Tool(ToolEvent::Started { call, .. }) => {
                let arguments = excerpt(&call.arguments.to_text());
                vec![self.begin(origin, Some(&call.id), &excerpt(&call.name), &arguments)]
            }
            EventKind::Tool(ToolEvent::Progress { call, progress }) => {
                self.show(origin, Some(call), &progress_text(progress)).into_iter().collect()
            }
            EventKind::Tool(ToolEvent::Running { .. }) => Vec::new(),
            EventKind::Tool(ToolEvent::Abandoned { tool, error, .. }) => {
                let failed = |error: &String| {
                    let text = "the work of an abandoned call may still run".to_owned();
                    line(Sign::Failed, join_columns([excerpt(tool), text, excerpt(error)]))
                };
                error.as_ref().map(failed).into_iter().collect()
            }
            EventKind::Tool(ToolEvent::OutputEmitted { call, text }) => {
                let last = text.lines().rfind(|line| !line.trim().is_empty());
                last.and_then(|last| self.show(origin, Some(call), &excerpt(last)))
                    .into_iter()
                    .collect()
            }
            EventKind::Tool(ToolEvent::DataEmitted { call, name, data }) => {
                let text = if name == Plan::NAME { plan_text(data) } else { excerpt(name) };
                self.show(origin, Some(call), &text).into_iter().collect()
            }
            EventKind::Tool(ToolEvent::QuestionAsked { tool, question, .. }) => {
                vec![line(Sign::Pending, join_columns([excerpt(tool), excerpt(question)]))]
            }
            EventKind::Model(ModelEvent::Failed { code, error, usage, duration, .. }) => {
                let used = usage.map(tokens).unwrap_or_default();
                let columns =
                    ["model".into(), excerpt(code), time(*duration), used, error_excerpt(error)];
                self.end(origin, None, Some(line(Sign::Failed, join_columns(columns))))
            }
            EventKind::Model(ModelEvent::ReplyReplaced { text }) => {
                let columns = ["model".into(), "a hook replaced the reply".into(), excerpt(text)];
                vec![line(Sign::Failed, join_columns(columns))]
            }
            EventKind::Model(
                ModelEvent::ExtractionFailed { reason, attempt, .. }
                | ModelEvent::ValidationFailed { reason, attempt, .. },
            ) => {
                let attempt = format!("attempt {attempt}");
                vec![line(Sign::Retry, join_columns(["model".into(), excerpt(reason), attempt]))]
            }
            EventKind::Model(ModelEvent::SummaryFailed { reason }) => {
                vec![line(Sign::Failed, join_columns(["summary".into(), excerpt(reason)]))]
            }
            EventKind::Model(
                ModelEvent::HookWarning { reason } | ModelEvent::ClientWarning { reason },
            ) => {
                vec![line(Sign::Failed, join_columns(["hook".into(), excerpt(reason)]))]
            }
            EventKind::Tool(ToolEvent::Retried { call, attempt, error, text, delay }) => {
                let name = self.running.get(&key(origin, Some(call)));
                let name = name.map_or_else(|| excerpt(call.as_str()), |call| call.name.clone());
                let (error, delay) = (excerpt(error), time(*delay));
                let failed = format!("attempt {attempt} failed with {error}, next in {delay}");
                vec![line(Sign::Retry, join_columns([name, failed, excerpt(text)]))]
            }
            EventKind::Tool(ToolEvent::Finished(execution)) => {
                let (sign, text) = execution_result(execution);
                self.end(origin, Some(&execution.call.id), Some(line(sign, text)))
            }
            // Includes unknown events: they update the activity that they belong to, or else become
            // a line.
            _ => match self.show(origin, event.call_id(), event.name()) {
                Some(change) => vec![change],
                None => {
                    let text = event.name().to_owned();
                    vec![line(Sign::Other, text)]
                }
            },
        }
    }

    fn begin(
        &mut self,
        origin: &Origin,
        call: Option<&CallId>,
        name: &str,
        arguments: &str,
    ) -> Change {
        // A repeated start replaces the activity.
        let running = self.running.entry(key(origin, call)).or_insert_with(|| {
            self.started += 1;
            Activity { number: self.started, name: String::new(), arguments: String::new() }
        });
        running.name = name.into();
        running.arguments = arguments.into();
        Change::Show(running.number, join_columns([indent(origin.depth) + name, arguments.into()]))
    }

    fn show(&self, origin: &Origin, call: Option<&CallId>, now: &str) -> Option<Change> {
        let Activity { number, name, arguments } = self.running.get(&key(origin, call))?;
        let texts = [indent(origin.depth) + name, now.into(), arguments.clone()];
        Some(Change::Show(*number, join_columns(texts)))
    }

    fn end(&mut self, origin: &Origin, call: Option<&CallId>, line: Option<Change>) -> Vec<Change> {
        let removed = self.running.remove(&key(origin, call));
        removed.map(|running| Change::Remove(running.number)).into_iter().chain(line).collect()
    }
}

/// Returns how far a plan is, and its step in progress.
fn plan_text(data: &Value) -> String {
    let Ok(plan) = Plan::deserialize(data) else { return Plan::NAME.to_owned() };
    let with = |status| plan.steps.iter().filter(move |step| step.status == status);
    let completed = with(StepStatus::Completed).count();
    let current = with(StepStatus::InProgress).next().map(|step| excerpt(&step.text));
    let count = format!("{completed} of {} steps", plan.steps.len());
    join_columns([count, current.unwrap_or_default()])
}

fn run_end(name: String, event: &RunEvent) -> (Sign, String) {
    let RunEvent::Finished { code, error, usage, cost, duration, .. } = event else {
        return (Sign::Other, name);
    };
    let sign = match (code.as_deref(), error) {
        (Some(AWAITING_APPROVAL), _) => Sign::Pending,
        (None, None) => Sign::Done,
        _ => Sign::Failed,
    };
    let tokens = if usage.is_zero() { String::new() } else { tokens(*usage) };
    // Without a token count, the cost is unknown, not zero.
    let cost = cost.filter(|_| !usage.is_zero());
    let cost = cost.map(|cost| format!("cost {}", format_amount(cost))).unwrap_or_default();
    let error = error.as_deref().map(error_excerpt).unwrap_or_default();
    (sign, join_columns([name, time(*duration), tokens, cost, error]))
}

/// Returns the usage of each model, if there are several.
fn model_usage_texts(event: &RunEvent) -> Vec<String> {
    let RunEvent::Finished { usage_by_model, .. } = event else { return Vec::new() };
    let text = |of_model: &ModelUsage| {
        let cost = of_model.cost.map(|cost| format!("cost {}", format_amount(cost)));
        let model = excerpt(&of_model.used_model().to_string());
        join_columns([model, tokens(of_model.usage), cost.unwrap_or_default()])
    };
    usage_by_model.iter().filter(|_| usage_by_model.len() > 1).map(text).collect()
}

fn tokens(usage: Usage) -> String {
    format!("{} → {} tokens", usage.input_tokens, usage.output_tokens)
}

fn reply_text(text: &str, calls: &[ToolCall], usage: Option<Usage>, duration: Duration) -> String {
    let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
    let calls = if names.is_empty() {
        String::new()
    } else {
        format!("→ {}", excerpt(&names.join(", ")))
    };
    let tokens = usage.map(tokens).unwrap_or_default();
    join_columns(["model".into(), time(duration), tokens, excerpt(text), calls])
}

/// Returns the name, the type and the size of a file.
fn attachment_text(file: &Attachment) -> String {
    let facts = [
        file.name.clone(),
        file.media_type.clone(),
        file.byte_len.map(|bytes| format!("{bytes} bytes")),
    ];
    excerpt(&facts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Returns the different sources of a reply, up to a limit.
fn source_texts(sources: &[Source]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    let lines = sources.iter().map(|source| excerpt(&source.to_string()));
    texts.extend(lines.filter(|text| !text.is_empty() && known.insert(text.clone())));
    let more = texts.len().saturating_sub(MAX_SOURCES);
    if more > 0 {
        texts.truncate(MAX_SOURCES);
        texts.push(format!("and {more} more"));
    }
    texts
}

fn execution_result(execution: &ToolExecution) -> (Sign, String) {
    let sign = match execution {
        _ if execution.is_success() => Sign::Done,
        _ if execution.is_pending() => Sign::Pending,
        _ if execution.is_blocked() => Sign::Blocked,
        _ => Sign::Failed,
    };
    let code = execution.result.error.as_deref().map(excerpt).unwrap_or_default();
    let name = excerpt(&execution.call.name);
    let arguments = excerpt(&execution.call.arguments.to_text());
    (sign, join_columns([name, time(execution.duration), code, arguments]))
}

fn progress_text(progress: &Progress) -> String {
    let Progress { done, total, message } = progress;
    let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = message.as_deref().map(|text| format!(": {}", excerpt(text)));
    format!("{done}{total}{}", message.unwrap_or_default())
}
