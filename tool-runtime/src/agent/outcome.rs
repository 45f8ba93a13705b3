use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::paused::Paused;
use super::session::SessionError;
use super::turn::{InvalidTransition, StopRequest};
use super::{OfferedTools, Prompt};
use crate::drivers::ReplyParseError;
use crate::event::ToolExecution;
use crate::event::money::money;
use crate::message::{Message, ToolCall, Usage};
use crate::models::{Finish, ModelError};
use crate::registry::RegistryError;

/// The end of a run in which the model answered. Prints as its text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// What the model said in the end.
    pub text: String,
    /// The whole conversation, that answer included: what a next run goes on from.
    pub transcript: Vec<Message>,
    /// The tools that the conversation has come to: what a next run goes on with.
    pub offered: OfferedTools,
    /// How many tokens the run took, as far as its provider counts them.
    pub usage: Usage,
    /// What that cost, where [prices](super::Limits::cost) are known.
    pub cost: Option<f64>,
}

impl Answer {
    /// The conversation, and what is said next.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([ChatReply::text("Hi!"), ChatReply::text("Fine.")]);
    /// let agent = Agent::new(model, Tools::new());
    /// let answer = agent.run("Hello").await?;
    /// let answer = agent.run(answer.then("How are you?")).await?;
    /// assert_eq!(answer.transcript.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn then(self, text: impl Into<String>) -> Prompt {
        Prompt::from(self.transcript).offered_tools(self.offered).with_user_text(text)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The end of a run without an answer.
#[non_exhaustive]
pub struct Stopped {
    /// What stopped it.
    pub why: StopReason,
    /// The conversation up to there. Every call in it has its result, so that it can be gone on
    /// from.
    pub transcript: Vec<Message>,
    /// The tools that the conversation has come to.
    pub offered: OfferedTools,
    /// How many tokens the run took, as far as its provider counts them.
    // Boxed, for an error that is large is slow to hand on.
    pub usage: Box<Usage>,
    /// What that cost, where [prices](super::Limits::cost) are known.
    pub cost: Option<f64>,
}

impl Stopped {
    /// The conversation up to there, and what is said next.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
    ///
    /// /// Rolls the dice.
    /// #[tool(effect = "none")]
    /// async fn roll() -> u8 {
    ///     4
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("roll", "{}"),
    /// #     ChatReply::text("Nothing yet."),
    /// # ]);
    /// let agent = Agent::new(model, tools![roll]).max_iterations(1);
    /// let stopped = agent.run("Roll the dice.").await.unwrap_err();
    /// let answer = agent.run(stopped.then("What have you got?")).await?;
    /// assert_eq!(answer.to_string(), "Nothing yet.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn then(self, text: impl Into<String>) -> Prompt {
        Prompt::from(self.transcript).offered_tools(self.offered).with_user_text(text)
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run stopped: {}", self.why)
    }
}

/// The reason is printed already; its source is what lies behind it.
impl std::error::Error for Stopped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.why.source()
    }
}

/// What a `main` that returns it, or an `unwrap`, prints: the reason, not the whole conversation.
impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What stopped a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopReason {
    /// The model was asked as often as it may be, and wanted more calls; those were not run.
    #[error("{}", out_of_iterations(*.0))]
    MaxIterations(u32),
    /// The conversation is empty or all orders, or ends with what the model said, so that there is nothing to ask it:
    /// add what comes next, such as by [`Answer::then`].
    #[error("there is nothing to answer: add what the model should answer to the conversation")]
    NothingAsked,
    /// The model began an answer in words, which is the last message now, and was cut off: for
    /// [`Length`](Finish::Length) or [`Filtered`](Finish::Filtered).
    #[error("the model's answer is incomplete: {}", match .0 {
        Finish::Length => "it ran out of tokens",
        _ => "its provider withheld the rest",
    })]
    TruncatedReply(Finish),
    /// The model said nothing and called nothing.
    #[error("the model replied with neither text nor calls")]
    EmptyReply,
    /// The model gave no reply.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The code of the model's client, or of its driver, panicked with this message.
    #[error("the model's client panicked: {0}")]
    ModelPanicked(String),
    /// The tools could not be registered; the model was never asked.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Calls wait for somebody to decide on them, or on what lies within them. In the transcript they are answered
    /// with that; to go on, decide and [`resume`](crate::Agent::resume).
    #[error("{}", waiting(&.0.awaited()))]
    AwaitingApproval(Box<Paused>),
    /// A call failed or was held back, and that ends a run here: see
    /// [`on_failure`](crate::Policy::on_failure) and [`on_block`](crate::Policy::on_block).
    #[error("the call of `{}` ended the run: {}", .0.call.name, .0.result.text)]
    BatchAborted(Box<ToolExecution>),
    /// It was stopped from outside, by the token of [`stop_on`](crate::Agent::stop_on).
    #[error("it was cancelled")]
    Cancelled,
    /// The tokens that it may take are spent: see [`Limits::tokens`](super::Limits::tokens).
    #[error("the run took {} tokens, of {most} that it may", usage.input.saturating_add(usage.output))]
    TokenLimit {
        /// What it took.
        usage: Usage,
        /// How many it may.
        most: u64,
    },
    /// The money that it may take is spent: see [`Limits::cost`](super::Limits::cost).
    #[error("the run cost {}, of {} that it may", money(*cost), money(*most))]
    CostLimit {
        /// What it cost.
        cost: f64,
        /// What it may.
        most: f64,
    },
    /// It took as long as it may: see [`Agent::time_limit`](crate::Agent::time_limit).
    #[error("the run took {0:?}, as long as it may")]
    TimeLimit(Duration),
    /// The model made the same call again and again: see [`Limits::repeats`](super::Limits::repeats).
    #[error(
        "the model made the same call {times} times in a row, and the last was not run: {}",
        shortened(call)
    )]
    Repeated {
        /// The call, as it was made last, without what is [secret](crate::Policy::secrets) in it.
        call: Box<ToolCall>,
        /// How often in a row it was made.
        times: u32,
    },
    /// A tool, by [`EffectRecord::StopRequested`](crate::EffectRecord::StopRequested), or the program, by a
    /// [hook](super::ModelHook) or [`Turn::stop`](super::Turn::stop), asked it to stop.
    #[error("{} asked it to: {}", asker(.0), .0.reason)]
    Requested(StopRequest),
    /// Nothing that the model said could be read by its driver, as often as it was asked.
    #[error(transparent)]
    UnparsableReply(Box<ReplyParseError>),
    /// What the model gave in the end is not what was to be [extracted](crate::Agent::extract), as often as it was
    /// asked.
    #[error(
        "the model's answer is not what was asked for (attempt {attempts} of {attempts}): {reason}; it was: {}",
        cut(said)
    )]
    ExtractionFailed {
        /// How often it was asked, since the run was last gone on with.
        attempts: u32,
        /// What it gave last, without what is [secret](crate::Policy::secrets) in it.
        said: String,
        /// What is wrong with that.
        reason: String,
    },
    /// The run can't be kept in its [session](super::session).
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The run belongs to the [session](super::session) of this name, and was to be gone on with beside it: a fault of
    /// the program. The session would know nothing of it, and the next who goes on there would do it all again.
    #[error(
        "the run belongs to the session `{0}`: go on with it there, by `session.resume_with(paused)` where it waits for \
         somebody, and else by `session.resume()`"
    )]
    InSession(String),
    /// A fault of the loop itself.
    #[error(transparent)]
    OutOfTurn(#[from] InvalidTransition),
}

impl StopReason {
    /// Its stable code, such as `MAX_ITERATIONS`: what spans carry as `error.type`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MaxIterations(_) => "MAX_ITERATIONS",
            Self::NothingAsked => "NOTHING_ASKED",
            Self::TruncatedReply(_) => "CUT",
            Self::EmptyReply => "SILENT",
            Self::Model(_) => "MODEL_FAILED",
            Self::ModelPanicked(_) => "MODEL_PANICKED",
            Self::Registry(_) => "REGISTRY",
            Self::AwaitingApproval(_) => "AWAITING_APPROVAL",
            Self::BatchAborted(_) => "HALTED",
            Self::Cancelled => "CANCELLED",
            Self::TokenLimit { .. } => "TOKENS_SPENT",
            Self::CostLimit { .. } => "MONEY_SPENT",
            Self::TimeLimit(_) => "TIME_LIMIT",
            Self::Repeated { .. } => "REPEATED",
            Self::Requested(_) => "REQUESTED",
            Self::UnparsableReply(_) => "MISREAD",
            Self::ExtractionFailed { .. } => "UNFIT",
            Self::Session(_) => "SESSION",
            Self::InSession(_) => "IN_SESSION",
            Self::OutOfTurn(_) => "OUT_OF_TURN",
        }
    }

    /// The same, where it is an error: to wait for somebody is none.
    pub(super) fn error(&self) -> Option<&'static str> {
        (!matches!(self, Self::AwaitingApproval(_))).then(|| self.code())
    }
}

/// So many letters are told of what a model said.
const LETTERS: usize = 200;

fn cut(said: &str) -> Cow<'_, str> {
    match said.char_indices().nth(LETTERS).and_then(|(end, _)| said.get(..end)) {
        Some(start) => format!("{start}…").into(),
        None => said.into(),
    }
}

fn shortened(call: &ToolCall) -> String {
    format!("{} {}", call.name, cut(&call.arguments.to_text()))
}

fn asker(request: &StopRequest) -> Cow<'_, str> {
    match &request.tool {
        Some(tool) => format!("the tool {tool}").into(),
        None => "the program".into(),
    }
}

fn waiting(calls: &[String]) -> String {
    // What is called often is named once.
    let mut names: Vec<&str> = Vec::new();
    for name in calls {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let names = names.join(", ");
    match calls.len() {
        1 => format!("a call waits for approval: {names}"),
        count => format!("{count} calls wait for approval: {names}"),
    }
}

fn out_of_iterations(times: u32) -> String {
    match times {
        0 => "the model may not be asked: `max_iterations` is 0".into(),
        1 => "the model was asked once, as often as it may be, and has not answered".into(),
        _ => format!(
            "the model was asked {times} times, as often as it may be, and has not answered"
        ),
    }
}
