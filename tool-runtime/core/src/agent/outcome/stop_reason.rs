//! The reasons for which a run stops without an answer.

use std::borrow::Cow;
use std::time::Duration;

use crate::agent::outcome::paused::Paused;
use crate::agent::session::SessionError;
use crate::agent::turn::TransitionError;
use crate::agent::{Limits, Outcome, Turn};
use crate::drivers::ReplyParseError;
use crate::event::ToolExecution;
use crate::event::money::format_amount;
use crate::message::{ToolCall, Usage, visible};
use crate::models::{FinishReason, ModelError};
use crate::registry::RegistryError;
use crate::tool::MeteredUsage;

/// The reason for which a run stopped without an answer.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason, tool, tools};
///
/// /// Rolls the dice.
/// #[tool(effect = "none")]
/// async fn roll() -> u8 {
///     4
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let model = ScriptedModel::new([ChatReply::default().call("roll", "{}")]);
/// let agent = Agent::new(model, tools![roll]).max_iterations(1);
/// let reason = agent.run("Roll the dice.").await.unwrap_err().reason;
/// assert!(matches!(reason, StopReason::IterationLimit(1)));
/// assert_eq!(reason.code(), "ITERATION_LIMIT");
/// let text = "iteration limit exceeded: no answer after 1 iteration; raise `max_iterations`";
/// assert_eq!(reason.to_string(), text);
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopReason {
    /// The model requested more calls after its last iteration. They were not run.
    #[error("{}", iterations_error(*.0))]
    IterationLimit(u32),
    /// The conversation has no message for the model to answer: it is empty, has system messages
    /// only, or ends with a reply of the model. Add a message, for example with
    /// [`Answer::then`](crate::Answer::then).
    #[error("no message to answer: add a user message to the conversation")]
    MissingUserMessage,
    /// The text of the model's reply was truncated, for [`Length`](FinishReason::Length),
    /// [`Filtered`](FinishReason::ContentFilter) or [`Paused`](FinishReason::Paused). It is the
    /// last message of the transcript.
    #[error("model reply truncated: {}", match .0 {
        FinishReason::Length => "the output token limit was reached; raise `ChatOptions::max_tokens`",
        FinishReason::Paused => "the model provider paused it too often",
        _ => "the content filter of the model provider withheld the rest",
    })]
    TruncatedReply(FinishReason),
    /// The model replied with neither text nor calls.
    #[error("model reply is empty: neither text nor calls")]
    EmptyReply,
    /// The model request failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model's client or the driver panicked with this message.
    ///
    /// The displayed text names the model client in both cases.
    #[error("model client or driver panicked: {0}")]
    ModelPanicked(String),
    /// The tools could not be registered. No request was sent to the model.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Calls, or calls of their nested runs, await approval, or the answers to their
    /// [questions](crate::agent::PendingCall::question).
    ///
    /// Record decisions and answers, and pass the paused run to
    /// [`Agent::resume`](crate::Agent::resume). In the transcript, these calls have pending
    /// results, so you can also pass the transcript to a new run.
    #[error("{}", approval_error(.0))]
    AwaitingApproval(Box<Paused>),
    /// The session did not accept the prompt, because its paused run waits for decisions on these
    /// calls, or for answers. No request was sent to the model, and nothing was saved.
    ///
    /// Decide on the calls, pass the paused run to
    /// [`Session::resume_with`](crate::agent::session::Session::resume_with), and send the prompt
    /// again; or abandon the run with
    /// [`Session::abandon_paused`](crate::agent::session::Session::abandon_paused).
    #[error("prompt refused: {}; decide with `resume_with`, or abandon the run with `abandon_paused`", approval_error(.0))]
    PromptRefused(Box<Paused>),
    /// A call failed or was blocked, and the policy stops the run for that. See
    /// [`Policy::abort_on_failure`](crate::Policy::abort_on_failure) and
    /// [`Policy::abort_on_block`](crate::Policy::abort_on_block).
    #[error(
        "batch aborted by call `{}` of tool `{}`: {}",
        .0.call.id, .0.call.name, .0.result.text
    )]
    BatchAborted(Box<ToolExecution>),
    /// The agent's cancellation token was cancelled.
    #[error("cancelled by the cancellation token of the agent")]
    Cancelled,
    /// The run has reached its token limit: see
    /// [`Limits::max_tokens`](crate::agent::Limits::max_tokens).
    #[error(
        "token limit exceeded: used {} of {limit}",
        usage.input_tokens.saturating_add(usage.output_tokens)
    )]
    TokenLimit {
        /// The tokens that the run used.
        usage: Usage,
        /// The limit, in tokens.
        limit: u64,
    },
    /// The run has reached its cost limit: see
    /// [`Limits::max_cost`](crate::agent::Limits::max_cost).
    #[error("cost limit exceeded: spent {} of {}", format_amount(*cost), format_amount(*limit))]
    CostLimit {
        /// The cost of the run.
        cost: f64,
        /// The limit, in the currency of the prices.
        limit: f64,
    },
    /// The run has reached its time limit: see [`Agent::run_timeout`](crate::Agent::run_timeout).
    #[error("time limit exceeded: the run did not finish within {0:?}")]
    Timeout(Duration),
    /// The model repeated the same call too often: see
    /// [`Limits::max_repeats`](crate::agent::Limits::max_repeats).
    #[error(
        "call repeated {times} times in a row; the last one was not run: {}",
        shortened_call(call)
    )]
    RepeatedCall {
        /// The last of the calls, with its [secrets](crate::Policy::secrets) redacted.
        call: Box<ToolCall>,
        /// The number of times in a row that the call was made.
        times: u32,
    },
    /// A stop was requested: by a tool, with
    /// [`EffectRecord::StopRequested`](crate::EffectRecord::StopRequested), or by the program, with
    /// a [hook](crate::agent::ModelHook) or [`Turn::stop`](crate::agent::Turn::stop).
    #[error("stop requested by {}: {reason}", requester(tool.as_deref()))]
    StopRequested {
        /// The full name of the tool that requested the stop; `None` if the program did.
        tool: Option<String>,
        /// The reason for the stop.
        reason: String,
    },
    /// The driver could parse none of the model's replies, in as many attempts as it allows.
    #[error(transparent)]
    UnparsableReply(Box<ReplyParseError>),
    /// A [validator](crate::agent::AnswerValidator) rejected as many answers as the agent
    /// [allows](crate::Agent::max_answer_attempts), or it panicked.
    #[error("answer rejected after {}: {reason}", counted(*attempts, "attempt"))]
    AnswerRejected {
        /// The number of answers that were rejected in a row.
        attempts: u32,
        /// The last answer, with its [secrets](crate::Policy::secrets) redacted.
        text: String,
        /// Why the last answer was rejected.
        reason: String,
    },
    /// The model gave no valid value to [extract](crate::Agent::extract), in as many attempts as
    /// the agent allows.
    #[error(
        "extraction failed after {}: {reason}; last reply: {}",
        counted(*attempts, "attempt"),
        shortened(text)
    )]
    ExtractionFailed {
        /// The number of attempts since the run was started or resumed.
        attempts: u32,
        /// The text of the last reply, with its [secrets](crate::Policy::secrets) redacted.
        text: String,
        /// The problem with that text.
        reason: String,
    },
    /// The run could not be loaded from or saved to its [session](crate::agent::session).
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The run belongs to the [session](crate::agent::session) of this name and was resumed outside
    /// of it.
    ///
    /// This is a mistake in the program: the session would not record the steps, and the next
    /// resume of the session would repeat them.
    #[error(
        "run belongs to the session `{0}`: resume it with `session.resume_with(paused)` if it is \
         paused, with `session.resume_failed()` if it failed, and with `session.resume()` otherwise"
    )]
    BelongsToSession(String),
    /// The loop made a step that the [`Turn`] did not expect, which is a bug in the loop itself.
    #[error(transparent)]
    InvalidTransition(#[from] TransitionError),
}

impl StopReason {
    /// Returns the stable code of the reason: the name of its variant, such as `ITERATION_LIMIT`.
    ///
    /// For [`Model`](Self::Model), it is the [code of the error](ModelError::code), such as
    /// `MODEL_TIMEOUT`. Spans carry it as `error.type`, and
    /// [`RunEvent::Finished`](crate::event::RunEvent::Finished) as its code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::IterationLimit(_) => "ITERATION_LIMIT",
            Self::MissingUserMessage => "MISSING_USER_MESSAGE",
            Self::TruncatedReply(_) => "TRUNCATED_REPLY",
            Self::EmptyReply => "EMPTY_REPLY",
            Self::Model(error) => error.code(),
            Self::ModelPanicked(_) => "MODEL_PANICKED",
            Self::Registry(_) => "REGISTRY",
            Self::AwaitingApproval(_) => "AWAITING_APPROVAL",
            Self::PromptRefused(_) => "PROMPT_REFUSED",
            Self::BatchAborted(_) => "BATCH_ABORTED",
            Self::Cancelled => "CANCELLED",
            Self::TokenLimit { .. } => "TOKEN_LIMIT",
            Self::CostLimit { .. } => "COST_LIMIT",
            Self::Timeout(_) => "TIMEOUT",
            Self::RepeatedCall { .. } => "REPEATED_CALL",
            Self::StopRequested { .. } => "STOP_REQUESTED",
            Self::UnparsableReply(_) => "UNPARSABLE_REPLY",
            Self::AnswerRejected { .. } => "ANSWER_REJECTED",
            Self::ExtractionFailed { .. } => "EXTRACTION_FAILED",
            Self::Session(_) => "SESSION",
            Self::BelongsToSession(_) => "BELONGS_TO_SESSION",
            Self::InvalidTransition(_) => "INVALID_TRANSITION",
        }
    }

    /// Returns the code, or `None` for [`AwaitingApproval`](Self::AwaitingApproval), which is no
    /// error.
    pub(crate) fn error_type(&self) -> Option<&'static str> {
        (!matches!(self, Self::AwaitingApproval(_))).then(|| self.code())
    }
}

/// Returns why a run with this outcome stops.
pub(crate) fn stop_reason(turn: &Turn, outcome: Outcome) -> StopReason {
    let limits = turn.limits();
    match outcome {
        Outcome::TruncatedReply(finish) => StopReason::TruncatedReply(finish),
        Outcome::IterationLimit => StopReason::IterationLimit(turn.requests()),
        Outcome::BudgetExhausted => exceeded_limit(limits, &turn.metered()),
        Outcome::RepeatedCall => turn
            .repeated_call()
            .map(|(call, times)| StopReason::RepeatedCall { call: Box::new(call.clone()), times })
            .unwrap_or(StopReason::EmptyReply),
        Outcome::StopRequested => {
            let request = turn.stop_request().cloned();
            let (tool, reason) = request.map(|it| (it.tool, it.reason)).unwrap_or_default();
            StopReason::StopRequested { tool, reason }
        }
        Outcome::Answered | Outcome::EmptyReply => StopReason::EmptyReply,
    }
}

/// Returns which of the two limits is reached: the cost limit, or else the token limit.
pub(crate) fn exceeded_limit(limits: &Limits, used: &MeteredUsage) -> StopReason {
    match limits.max_cost.map(|(limit, _)| limit).zip(limits.cost_of(used)) {
        Some((limit, cost)) if cost >= limit => StopReason::CostLimit { cost, limit },
        _ => {
            let limit = limits.max_tokens.unwrap_or_default();
            StopReason::TokenLimit { usage: used.usage(), limit }
        }
    }
}

/// The number of characters of a model's text that errors quote.
const MAX_QUOTED_CHARS: usize = 200;

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_QUOTED_CHARS).and_then(|(end, _)| text.get(..end)) {
        Some(start) => format!("{start}…").into(),
        None => text.into(),
    }
}

fn shortened_call(call: &ToolCall) -> String {
    visible(&format!("{} {}", call.name, shortened(&call.arguments.to_text()))).into_owned()
}

fn requester(tool: Option<&str>) -> Cow<'_, str> {
    match tool {
        Some(tool) => format!("the tool `{tool}`").into(),
        None => "the program".into(),
    }
}

fn approval_error(paused: &Paused) -> String {
    let (decisions, answers) = (paused.awaited(false), paused.awaited(true));
    let awaited = [(decisions, "approval"), (answers, "an answer")];
    let awaited = awaited.iter().filter(|(calls, _)| !calls.is_empty());
    let awaited = awaited.map(|(calls, awaited)| awaiting(calls, awaited));
    let void = paused.void_decisions();
    let parts = awaited.chain(void.into_iter().map(|reason| visible(reason).into_owned()));
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns how many calls await this, and of which tools.
fn awaiting(calls: &[String], awaited: &str) -> String {
    // A name is listed once, however many of its calls wait.
    let mut names: Vec<&str> = Vec::new();
    for name in calls {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let names = names.join(", ");
    let names = visible(&names);
    match calls.len() {
        1 => format!("1 call awaits {awaited}: {names}"),
        count => format!("{count} calls await {awaited}: {names}"),
    }
}

fn iterations_error(times: u32) -> String {
    match times {
        0 => "iteration limit exceeded: `max_iterations` is 0".into(),
        _ => {
            let iterations = counted(times, "iteration");
            format!(
                "iteration limit exceeded: no answer after {iterations}; raise `max_iterations`"
            )
        }
    }
}

fn counted(count: u32, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
