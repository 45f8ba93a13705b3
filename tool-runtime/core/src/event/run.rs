use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Attachment, RunId, UnmatchedRule, micros};
use crate::message::{MessageId, ModelUsage, Usage};

/// An event of a run as a whole.
///
/// ```
/// use tool_runtime::event::{EventKind, Recorder, RunEvent};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let recorder = Recorder::new(100);
/// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// Agent::new(model, Tools::new()).observer(recorder.clone()).run("Hello").await?;
/// let last = recorder.events().pop().unwrap();
/// assert!(matches!(&last.kind, EventKind::Run(RunEvent::Finished { code: None, .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum RunEvent {
    /// The run started or was resumed.
    #[serde(rename = "run.started")]
    Started {
        /// The run whose call this run serves, if this is the run of a sub-agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_run: Option<RunId>,
        /// The [name](crate::Agent::name) of the agent, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The name of the [session](crate::agent::session::Session) that the run belongs to, if
        /// any. The run of a sub-agent belongs to none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// The [metadata](crate::agent::Prompt::metadata) of the run.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    },
    /// A message was added to the conversation that is neither the model's nor a tool's: the
    /// prompt, or a message during the run.
    ///
    /// Each message is emitted once, even if the run is resumed. If the prompt continues a
    /// conversation, only its system message and the new user message are emitted. A message that
    /// is [inserted](crate::agent::Turn::edit) before an already emitted one is not emitted.
    #[serde(rename = "run.message_added")]
    MessageAdded {
        /// The kind of source that the message came from.
        source: MessageSource,
        /// The origin of an [untrusted](MessageSource::Untrusted) message, as the program stated
        /// it. It is not verified.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_name: Option<String>,
        /// The id of the user message that the text is, or that it was added to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
        /// The text of the message.
        text: String,
        /// The images and other parts of the message that are not text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// A permission, limit or preference of the program applies to no tool of the registry, such as
    /// one for a misspelled name. Each rule is reported once.
    #[serde(rename = "run.rule_unmatched")]
    RuleUnmatched(UnmatchedRule),
    /// A [`Dispatcher`](crate::Dispatcher) without an agent evicted approvals for the run, or
    /// secrets that its calls contained, because it serves too many runs.
    ///
    /// Further calls of the run are asked about again, and these secrets are not redacted in them.
    /// For calls outside of a run, the secrets of the oldest batches are evicted. To end runs
    /// before that, call [`Dispatcher::end_run`](crate::Dispatcher::end_run).
    #[serde(rename = "run.state_evicted")]
    StateEvicted,
    /// The store failed to renew the lease of a session in progress. The process retries the
    /// renewal. If the lease expires first, the run stops with
    /// [`SessionError::LeaseLost`](crate::agent::session::SessionError).
    ///
    /// A lease belongs to no run: the event has the run id 0. Only the first of several consecutive
    /// failures is emitted.
    #[serde(rename = "run.lease_renewal_failed")]
    LeaseRenewalFailed {
        /// The name of the session.
        session: String,
        /// The error of the store, for operators.
        error: String,
    },
    /// The store failed to release the lease of a session whose run has ended or paused. Other
    /// processes can run the session once the lease has expired.
    ///
    /// A lease belongs to no run: the event has the run id 0.
    #[serde(rename = "run.lease_release_failed")]
    LeaseReleaseFailed {
        /// The name of the session.
        session: String,
        /// The error of the store, for operators.
        error: String,
    },
    /// The store of an [inbox](crate::Agent::inbox) failed, or has a message that can't be read.
    /// The run continues, and reads the inbox again at its next step. Only the first of several
    /// consecutive failures is emitted.
    #[serde(rename = "run.inbox_failed")]
    InboxFailed {
        /// The name of the session.
        session: String,
        /// The error of the store, for operators.
        error: String,
    },
    /// The run ended, or paused until a decision arrives.
    #[serde(rename = "run.finished")]
    Finished {
        /// The [code](crate::StopReason::code) of the stop reason; `None` if the model answered.
        ///
        /// After `AWAITING_APPROVAL` the run is paused: it emits further events under the same id
        /// once it is resumed. `ABANDONED` means that the process of the run ended, or the run was
        /// paused, and its [session](crate::agent::session::Session) received another prompt.
        /// `DROPPED` means that the future of the run, or its [`Run`](crate::agent::Run), was
        /// dropped; the run can be resumed from a saved state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The stop reason in words, for operators.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The tokens that the run has used since it first started, as far as the provider counts
        /// them.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        usage: Usage,
        /// The token usage of the run by model, including nested runs and tools that name their
        /// model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        usage_by_model: Vec<ModelUsage>,
        /// The cost of these tokens, if [prices](crate::agent::Limits::max_cost) are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// The time since the run started or was last resumed.
        #[serde(rename = "duration_us", with = "micros")]
        duration: Duration,
    },
}

/// The kind of source of a message that is neither the model's nor a tool's.
///
/// ```
/// use tool_runtime::event::{EventKind, MessageSource, Recorder, RunEvent};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let recorder = Recorder::new(100);
/// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// Agent::new(model, Tools::new()).observer(recorder.clone()).run("Hello").await?;
/// let added = recorder.events().into_iter().find_map(|event| match event.kind {
///     EventKind::Run(RunEvent::MessageAdded { source, text, .. }) => Some((source, text)),
///     _ => None,
/// });
/// assert_eq!(added, Some((MessageSource::User, "Hello".to_owned())));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageSource {
    /// The program, as the system message.
    System,
    /// The user, or the program on behalf of the user.
    User,
    /// A [`Steering`](crate::agent::Steering::push) handle of the program.
    Steering,
    /// An untrusted source, by
    /// [`Steering::push_untrusted`](crate::agent::Steering::push_untrusted).
    Untrusted,
    /// The agent loop, which asks for the answer as a [typed value](crate::Agent::extract).
    Loop,
}
