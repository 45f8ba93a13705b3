//! Builds executions from the results of calls: text for the model, cause for the operator.

use crate::dispatch::call::call_record::{CallRecord, CallResult};
use crate::dispatch::context::BatchContext;
use crate::dispatch::policy::{limit_media, truncate_result};
use crate::event::{BlockReason, ToolEvent, ToolExecution};
use crate::guard::error_chain;
use crate::message::{ToolCall, ToolResult};
use crate::tool::dispatch_contract::BatchScope;
use crate::tool::{Attachments, MeteredUsage, ToolContext, ToolError, ToolErrorKind};

/// Builds the execution of a call from its result and the notes of its stages.
pub(crate) fn into_execution(
    batch: &BatchContext,
    ctx: ToolContext,
    result: CallResult,
    mut record: CallRecord,
) -> ToolExecution {
    let failures = record.take_failures();
    let finished = ctx.into_finished();
    let (call, modified_call) = match record.original_call {
        Some(original) if *original != finished.call => (*original, Some(Box::new(finished.call))),
        _ => (finished.call, None),
    };
    let (text, attachments, error) = match result {
        Ok(output) => {
            let (text, attachments) = output.split();
            (text, attachments, None)
        }
        Err(error) => (String::new(), None, Some(error)),
    };
    if let Some(write) = record.write {
        write.end(record.has_detached_thread);
    }
    let result = ToolResult::success(&call, text);
    let mut execution = ToolExecution {
        modified_call,
        effects: finished.effects,
        tool_kind: record.tool_kind,
        attempts: finished.attempts,
        cached: record.is_cached,
        blocked_by: record.blocked_by,
        review: record.review,
        run_changes: record.run_changes,
        has_detached_thread: record.has_detached_thread,
        ..ToolExecution::new(call, result)
    };
    if let Some(attachments) = attachments {
        let Attachments { parts, structured, effects } = *attachments;
        execution.result.parts = parts;
        execution.result.structured = structured;
        // Effects that the tool recorded during the call are counted already.
        if let Some(meter) = &batch.scope.usage_meter
            && !effects.is_empty()
        {
            meter.add(MeteredUsage::of_effects(&effects));
        }
        execution.effects.extend(effects);
    }
    if let Some(answered_by) = batch.answered_by(&execution) {
        execution.review.get_or_insert_default().answered_by = Some(answered_by);
    }
    if let Some(error) = error {
        record_error(&mut execution, error);
    }
    if execution.suspended_state().is_some() {
        let resumptions = batch.suspended_call(&execution.call).map_or(0, |it| it.resumptions);
        execution.review.get_or_insert_default().resumptions = resumptions;
    }
    if let Some(failures) = failures {
        add_cause(&mut execution, failures);
    }
    // Redact before truncating: half a secret is a secret too.
    batch.clean_result(&mut execution);
    // The process that made a served call limits what its model receives.
    if !batch.is_served() {
        let policy = &batch.state.policy;
        limit_media(&mut execution.result, policy.max_media_bytes);
        execution.full_text = truncate_result(&mut execution.result, policy.max_output_bytes);
    }
    if let Some(decoded) = finished.arguments {
        execution.fixes = decoded.fixes;
        execution.decoded_arguments = decoded.json;
    }
    execution
}

/// Builds the execution of a call that failed.
pub(crate) fn failure(call: ToolCall, error: ToolError) -> ToolExecution {
    let result = ToolResult::success(&call, "");
    let mut execution = ToolExecution::new(call, result);
    record_error(&mut execution, error);
    execution
}

/// Records an error: its result, its causes and the state of its tool.
fn record_error(execution: &mut ToolExecution, mut error: ToolError) {
    execution.result.text = error.text().into();
    execution.result.error = Some(error.kind().code().into());
    // Formatting the source of an error runs code of the tool: `error_chain` catches its panic.
    execution.cause = error.source().map(|source| error_chain(source));
    (execution.result.parts, execution.protocol_error) = error.take_details();
    let question = error.question().map(ToOwned::to_owned);
    let answer_schema = error.take_answer_schema().filter(|_| question.is_some());
    let suspended_state = error.take_state();
    if suspended_state.is_some() && execution.blocked_by.is_none() {
        execution.blocked_by = Some(BlockReason::Pending);
    }
    if question.is_some() || suspended_state.is_some() {
        let review = execution.review.get_or_insert_default();
        review.question = question;
        review.answer_schema = answer_schema;
        review.suspended_state = suspended_state.map(|state| *state);
    }
}

/// Adds a failure of code of the program, such as a hook, before the other causes.
pub(super) fn add_cause(execution: &mut ToolExecution, failure: String) {
    execution.cause = Some(match execution.cause.take() {
        Some(cause) => format!("{failure}; {cause}"),
        None => failure,
    });
}

/// Returns the events at the end of a call: its question, that it was blocked or cancelled, and its
/// execution.
pub(crate) fn end_events(execution: &ToolExecution) -> impl Iterator<Item = ToolEvent> {
    let call = execution.call.id.clone();
    let question = execution.question().filter(|_| execution.is_pending());
    let question = question.map(|question| ToolEvent::QuestionAsked {
        call: call.clone(),
        tool: execution.result.tool.clone(),
        question: question.to_owned(),
        answer_schema: execution.answer_schema().cloned(),
    });
    let reason = match execution.blocked_by {
        Some(blocked_by) => {
            Some(ToolEvent::Blocked { call, blocked_by, reason: execution.result.text.clone() })
        }
        None if execution.failed_with(ToolErrorKind::Cancelled.code()) => {
            Some(ToolEvent::Cancelled { call })
        }
        None => None,
    };
    // The saved state of a tool is for the tool alone.
    let execution = execution.clone().for_observers();
    question.into_iter().chain(reason).chain([ToolEvent::Finished(execution)])
}

/// Emits the end of a call.
pub(crate) fn emit_end(scope: &BatchScope, execution: &ToolExecution) {
    end_events(execution).for_each(|event| scope.emit(|| event));
}
