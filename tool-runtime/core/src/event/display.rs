//! Events as lines for people.

use std::fmt;

use super::{Event, EventKind, LogEvent, ModelEvent, Progress, RunEvent, ToolEvent};
use crate::message::ToolCall;

/// The number of characters of a line after which it is cut.
const MAX_CHARS: usize = 160;

/// Writes one line for a person: its name, and what it is about. The line is cut after
/// 160 characters, and its form may change. Programs read the JSON form.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.kind.subject();
        let separator = if subject.is_empty() { "" } else { ": " };
        let line = format!("{}{separator}{subject}", self.name());
        let mut chars = line.chars().map(|c| if c.is_control() { ' ' } else { c });
        chars.by_ref().take(MAX_CHARS).try_for_each(|c| write!(f, "{c}"))?;
        if chars.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

impl EventKind {
    /// Returns what the event is about, in one line unless a text in it has several.
    fn subject(&self) -> String {
        match self {
            Self::Run(event) => event.subject(),
            Self::Model(event) => event.subject(),
            Self::Tool(event) => event.subject(),
            Self::Log(LogEvent::Dropped { count, .. }) => format!("{count} events"),
        }
    }
}

impl RunEvent {
    fn subject(&self) -> String {
        match self {
            Self::Started { agent, .. } => agent.clone().unwrap_or_default(),
            Self::MessageAdded { text, .. } => text.clone(),
            Self::RuleUnmatched(rule) => rule.to_string(),
            Self::StateEvicted => String::new(),
            Self::LeaseRenewalFailed { error, .. }
            | Self::LeaseReleaseFailed { error, .. }
            | Self::InboxFailed { error, .. } => error.clone(),
            Self::Finished { error: Some(error), .. } => error.clone(),
            Self::Finished { duration, .. } => format!("after {duration:.1?}"),
        }
    }
}

impl ModelEvent {
    fn subject(&self) -> String {
        match self {
            Self::Requested { .. } => String::new(),
            Self::Replied { calls, text, .. } if calls.is_empty() => text.clone(),
            Self::Replied { calls, .. } => calls.iter().map(call).collect::<Vec<_>>().join(", "),
            Self::Failed { error, .. } => error.clone(),
            Self::ReplyReplaced { text } => text.clone(),
            Self::SummaryFailed { reason, .. }
            | Self::HookWarning { reason, .. }
            | Self::ClientWarning { reason }
            | Self::ExtractionFailed { reason, .. }
            | Self::ValidationFailed { reason, .. } => reason.clone(),
        }
    }
}

impl ToolEvent {
    fn subject(&self) -> String {
        match self {
            Self::Started { call: started, .. } => call(started),
            Self::ApprovalRequested { tool, arguments, .. } => format!("{tool}({arguments})"),
            Self::Approved { call, approved_by, .. } => format!("{call} by {approved_by}"),
            Self::Blocked { call, reason, .. } => format!("{call}: {reason}"),
            Self::Retried { call, text, delay, .. } => format!("{call} in {delay:.1?}: {text}"),
            Self::Progress { call, progress } => format!("{call}: {}", amount(progress)),
            Self::QuestionAsked { call, question, .. } => format!("{call}: {question}"),
            Self::Running { call, attempt: 1 } => call.to_string(),
            Self::Running { call, attempt } => format!("{call}, attempt {attempt}"),
            Self::OutputEmitted { call, text } => format!("{call}: {text}"),
            Self::DataEmitted { call, name, .. } => format!("{call}: {name}"),
            Self::Cancelled { call } | Self::Abandoned { call, error: None, .. } => {
                call.to_string()
            }
            Self::Abandoned { call, error: Some(error), .. } => format!("{call}: {error}"),
            Self::Finished(execution) => {
                let (name, result) = (&execution.call.name, &execution.result);
                match &result.error {
                    Some(code) => format!("{name} ({code}): {}", result.text),
                    None => format!("{name}: {}", result.text),
                }
            }
        }
    }
}

fn call(call: &ToolCall) -> String {
    format!("{}({})", call.name, call.arguments)
}

fn amount(progress: &Progress) -> String {
    let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = progress.message.as_ref().map(|message| format!(", {message}"));
    format!("{}{total}{}", progress.done, message.unwrap_or_default())
}
