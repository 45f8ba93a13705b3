//! An event of each kind, with texts that are hard to show.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, json};
use tool_core::event::{
    Attachment, BlockReason, EventKind, LogEvent, MessageSource, ModelEvent, Origin, Progress,
    RunEvent, ToolEvent, UnmatchedRule,
};
use tool_core::message::{FileData, GeneratedFile, ModelUsage, Source};
use tool_core::{Event, FinishReason, ToolCall, ToolExecution, ToolResult, Usage};

/// Returns an event of each kind, some with empty and some with unusual texts.
pub(super) fn all() -> Vec<Event> {
    let long = "\u{e9}".repeat(100_000);
    let texts = ["", "\0 \u{1b}[31m \u{202e}\u{1f980}'\"\\\r\n", &long];
    let kinds = texts.into_iter().flat_map(kinds);
    let events = kinds.enumerate().map(|(number, kind)| {
        let turn = u32::try_from(number).unwrap_or_default();
        let mut origin = Origin::new(7.into(), turn);
        origin.depth = turn;
        Event::new(origin, UNIX_EPOCH + Duration::from_micros(u64::from(turn)), kind)
    });
    events.collect()
}

/// Returns each kind of event with this text.
fn kinds(text: &str) -> Vec<EventKind> {
    let text = || text.to_owned();
    let call = ToolCall::new("call", text(), text());
    let result = ToolResult::failure(&call, text(), text());
    let id = || call.id.clone();
    let duration = Duration::MAX;
    let progress = |number, total| Progress { done: number, total, message: Some(text()) };
    let (attempt, reason) = (u32::MAX, text);
    let rule = json!({ "setting": "permission", "target": "tool", "name": text() });
    let rule = serde_json::from_value::<UnmatchedRule>(rule).ok();
    let mut kinds: Vec<EventKind> = vec![
        RunEvent::Started {
            parent_run: Some(3.into()),
            agent: Some(text()),
            session: Some(text()),
            metadata: Map::from_iter([(text(), json!([null, u64::MAX, text()]))]),
        }
        .into(),
        RunEvent::MessageAdded {
            source: MessageSource::User,
            source_name: Some(text()),
            message: Some(text().into()),
            text: text(),
            attachments: Attachment::of(&FileData::new(text(), "AAAA").name(text()).into())
                .into_iter()
                .collect(),
        }
        .into(),
        RunEvent::StateEvicted.into(),
        RunEvent::LeaseRenewalFailed { session: text(), error: text() }.into(),
        RunEvent::LeaseReleaseFailed { session: text(), error: text() }.into(),
        RunEvent::InboxFailed { session: text(), error: text() }.into(),
        ModelEvent::Requested { message: Some(text().into()) }.into(),
        ModelEvent::Replied {
            message: None,
            text: text(),
            reasoning: Some(text()),
            calls: vec![call.clone()],
            sources: vec![Source::web(text())],
            attachments: vec![Attachment::of_file(&GeneratedFile::stored(text(), text()))],
            provider: Some(text()),
            model: Some(text()),
            requested_model: Some(text()),
            server_address: Some(text()),
            server_port: Some(u16::MAX),
            finish_reason: FinishReason::Length,
            context_tokens: Some(u64::MAX),
            usage: Some(Usage::new(u64::MAX, 0)),
            first_delta: Some(duration),
            duration,
        }
        .into(),
        ModelEvent::Failed {
            code: text(),
            error: text(),
            text: text(),
            provider: Some(text()),
            model: Some(text()),
            server_address: Some(text()),
            server_port: Some(u16::MAX),
            usage: Some(Usage::new(0, u64::MAX)),
            duration,
        }
        .into(),
        ModelEvent::ReplyReplaced { text: text() }.into(),
        ModelEvent::SummaryFailed { reason: reason() }.into(),
        ModelEvent::HookWarning { reason: reason() }.into(),
        ModelEvent::ClientWarning { reason: reason() }.into(),
        ModelEvent::ExtractionFailed { text: text(), reason: reason(), attempt }.into(),
        ModelEvent::ValidationFailed { text: text(), reason: reason(), attempt }.into(),
        ToolEvent::Started { call: call.clone(), tool: None }.into(),
        ToolEvent::ApprovalRequested {
            call: id(),
            tool: text(),
            arguments: text(),
            title: Some(text()),
            expires_at: Some(UNIX_EPOCH + Duration::from_secs(1)),
            void_decision: Some(text()),
            preview: Some(text()),
        }
        .into(),
        ToolEvent::QuestionAsked {
            call: id(),
            tool: text(),
            question: text(),
            answer_schema: Some(json!({ "type": text() })),
        }
        .into(),
        ToolEvent::Running { call: id(), attempt }.into(),
        ToolEvent::OutputEmitted { call: id(), text: text() }.into(),
        ToolEvent::DataEmitted { call: id(), name: text(), data: json!([null, text()]) }.into(),
        ToolEvent::Approved { call: id(), approved_by: text() }.into(),
        ToolEvent::Blocked { call: id(), blocked_by: BlockReason::Approver, reason: reason() }
            .into(),
        ToolEvent::Retried { call: id(), attempt, error: text(), text: text(), delay: duration }
            .into(),
        ToolEvent::Progress { call: id(), progress: progress(f64::NAN, Some(0.0)) }.into(),
        ToolEvent::Progress { call: id(), progress: progress(f64::MAX, None) }.into(),
        ToolEvent::Cancelled { call: id() }.into(),
        ToolEvent::Abandoned { call: id(), tool: text(), error: Some(text()) }.into(),
        ToolEvent::Finished(ToolExecution::new(call.clone(), result)).into(),
        LogEvent::Dropped { count: u64::MAX }.into(),
        RunEvent::Finished {
            code: Some(text()),
            error: Some(text()),
            usage: Usage::default(),
            usage_by_model: vec![{
                let mut of_model = ModelUsage::default();
                (of_model.provider, of_model.model) = (Some(text()), Some(text()));
                of_model
            }],
            cost: Some(f64::NAN),
            duration,
        }
        .into(),
    ];
    kinds.extend(rule.map(|rule| RunEvent::RuleUnmatched(rule).into()));
    kinds
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;
    use tool_core::event::{LogEvent, ModelEvent, RunEvent, ToolEvent};

    use super::all;
    use crate::variants::variants;

    #[test]
    fn events_have_each_kind() {
        let unknown = || json!({ "event": "?" });
        let mut kinds = variants::<RunEvent>(unknown());
        kinds.extend(variants::<ModelEvent>(unknown()));
        kinds.extend(variants::<ToolEvent>(unknown()));
        kinds.extend(variants::<LogEvent>(unknown()));
        let found: BTreeSet<_> = all().iter().map(|event| event.name().to_owned()).collect();
        assert_eq!(found, kinds);
    }
}
