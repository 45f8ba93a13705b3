use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Attachment, micros};
use crate::message::{FinishReason, MessageId, Source, ToolCall, Usage};

/// An event between the agent loop and the model.
///
/// ```
/// use tool_runtime::event::{EventKind, ModelEvent, Recorder};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let recorder = Recorder::new(100);
/// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// Agent::new(model, Tools::new()).observer(recorder.clone()).run("Hello").await?;
/// let text = recorder.events().into_iter().find_map(|event| match event.kind {
///     EventKind::Model(ModelEvent::Replied { text, .. }) => Some(text),
///     _ => None,
/// });
/// assert_eq!(text.as_deref(), Some("Hello!"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum ModelEvent {
    /// A request was sent to the model. Repeated requests of a driver emit no further event.
    #[serde(rename = "model.requested")]
    Requested {
        /// The id that the message of the reply will have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
    },
    /// The model replied to the request, and the driver parsed the reply.
    #[serde(rename = "model.replied")]
    Replied {
        /// The id of the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
        /// The text of the reply.
        text: String,
        /// The reasoning of the model, as far as its provider returns it in readable form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        /// The tool calls in the reply.
        calls: Vec<ToolCall>,
        /// The sources that the reply names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sources: Vec<Source>,
        /// The files that the model has created, without their data.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// The [provider](crate::models::ModelInfo::provider) of the model, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The model that replied, which may differ from the requested one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The name by which the model was requested, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requested_model: Option<String>,
        /// The host of the server, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_address: Option<String>,
        /// The port of the server, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_port: Option<u16>,
        /// The reason why the model stopped.
        #[serde(default)]
        finish_reason: FinishReason,
        /// The tokens of the request and the reply, if the provider counts them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The size of the model's context in tokens, if it is known. The input and output tokens
        /// of the usage are the part of it that is taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_tokens: Option<u64>,
        /// The time from the request to the first piece of the reply, if it was streamed.
        #[serde(
            default,
            rename = "first_delta_us",
            skip_serializing_if = "Option::is_none",
            with = "micros::optional_duration"
        )]
        first_delta: Option<Duration>,
        /// The time from the request to the reply.
        #[serde(rename = "duration_us", with = "micros")]
        duration: Duration,
    },
    /// The request has failed, or the run stopped before the reply was complete. What was streamed
    /// of the reply is void.
    ///
    /// Each `Requested` is followed by one `Replied` or `Failed`, unless the run or its step is
    /// dropped.
    #[serde(rename = "model.failed")]
    Failed {
        /// The [code](crate::StopReason::code) of the reason, such as `MODEL_RATE_LIMITED` or
        /// `CANCELLED`.
        code: String,
        /// The reason in words, for operators.
        error: String,
        /// The text of the reply that observers had received in pieces.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The [provider](crate::models::ModelInfo::provider) of the model, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The name of the requested model, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The host of the server, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_address: Option<String>,
        /// The port of the server, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_port: Option<u16>,
        /// The estimated tokens of the request and of the part of its reply that had arrived, if
        /// any had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The time from the request to the failure.
        #[serde(rename = "duration_us", with = "micros")]
        duration: Duration,
    },
    /// A [model hook](crate::agent::ModelHook) replaced a reply that had been streamed, which it
    /// had declared not to do.
    #[serde(rename = "model.reply_replaced")]
    ReplyReplaced {
        /// The text that was streamed.
        text: String,
    },
    /// The messages that were evicted from the [window](crate::agent::window) could not be
    /// summarized. The model receives no summary of them.
    #[serde(rename = "model.summary_failed")]
    SummaryFailed {
        /// The error of the summarizer.
        reason: String,
    },
    /// A [model hook](crate::agent::ModelHook) reported a problem that does not end the run, by
    /// [`RunContext::warn`](crate::RunContext::warn).
    #[serde(rename = "model.hook_warning")]
    HookWarning {
        /// The problem in words, for operators.
        reason: String,
    },
    /// The client of the model deviated from the request, such as by leaving out an option that the
    /// model refuses: one of [`ChatReply::warnings`](crate::ChatReply::warnings).
    #[serde(rename = "model.client_warning")]
    ClientWarning {
        /// The deviation in words, for operators.
        reason: String,
    },
    /// A reply did not contain what the driver, or a [typed extraction](crate::Agent::extract),
    /// asked for.
    ///
    /// The model receives the reason and is asked again, unless all attempts are used. For an
    /// extraction, the event follows [`Replied`](Self::Replied).
    #[serde(rename = "model.extraction_failed")]
    ExtractionFailed {
        /// The text of the reply.
        text: String,
        /// The reason, as the model receives it.
        reason: String,
        /// The number of the reply within the turn, or of the extraction attempt, from 1.
        attempt: u32,
    },
    /// A reply asked for something impossible: an unknown tool, arguments that the tool does not
    /// accept, or a call whose markup can't be parsed; or it gave a value that does not match the
    /// schema of an extraction, or an answer that an
    /// [`AnswerValidator`](crate::agent::AnswerValidator) rejected.
    ///
    /// The model receives the reason and is asked again, unless all attempts are used. For an
    /// extraction and for an answer, the event follows [`Replied`](Self::Replied).
    #[serde(rename = "model.validation_failed")]
    ValidationFailed {
        /// The text of the reply.
        text: String,
        /// The reason, as the model receives it.
        reason: String,
        /// The number of the reply within the turn, of the extraction attempt, or of the answer
        /// among those rejected in a row, from 1.
        attempt: u32,
    },
}
