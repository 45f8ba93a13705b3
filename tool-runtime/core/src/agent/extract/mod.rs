//! Structured output: answers as values of a Rust type.
//!
//! 1. The run proceeds as usual, with tools, until the model answers.
//! 2. [`OutputSpec`] asks for the answer as JSON that fits the schema of the type.
//! 3. The reply is repaired, validated and decoded. If that fails, the next request explains what
//!    is wrong, up to [`Agent::max_answer_attempts`] times.
//!
//! The turn records which phase the run is in, so that a resumed run continues to the value.

pub(crate) mod answer_validator;
pub(crate) mod output_spec;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::run::{Run, failure_code};
use super::session::SessionError;
use super::state::RunState;
use super::turn::ExtractionPhase;
use super::{Agent, OfferedTools, Outcome, Prompt, Step, StopReason, Stopped};
use crate::agent::extract::output_spec::{OutputSpec, is_output_request, retry_request};
use crate::agent::outcome::answer::stopped_at;
use crate::agent::request::exchange::parse_failure_event;
use crate::event::{MessageSource, RunEvent};
use crate::json::Fix;
use crate::message::{ContentPart, Message, ModelUsage, Usage};
use crate::schema::Schema;

/// A type whose values can be [extracted](crate::Agent::extract) from a model's answer.
///
/// It is implemented for every type with `#[args]`, for every type that derives serde's
/// `Deserialize` and schemars' `JsonSchema`, and for lists, maps, numbers and strings of these.
/// Name it as the bound of a generic function.
///
/// ```
/// use tool_runtime::agent::Extract;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Stopped, Tools};
///
/// async fn ask<T: Extract>(agent: &Agent, question: &str) -> Result<T, Stopped> {
///     Ok(agent.extract(question).await?.value)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let model = ScriptedModel::new([ChatReply::text(r#"{"value": 1815}"#)]);
/// let agent = Agent::new(model, Tools::new());
/// assert_eq!(ask::<u32>(&agent, "When was Ada born?").await?, 1815);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be extracted from a model's answer",
    label = "put `#[args]` on this type, or derive both `serde::Deserialize` and `schemars::JsonSchema`",
    note = "a type of another crate has to implement the traits of serde 1 and schemars 1, and must not borrow"
)]
pub trait Extract: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Extract for T {}

/// The value of an extraction, with the transcript and usage of its run.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let model = ScriptedModel::new([ChatReply::text(r#"{"value": 1815,}"#)]);
/// let agent = Agent::new(model, Tools::new());
/// let extracted = agent.extract::<u32>("When was Ada born?").await?;
/// assert_eq!(extracted.value, 1815);
/// // The trailing comma was repaired.
/// assert_eq!(extracted.fixes.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Extracted<T> {
    /// The extracted value of the answer.
    pub value: T,
    /// The repairs of the model's JSON.
    pub fixes: Vec<Fix>,
    /// The transcript of the conversation, including the request for the value.
    pub transcript: Vec<Message>,
    /// The tools that were offered or discovered in this conversation.
    pub offered_tools: OfferedTools,
    /// The tokens that the run used, as far as the model provider reports them.
    pub usage: Usage,
    /// The token usage of the run by model, including nested runs and tools that name their
    /// model.
    pub usage_by_model: Vec<ModelUsage>,
    /// The cost of the run, if [prices](super::Limits::max_cost) are known.
    pub cost: Option<f64>,
}

impl Agent {
    /// Runs the agent until the model gives its answer as a `T`.
    ///
    /// Tools are used first, as in [`run`](Self::run). Then the model is asked for the value,
    /// without tools. Where its provider supports structured output, the request carries the schema
    /// of `T`, in the [dialect](crate::Registry::dialect) of the tools if that can express it. The
    /// reply is repaired as tool arguments are. If it is still invalid, the next request explains
    /// what is wrong, up to [`max_answer_attempts`](Self::max_answer_attempts) requests in all. An
    /// agent without tools asks for the value at once.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run), and [`StopReason::ExtractionFailed`] if no attempt
    /// gave a valid value: with the number of attempts, the last reply, and what is wrong with it.
    ///
    /// # Panics
    /// Panics where [`run`](Self::run) does.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools, args};
    ///
    /// /// A person.
    /// #[args]
    /// struct Person {
    ///     /// Full name.
    ///     name: String,
    ///     /// Age in years.
    ///     age: u8,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let model = ScriptedModel::new([
    ///     ChatReply::text(r#"{"name": "Ada", "age": "thirty-six"}"#),
    ///     ChatReply::text(r#"{"name": "Ada", "age": 36}"#),
    /// ]);
    /// let ada = Agent::new(model, Tools::new()).extract::<Person>("Ada is 36.").await?;
    /// assert_eq!((ada.value.name.as_str(), ada.value.age), ("Ada", 36));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn extract<T: Extract>(
        &self,
        prompt: impl Into<Prompt>,
    ) -> Result<Extracted<T>, Stopped> {
        self.start(prompt).extract().await
    }
}

impl Run {
    /// Runs to the end and returns the answer as a `T`, as
    /// [`Agent::extract`](crate::Agent::extract) does.
    ///
    /// A [resumed](crate::Agent::resume) run continues to the value as well, whichever phase it was
    /// in.
    ///
    /// # Errors
    /// Returns the errors of [`Agent::extract`](crate::Agent::extract).
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    ///
    /// ```
    /// use tool_runtime::dispatch::{Approval, AskLater};
    /// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};
    ///
    /// /// Counts the money.
    /// #[tool(permission = "ask")]
    /// async fn count() -> u32 {
    ///     7
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("count", "{}"),
    /// #     ChatReply::text("There are 7."),
    /// #     ChatReply::text(r#"{"value": 7}"#),
    /// # ]);
    /// let agent = Agent::new(model, tools![count]).policy(Policy::new().approver(AskLater));
    /// let stopped = agent.extract::<u32>("How much is there?").await.unwrap_err();
    /// let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!() };
    /// paused.decide_each(|_| Approval::Once, "Grace");
    /// assert_eq!(agent.resume(*paused).extract::<u32>().await?.value, 7);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn extract<T: Extract>(mut self) -> Result<Extracted<T>, Stopped> {
        let is_end_emitted = self.has_ended();
        if let Some(reason) = self.take_stop_reason() {
            return Err(stopped_at(reason, self.into_state()));
        }
        if let Some(session) = self.session.name().filter(|_| is_end_emitted) {
            let reason = "the run has ended, and its session is free; extract before its end";
            let error = SessionError::InvalidWrite { session, reason: reason.to_owned() };
            return Err(stopped_at(StopReason::Session(error), self.into_state()));
        }
        let extracted = self.run_to_value().await;
        if !is_end_emitted {
            self.emit_finished(extracted.as_ref().err());
        }
        self.session.release().await;
        let (value, fixes) = match extracted {
            Ok(extracted) => extracted,
            Err(reason) => return Err(stopped_at(reason, self.into_state())),
        };
        let turn = self.into_state().turn;
        let (usage, cost) = (turn.usage(), turn.cost());
        let usage_by_model = turn.usage_by_model();
        let (transcript, offered_tools) = turn.into_parts();
        Ok(Extracted { value, fixes, transcript, offered_tools, usage, usage_by_model, cost })
    }

    /// Sets the schema of the following replies, and allows so many requests on top of the limit.
    fn expect_output(&mut self, schema: Schema, attempts: u32) {
        // In the dialect of the tools, so that the provider enforces it. A schema that the dialect
        // can't express is validated here only.
        let conversion = self.dispatcher().registry().snapshot().dialect().of_output();
        self.requests.output_schema = Some(conversion.convert(&schema).unwrap_or(schema));
        self.state.turn.edit_limits(|limits| {
            limits.max_iterations = limits.max_iterations.saturating_add(attempts);
        });
    }

    /// Runs to the value, from whichever phase the run is in.
    async fn run_to_value<T: Extract>(&mut self) -> Result<(T, Vec<Fix>), StopReason> {
        let spec = OutputSpec::of::<T>();
        let mut request = None;
        if self.turn().has_no_input() && !self.is_steered() {
            return Err(StopReason::MissingUserMessage);
        }
        if self.turn().extraction_phase() != Some(ExtractionPhase::Active) {
            self.state.turn.set_extraction_phase(Some(ExtractionPhase::Deferred));
            // If the model has answered already, the value is made of that answer.
            let needs_answer = match self.turn().next() {
                Step::RunCalls(_) => true,
                next => self.agent.has_tools() && next != Step::Done(Outcome::Answered),
            };
            if needs_answer {
                while self.advance().await?.is_some() {}
            }
            self.state.turn.set_extraction_phase(Some(ExtractionPhase::Active));
            request = Some(spec.request());
        }
        let extracted = self.request_value(&spec, request).await;
        if matches!(extracted, Ok(_) | Err(StopReason::ExtractionFailed { .. })) {
            // With or without a value, the extraction has ended.
            self.state.turn.set_extraction_phase(None);
            self.state.failure = extracted.as_ref().err().and_then(failure_code);
            self.save().await?;
        }
        extracted
    }

    fn extraction_failed(&self, attempts: u32, mut text: String, mut reason: String) -> StopReason {
        self.dispatcher().redact(&mut text);
        self.dispatcher().redact(&mut reason);
        StopReason::ExtractionFailed { attempts, text, reason }
    }

    /// Requests the value until it is valid. `request` is `None` if the transcript has it already,
    /// because the run was resumed.
    async fn request_value<T: Extract>(
        &mut self,
        spec: &OutputSpec,
        mut request: Option<String>,
    ) -> Result<(T, Vec<Fix>), StopReason> {
        let attempts = self.agent.max_answer_attempts;
        self.expect_output(spec.schema.clone(), attempts);
        let mut attempt = 1;
        loop {
            if let Some(text) = request.take() {
                self.add_to_prompt(vec![ContentPart::Text { text: text.clone() }])?;
                // Later requests are part of the event that reports what is wrong.
                let event = || RunEvent::MessageAdded {
                    source: MessageSource::Loop,
                    source_name: None,
                    message: None,
                    text,
                    attachments: Vec::new(),
                };
                self.emit_added_as((attempt == 1).then(event));
            }
            while self.advance().await?.is_some() {}
            let text = self.turn().transcript().last().map(Message::text).unwrap_or_default();
            let (kind, problem) = match spec.decode(&text) {
                Ok(value) => return Ok(value),
                Err(invalid) => invalid,
            };
            let feedback = retry_request(&problem);
            self.emit(|| parse_failure_event(kind, text.clone(), feedback.clone(), attempt));
            if attempt >= attempts {
                return Err(self.extraction_failed(attempt, text, problem));
            }
            request = Some(feedback);
            attempt += 1;
        }
    }
}

impl RunState {
    /// Removes the request for a value if the model has not replied to it. Else the next prompt
    /// would ask for it too.
    pub(super) fn withdraw_output_request(&mut self) {
        let is_unanswered = matches!(self.turn.transcript().last(), Some(Message::User { .. }));
        if self.turn.extraction_phase() != Some(ExtractionPhase::Active) || !is_unanswered {
            return;
        }
        self.turn.edit(|messages| {
            let Some(Message::User { parts, .. }) = messages.last_mut() else { return };
            parts.retain(|part| !is_output_request(part));
            if parts.is_empty() {
                messages.pop();
            }
        });
    }
}
