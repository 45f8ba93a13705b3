//! Details of a row, which the page shows when the row is opened.

use serde::Serialize;
use serde_json::{Map, Value};

use super::micros;
use super::row::{Detail, Fact, Form, Note, Row, RowState, one_line};
use tool_core::__workspace::format_amount;
use tool_core::event::{
    Attachment, EventKind, FileChange, FileOp, MessageSource, ModelEvent, NetworkRequest, Origin,
    ProcessEnd, ProcessStart, ProtocolError, RunChanges, RunId, ToolEvent,
};
use tool_core::json::Fix;
use tool_core::message::ModelUsage;
use tool_core::{
    Arguments, ContentPart, EffectRecord, Event, FinishReason, ToolCall, ToolExecution, Usage,
};

/// Adds what is known when a call starts.
pub(super) fn of_call(row: &mut Row, call: &ToolCall) {
    row.details.push(Detail::Facts { facts: vec![("Call", Fact::Text(call.id.to_string()))] });
    arguments(row, "Arguments", &call.arguments);
}

/// The shortest time before the first attempt of a call that is worth a fact, in microseconds.
const SHOWN_WAIT: u64 = 1_000;

/// Adds everything that is known when a call has its result.
pub(super) fn of_execution(row: &mut Row, execution: &ToolExecution) {
    row.details.clear();
    call_facts(row, execution);
    let call = &execution.call;
    let as_decoded = match &execution.decoded_arguments {
        // The model wrote them in this form.
        Some(decoded) if *decoded == *call.arguments.to_text() => None,
        decoded => decoded.as_deref(),
    };
    if as_decoded.is_some() || execution.modified_call.is_some() {
        arguments(row, "Arguments, as the model wrote them", &call.arguments);
    } else {
        arguments(row, "Arguments", &call.arguments);
    }
    if !call.leftover.is_empty() {
        row.text("Part of the call that was not read", call.leftover.as_str(), Form::Error);
    }
    if let Some(changed) = &execution.modified_call {
        let call = if changed.name == call.name {
            changed.arguments.to_string()
        } else {
            changed.to_string()
        };
        row.text("The call, as an interceptor changed it", call, Form::Json);
    }
    if let Some(changes) = &execution.run_changes {
        row.text("The run, as interceptors changed it", run_changes(changes), Form::Json);
    }
    if let Some(decoded) = as_decoded {
        row.text("Arguments, as the tool read them", decoded, Form::Json);
    }
    repairs(row, execution);
    result(row, execution);
    if let Some(cause) = &execution.cause {
        row.text("Cause", cause, Form::Error);
    }
    if let Some(error) = &execution.protocol_error {
        let ProtocolError { code, data, .. } = error.as_ref();
        let data = if data.is_null() { String::new() } else { format!(": {data}") };
        row.text("Protocol error", format!("{code}{data}"), Form::Error);
    }
    if !execution.effects.is_empty() {
        let cells = execution.effects.iter().map(effect).collect();
        row.table("Effects", vec!["Kind", "Details"], cells);
        let diffs = execution.effects.iter().filter_map(|effect| match effect {
            EffectRecord::FileChanged(change) => change.diff.as_deref(),
            _ => None,
        });
        diffs.for_each(|diff| row.text("Diff", diff, Form::Plain));
    }
}

fn call_facts(row: &mut Row, execution: &ToolExecution) {
    let text = |text: &str| Fact::Text(text.into());
    let facts = [
        Some(("Call", text(execution.call.id.as_str()))),
        Some(("Started", Fact::At { at: row.start })),
        Some(("Duration", Fact::Duration { duration: micros(execution.duration) })),
        (row.waited >= SHOWN_WAIT)
            .then_some(("Waited before it ran", Fact::Duration { duration: row.waited })),
        execution.tool_kind.as_ref().map(|kind| ("Kind", text(&kind.to_string()))),
        Some(("Attempts", Fact::Count(u64::from(execution.attempts)))),
        execution.blocked_by.map(|gate| ("Blocked by", text(&serialized_name(&gate)))),
        execution.decided_by().map(|by| ("Decided by", text(by))),
        execution.cached.then(|| ("Result", text("reused from an earlier call"))),
        execution
            .has_detached_thread
            .then(|| ("Still running", text("work that could not be stopped"))),
    ];
    row.details.push(Detail::Facts { facts: facts.into_iter().flatten().collect() });
}

fn arguments(row: &mut Row, title: &'static str, arguments: &Arguments) {
    row.text(title, arguments.to_text(), Form::Json);
}

fn run_changes(changes: &RunChanges) -> String {
    let mut members = Map::new();
    if !changes.metadata.is_empty() {
        members.insert("metadata".into(), changes.metadata.clone().into());
    }
    members.extend(changes.stop.as_deref().map(|reason| ("stop".into(), reason.into())));
    Value::Object(members).to_string()
}

fn repairs(row: &mut Row, execution: &ToolExecution) {
    if execution.fixes.is_empty() {
        return;
    }
    let call = execution.modified_call.as_deref().unwrap_or(&execution.call);
    let written = call.arguments.to_text();
    let cells = execution.fixes.iter().map(|fix| repair(fix, &written)).collect();
    let head = vec!["Repair", "Level", "Risk", "Bytes", "Text"];
    row.table("Repairs", head, cells);
}

fn repair(fix: &Fix, written: &str) -> Vec<String> {
    let text = written.get(fix.span.clone()).map(one_line).unwrap_or_default();
    let bytes = format!("{}–{}", fix.span.start, fix.span.end);
    vec![fix.to_string(), serialized_name(&fix.level()), serialized_name(&fix.risk()), bytes, text]
}

/// Returns the serialized name of a unit variant.
pub(super) fn serialized_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
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
        row.text("Full result (the model receives less)", full.as_str(), Form::Json);
    }
    if !result.parts.is_empty() {
        let cells = result.parts.iter().map(part).collect();
        row.table("Parts", vec!["Kind", "Content"], cells);
    }
    if let Some(structured) = &result.structured {
        row.text("Result, for programs", structured.to_string(), Form::Json);
    }
}

fn part(part: &ContentPart) -> Vec<String> {
    let kind = match part {
        ContentPart::Text { .. } => "text",
        ContentPart::Image(_) => "image",
        ContentPart::Audio(_) => "audio",
        ContentPart::File(_) => "file",
        ContentPart::Link(_) => "link",
        ContentPart::Resource(_) => "resource",
        _ => "unknown",
    };
    let content = match part.media() {
        Some(media) => {
            let name = media.name.map(|name| format!("{name}, ")).unwrap_or_default();
            format!("{name}{}, {} bytes", media.media_type, media.byte_len())
        }
        None => part.plain_text().into_owned(),
    };
    vec![kind.into(), content]
}

fn effect(effect: &EffectRecord) -> Vec<String> {
    let (kind, target) = match effect {
        EffectRecord::FileChanged(change) => file_change(change),
        EffectRecord::ProcessStarted(ProcessStart { command, pid, background, .. }) => {
            let pid = pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
            let background = if *background { ", in the background" } else { "" };
            ("process started", format!("{command}{pid}{background}"))
        }
        EffectRecord::ProcessEnded(ended) => ("process ended", process_end(ended)),
        EffectRecord::RequestSent(NetworkRequest { method, url, status, .. }) => {
            let status = status.map(|status| format!(" → {status}")).unwrap_or_default();
            ("request sent", format!("{method} {url}{status}"))
        }
        EffectRecord::ToolsFound { names } => ("tools found", names.join(", ")),
        EffectRecord::StopRequested { reason } => ("stop requested", reason.clone()),
        EffectRecord::TokensSpent { usage, cost, model } => {
            let tokens = format!("{} in, {} out", usage.input_tokens, usage.output_tokens);
            let cost =
                cost.map(|cost| format!(", for {}", format_amount(cost))).unwrap_or_default();
            let model = model.as_ref().map(|model| format!(", by {model}")).unwrap_or_default();
            ("tokens spent", tokens + &cost + &model)
        }
        EffectRecord::Other { name, data } => (name.as_str(), data.to_string()),
        other => ("unknown", format!("{other:?}")),
    };
    vec![kind.into(), target]
}

fn file_change(change: &FileChange) -> (&'static str, String) {
    let FileChange { path, op, bytes_before, bytes_after, digest, .. } = change;
    let (kind, target) = match op {
        FileOp::Create => ("file created", path.clone()),
        FileOp::Write => ("file written", path.clone()),
        FileOp::Append => ("file appended to", path.clone()),
        FileOp::Delete => ("file deleted", path.clone()),
        FileOp::Rename { to } => ("file renamed", format!("{path} → {to}")),
        other => ("file changed", format!("{path}, {other:?}")),
    };
    let size = match (bytes_before, bytes_after) {
        (Some(before), Some(after)) => format!(", {before} → {after} bytes"),
        (Some(before), None) => format!(", {before} bytes before"),
        (None, Some(after)) => format!(", {after} bytes"),
        (None, None) => String::new(),
    };
    let digest = digest.as_ref().map(|digest| format!(", {digest}")).unwrap_or_default();
    (kind, format!("{target}{size}{digest}"))
}

fn process_end(ended: &ProcessEnd) -> String {
    let ProcessEnd { pid, code, signal, .. } = ended;
    let facts = [
        pid.map(|pid| format!("process {pid}")),
        code.map(|code| format!("code {code}")),
        signal.map(|signal| format!("signal {signal}")),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Adds the reply of a model.
pub(super) fn of_reply(row: &mut Row, event: &ModelEvent) {
    let ModelEvent::Replied {
        text,
        reasoning,
        calls,
        sources,
        attachments,
        provider,
        model,
        finish_reason,
        ..
    } = event
    else {
        return;
    };
    let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
    row.summary = match (text.is_empty(), names.is_empty()) {
        (false, _) => one_line(text),
        (true, false) => one_line(&format!("→ {}", names.join(", "))),
        (true, true) => String::new(),
    };
    let mut facts = vec![
        ("Requested", Fact::At { at: row.start }),
        ("Duration", Fact::Duration { duration: row.end.saturating_sub(row.start) }),
    ];
    facts.extend(model_fact(provider.as_deref(), model.as_deref()));
    if !matches!(finish_reason, FinishReason::Stop | FinishReason::ToolCalls) {
        facts.push(("Finish reason", Fact::Text(format!("{finish_reason:?}"))));
    }
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
        row.table("Calls", head, cells.collect());
    }
    if !sources.is_empty() {
        let cells = sources.iter().map(|source| {
            let quote = source.quote.clone().unwrap_or_default();
            let cited = source.cited_in(text).unwrap_or_default().to_owned();
            vec![source.to_string(), quote, cited]
        });
        let head = vec!["Source", "Quotation", "Cited for"];
        row.table("Sources", head, cells.collect());
    }
    if !attachments.is_empty() {
        let cells = attachments.iter().map(|Attachment { name, media_type, byte_len, .. }| {
            let bytes = byte_len.map(|bytes| bytes.to_string()).unwrap_or_default();
            vec![name.clone().unwrap_or_default(), media_type.clone().unwrap_or_default(), bytes]
        });
        row.table("Files", vec!["Name", "Media type", "Bytes"], cells.collect());
    }
}

/// Adds the failure of a model request.
pub(super) fn of_failed_request(row: &mut Row, event: &ModelEvent) {
    let ModelEvent::Failed { error, text, provider, model, .. } = event else { return };
    row.summary = one_line(error);
    let mut facts = vec![
        ("Requested", Fact::At { at: row.start }),
        ("Duration", Fact::Duration { duration: row.end.saturating_sub(row.start) }),
    ];
    facts.extend(model_fact(provider.as_deref(), model.as_deref()));
    facts.extend(row.usage.into_iter().flat_map(tokens));
    row.details.push(Detail::Facts { facts });
    row.text("Error", error, Form::Error);
    if !text.is_empty() {
        row.text("Text that had arrived", text, Form::Plain);
    }
}

fn model_fact(provider: Option<&str>, model: Option<&str>) -> Option<(&'static str, Fact)> {
    let text = match (model, provider) {
        (Some(model), Some(provider)) => format!("{model} ({provider})"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => return None,
    };
    Some(("Model", Fact::Text(text)))
}

fn tokens(usage: Usage) -> impl Iterator<Item = (&'static str, Fact)> {
    let Usage {
        input_tokens: input,
        cache_read_tokens: cached,
        cache_creation_tokens: written,
        output_tokens: output,
        reasoning_tokens: reasoning,
        estimated_tokens: estimated,
        searches,
        ..
    } = usage;
    let counts = [
        (true, "Tokens in", input),
        (cached > 0, "of these cached", cached),
        (written > 0, "of these written to a cache", written),
        (true, "Tokens out", output),
        (reasoning > 0, "of these reasoning", reasoning),
        (estimated > 0, "Tokens estimated", estimated),
        (searches > 0, "Searches", searches),
    ];
    let counts = counts.into_iter().filter(|(is_present, ..)| *is_present);
    counts.map(|(_, name, count)| (name, Fact::Count(count)))
}

/// Adds what is known when a run starts.
pub(super) fn of_start(row: &mut Row, origin: &Origin) {
    let id = (origin.run != RunId::default()).then(|| ("Run", Fact::Text(origin.run.to_string())));
    let facts = id.into_iter().chain([("Started", Fact::At { at: row.start })]).collect();
    row.details.push(Detail::Facts { facts });
}

/// Adds where a run was resumed, and its prompt.
pub(super) fn of_resumed_run(row: &mut Row, start: u64, prompt: String) {
    if let Some(Detail::Facts { facts }) = row.details.first_mut() {
        facts.push(("Resumes", Fact::At { at: start }));
    }
    row.summary.clone_from(&prompt);
    row.prompt = prompt;
}

/// Adds the usage of each model of a run, if it used several.
pub(super) fn of_models(row: &mut Row, usage_by_model: &[ModelUsage]) {
    if usage_by_model.len() < 2 {
        return;
    }
    let cells = usage_by_model.iter().map(|of_model| {
        let ModelUsage { usage, cost, .. } = of_model;
        let (input, output) = (usage.input_tokens.to_string(), usage.output_tokens.to_string());
        let cost = cost.map(format_amount).unwrap_or_default();
        vec![of_model.used_model().to_string(), input, output, cost]
    });
    let head = vec!["Model", "Input tokens", "Output tokens", "Cost"];
    row.table("Models", head, cells.collect());
}

/// Adds the end of a run, or of a model request without a reply.
pub(super) fn of_end(row: &mut Row, error: Option<&str>) {
    let duration = ("Duration", Fact::Duration { duration: row.end.saturating_sub(row.start) });
    let tokens = row.usage.into_iter().flat_map(tokens);
    let cost =
        row.cost.map(format_amount).or_else(|| row.has_model_requests.then(|| "unknown".into()));
    let cost = cost.map(|cost| ("Cost", Fact::Text(cost)));
    let more = [duration].into_iter().chain(tokens).chain(cost);
    match row.details.first_mut() {
        Some(Detail::Facts { facts }) => facts.extend(more),
        _ => row.details.push(Detail::Facts { facts: more.collect() }),
    }
    let Some(error) = error else { return };
    match row.state {
        RowState::Waiting => row.text("Waiting for", error, Form::Plain),
        _ => {
            row.summary = [row.prompt.clone(), one_line(error)]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(" — ");
            row.text("Error", error, Form::Error);
        }
    }
}

/// Adds the session and the metadata of a run.
pub(super) fn of_run(row: &mut Row, session: Option<&str>, metadata: &Map<String, Value>) {
    let session = session.map(|session| ("Session", Fact::Text(session.into())));
    let metadata = (!metadata.is_empty())
        .then(|| ("Metadata", Fact::Text(Value::Object(metadata.clone()).to_string())));
    let facts: Vec<_> = session.into_iter().chain(metadata).collect();
    if !facts.is_empty() {
        row.details.push(Detail::Facts { facts });
    }
}

/// Adds a message to the model: the first prompt as a detail of the run, a later message as a note
/// with its time.
pub(super) fn of_message(
    row: &mut Row,
    (at, is_early): (u64, bool),
    (by, source): (MessageSource, Option<&str>),
    text: &str,
    attachments: &[Attachment],
) {
    let attachments = attachments.iter().map(|attachment| {
        let Attachment { name, media_type, byte_len, .. } = attachment;
        let size = byte_len.map(|bytes| format!("{bytes} bytes"));
        let facts = [name.clone(), media_type.clone(), size].into_iter().flatten();
        format!("\n[{}]", facts.collect::<Vec<_>>().join(", "))
    });
    let text = format!("{text}{}", attachments.collect::<String>());
    let (name, text) = match (by, source) {
        (MessageSource::System, _) if is_early => {
            return row.text("System prompt", text, Form::Folded);
        }
        (MessageSource::User, _) if is_early => {
            row.prompt = one_line(&text);
            row.summary.clone_from(&row.prompt);
            return row.text("Prompt", text, Form::Plain);
        }
        (MessageSource::Untrusted, source) => {
            ("untrusted message", format!("from {}: {text}", source.unwrap_or_default()))
        }
        (MessageSource::System, _) => ("system message", text),
        (MessageSource::User, _) => ("user message", text),
        (MessageSource::Steering, _) => ("steering message", text),
        (MessageSource::Loop, _) => ("value requested", text),
        _ => ("message of an unknown source", text),
    };
    row.note(Note::new(at, name, text));
}

/// Returns the text of a note about an event.
pub(super) fn of_note(event: &Event) -> String {
    match &event.kind {
        EventKind::Tool(ToolEvent::Retried { attempt, error, text, delay, .. }) => {
            let delay = delay.as_secs_f64();
            let text = if text.is_empty() { String::new() } else { format!(": {text}") };
            format!("attempt {attempt} failed with {error}; next attempt in {delay:.3} s{text}")
        }
        EventKind::Model(
            ModelEvent::ExtractionFailed { text, reason, attempt }
            | ModelEvent::ValidationFailed { text, reason, attempt },
        ) => format!("attempt {attempt}: {reason}\n\nReply: {text}"),
        EventKind::Tool(ToolEvent::OutputEmitted { text, .. }) => text.clone(),
        EventKind::Tool(ToolEvent::DataEmitted { name, data, .. }) => format!("{name}: {data}"),
        EventKind::Tool(ToolEvent::QuestionAsked { question, .. }) => question.clone(),
        EventKind::Tool(ToolEvent::Progress { progress, .. }) => {
            let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let message = progress.message.as_ref().map(|text| format!(": {text}"));
            format!("{}{total}{}", progress.done, message.unwrap_or_default())
        }
        _ => other_members(event),
    }
}

/// Returns the members of an event that have no dedicated place.
fn other_members(event: &Event) -> String {
    let Ok(Value::Object(members)) = serde_json::to_value(&event.kind) else {
        return String::new();
    };
    let more = members
        .into_iter()
        .filter(|(name, value)| !["event", "call"].contains(&name.as_str()) && !value.is_null());
    let more = more.map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        value => format!("{name}: {value}"),
    });
    more.collect::<Vec<_>>().join("; ")
}
