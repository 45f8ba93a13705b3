//! What a row opens to: each thing under its name, nothing that isn't there.

use serde::Serialize;
use serde_json::Value;

use super::micros;
use super::row::{Detail, Fact, Form, Note, Row, State, on_one_line};
use crate::event::money::money;
use crate::event::{
    EffectRecord, Event, EventKind, ModelEvent, Origin, RunId, Speaker, ToolEvent, ToolExecution,
};
use crate::json::Fix;
use crate::message::{Arguments, Image, ToolCall, Usage};

/// As far as it is known when the call comes.
pub(super) fn of_call(row: &mut Row, call: &ToolCall) {
    row.details.push(Detail::Facts { facts: vec![("Call", Fact::Text(call.id.to_string()))] });
    arguments(row, "Arguments", &call.arguments);
}

/// All that is known of a call that has its result.
pub(super) fn of_execution(row: &mut Row, execution: &ToolExecution) {
    row.details.clear();
    facts(row, execution);
    let call = &execution.call;
    let as_read = match &execution.decoded {
        // They were written as they were read.
        Some(decoded) if *decoded == *call.arguments.to_text() => None,
        decoded => decoded.as_deref(),
    };
    if as_read.is_some() || execution.changed.is_some() {
        arguments(row, "Arguments, as the model wrote them", &call.arguments);
    } else {
        arguments(row, "Arguments", &call.arguments);
    }
    if let Some(changed) = &execution.changed {
        let call = if changed.name == call.name {
            changed.arguments.to_string()
        } else {
            changed.to_string()
        };
        row.text("The call, as an interceptor changed it", call, Form::Json);
    }
    if let Some(decoded) = as_read {
        row.text("Arguments, as the tool read them", decoded, Form::Json);
    }
    repairs(row, execution);
    result(row, execution);
    if let Some(cause) = &execution.cause {
        row.text("What lies behind it", cause, Form::Error);
    }
    if !execution.effects.is_empty() {
        let cells = execution.effects.iter().map(effect).collect();
        row.details.push(Detail::Table { title: "Effects", head: vec!["Kind", "What"], cells });
    }
}

fn facts(row: &mut Row, execution: &ToolExecution) {
    let text = |text: &str| Fact::Text(text.into());
    let facts = [
        Some(("Call", text(execution.call.id.as_str()))),
        Some(("Came", Fact::At { at: row.start })),
        Some(("Took", Fact::Took { took: micros(execution.took) })),
        Some(("Attempts", Fact::Count(u64::from(execution.attempts)))),
        execution.blocked_by.map(|gate| ("Held back by", text(&word(&gate)))),
        execution.decided_by.as_deref().map(|by| ("Decided by", text(by))),
        execution.remembered.then(|| ("Result", text("remembered from an earlier call"))),
        execution.left_running.then(|| ("Left running", text("work that could not be stopped"))),
    ];
    row.details.push(Detail::Facts { facts: facts.into_iter().flatten().collect() });
}

fn arguments(row: &mut Row, title: &'static str, arguments: &Arguments) {
    row.text(title, arguments.to_text(), Form::Json);
}

fn repairs(row: &mut Row, execution: &ToolExecution) {
    if execution.fixes.is_empty() {
        return;
    }
    let call = execution.changed.as_deref().unwrap_or(&execution.call);
    let written = call.arguments.to_text();
    let cells = execution.fixes.iter().map(|fix| repair(fix, &written)).collect();
    let head = vec!["Repair", "Level", "Risk", "Bytes", "Text"];
    row.details.push(Detail::Table { title: "Repairs", head, cells });
}

fn repair(fix: &Fix, written: &str) -> Vec<String> {
    let text = written.get(fix.span.clone()).map(on_one_line).unwrap_or_default();
    let bytes = format!("{}–{}", fix.span.start, fix.span.end);
    vec![fix.to_string(), word(&fix.level()), word(&fix.risk()), bytes, text]
}

/// The name that a plain variant has in JSON.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

fn result(row: &mut Row, execution: &ToolExecution) {
    let result = &execution.result;
    let (title, form) = match result.error {
        None => ("Result", Form::Json),
        Some(_) => ("Error, as the model reads it", Form::Error),
    };
    row.text(title, result.text.as_str(), form);
    if let Some(full) = &execution.full_text {
        row.text("All of the result: the model is told less", full.as_str(), Form::Json);
    }
    if !result.images.is_empty() {
        let cells = result.images.iter().map(|image| {
            let Image { media_type, base64 } = image;
            vec![media_type.clone(), format!("{} bytes", base64.len() / 4 * 3)]
        });
        let head = vec!["Kind", "About"];
        row.details.push(Detail::Table { title: "Images", head, cells: cells.collect() });
    }
}

fn effect(effect: &EffectRecord) -> Vec<String> {
    let (kind, what) = match effect {
        EffectRecord::FileWritten { path } => ("file written", path.clone()),
        EffectRecord::ProcessStarted { command } => ("process started", command.clone()),
        EffectRecord::RequestSent { method, url } => ("request sent", format!("{method} {url}")),
        EffectRecord::ToolsFound { names } => ("tools found", names.join(", ")),
        EffectRecord::StopRequested { reason } => ("stop requested", reason.clone()),
        EffectRecord::TokensSpent { usage, cost } => {
            let tokens = format!("{} in, {} out", usage.input, usage.output);
            let cost = cost.map(|cost| format!(", for {}", money(cost))).unwrap_or_default();
            ("tokens spent", tokens + &cost)
        }
        EffectRecord::Other { name, data } => (name.as_str(), data.to_string()),
    };
    vec![kind.into(), what]
}

/// What the model said.
pub(super) fn of_reply(row: &mut Row, text: &str, reasoning: Option<&str>, calls: &[ToolCall]) {
    let wanted: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
    row.summary = match (text.is_empty(), wanted.is_empty()) {
        (false, _) => on_one_line(text),
        (true, false) => on_one_line(&format!("→ {}", wanted.join(", "))),
        (true, true) => String::new(),
    };
    let mut facts = vec![
        ("Asked", Fact::At { at: row.start }),
        ("Took", Fact::Took { took: row.end.saturating_sub(row.start) }),
    ];
    facts.extend(row.usage.into_iter().flat_map(tokens));
    row.details.push(Detail::Facts { facts });
    if let Some(reasoning) = reasoning {
        row.text("Reasoning", reasoning, Form::Folded);
    }
    if !text.is_empty() {
        row.text("Text", text, Form::Plain);
    }
    if !calls.is_empty() {
        let cells = calls
            .iter()
            .map(|call| vec![call.name.clone(), call.arguments.to_string(), call.id.to_string()]);
        let head = vec!["Tool", "Arguments", "Call"];
        row.details.push(Detail::Table { title: "Calls", head, cells: cells.collect() });
    }
}

fn tokens(usage: Usage) -> impl Iterator<Item = (&'static str, Fact)> {
    let Usage { input, cached, output, reasoning } = usage;
    let told = [
        (true, "Tokens in", input),
        (cached > 0, "of these cached", cached),
        (true, "Tokens out", output),
        (reasoning > 0, "of these reasoning", reasoning),
    ];
    let told = told.into_iter().filter(|(is_told, ..)| *is_told);
    told.map(|(_, name, count)| (name, Fact::Count(count)))
}

/// As far as it is known when a run begins.
pub(super) fn of_start(row: &mut Row, origin: &Origin) {
    let id = (origin.run != RunId::default()).then(|| ("Run", Fact::Text(origin.run.to_string())));
    let facts = id.into_iter().chain([("Began", Fact::At { at: row.start })]).collect();
    row.details.push(Detail::Facts { facts });
}

/// A run that goes on: from which part of it, and what it was asked then.
pub(super) fn of_more(row: &mut Row, began: u64, asked: String) {
    if let Some(Detail::Facts { facts }) = row.details.first_mut() {
        facts.push(("Goes on from", Fact::At { at: began }));
    }
    row.summary.clone_from(&asked);
    row.asked = asked;
}

/// What a run came to, or a question that nobody answered.
pub(super) fn of_end(row: &mut Row, error: Option<&str>) {
    let took = ("Took", Fact::Took { took: row.end.saturating_sub(row.start) });
    let tokens = row.usage.into_iter().flat_map(tokens);
    let cost = row.cost.map(money).or_else(|| row.has_spent.then(|| "unknown".into()));
    let cost = cost.map(|cost| ("Cost", Fact::Text(cost)));
    let more = [took].into_iter().chain(tokens).chain(cost);
    match row.details.first_mut() {
        Some(Detail::Facts { facts }) => facts.extend(more),
        _ => row.details.push(Detail::Facts { facts: more.collect() }),
    }
    let Some(error) = error else { return };
    match row.state {
        State::Waiting => row.text("What it waits for", error, Form::Plain),
        _ => {
            row.summary = [row.asked.clone(), on_one_line(error)]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(" — ");
            row.text("What stopped it", error, Form::Error);
        }
    }
}

/// Which conversation a run belongs to.
pub(super) fn of_session(row: &mut Row, session: &str) {
    row.details.push(Detail::Facts { facts: vec![("Session", Fact::Text(session.into()))] });
}

/// What was said to the model: what it was asked stands with the run, what came later with its time.
pub(super) fn of_said(
    row: &mut Row,
    (at, is_early): (u64, bool),
    (by, source): (Speaker, Option<&str>),
    text: &str,
    images: usize,
) {
    let images = match images {
        0 => String::new(),
        1 => "\n[a picture]".into(),
        count => format!("\n[{count} pictures]"),
    };
    let text = format!("{text}{images}");
    let (name, text) = match (by, source) {
        (Speaker::System, _) if is_early => return row.text("Orders", text, Form::Folded),
        (Speaker::User, _) if is_early => {
            row.asked = on_one_line(&text);
            row.summary.clone_from(&row.asked);
            return row.text("What it was asked", text, Form::Plain);
        }
        (Speaker::Elsewhere, source) => {
            ("said elsewhere", format!("from {}: {text}", source.unwrap_or_default()))
        }
        (Speaker::System, _) => ("orders", text),
        (Speaker::User, _) => ("said by the user", text),
        (Speaker::Steering, _) => ("said by steering", text),
        (Speaker::Loop, _) => ("asked for the value", text),
    };
    row.note(Note::new(at, name, text));
}

/// What this tells, in words where there are some for it.
pub(super) fn of_note(event: &Event) -> String {
    match &event.kind {
        EventKind::Tool(ToolEvent::Retried { attempt, error, text, pause, .. }) => {
            let pause = pause.as_secs_f64();
            let text = if text.is_empty() { String::new() } else { format!(": {text}") };
            format!("attempt {attempt} failed with {error}; the next comes in {pause:.3} s{text}")
        }
        EventKind::Model(
            ModelEvent::ExtractionFailed { text, reason, attempt }
            | ModelEvent::ValidationFailed { text, reason, attempt },
        ) => format!("attempt {attempt}: {reason}\n\nIt said: {text}"),
        EventKind::Tool(ToolEvent::Progress { progress, .. }) => {
            let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let message = progress.message.as_ref().map(|text| format!(": {text}"));
            format!("{}{total}{}", progress.done, message.unwrap_or_default())
        }
        _ => told(event),
    }
}

/// What an event tells beside where, when and what it is.
fn told(event: &Event) -> String {
    let Ok(Value::Object(members)) = serde_json::to_value(&event.kind) else {
        return String::new();
    };
    let more = members.into_iter().filter(|(name, value)| {
        !["layer", "action", "call"].contains(&name.as_str()) && !value.is_null()
    });
    let more = more.map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        value => format!("{name}: {value}"),
    });
    more.collect::<Vec<_>>().join("; ")
}
