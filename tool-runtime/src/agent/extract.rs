//! Structured output: answers as values of a Rust type.
//!
//! 1. The run proceeds as usual, with tools, until the model answers.
//! 2. [`OutputSpec`] asks for the answer as JSON that fits the schema of the type.
//! 3. The reply is repaired, validated and decoded. If that fails, the next request explains what
//!    is wrong, up to [`Agent::answer_attempts`] times.
//!
//! The turn records which phase the run is in, so that a resumed run continues to the value.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::answer::stopped_at;
use super::exchange::parse_failure_event;
use super::run::Run;
use super::state::RunState;
use super::turn::ExtractionPhase;
use super::{Agent, OfferedTools, Outcome, Prompt, Step, StopReason, Stopped};
use crate::drivers::ReplyParseErrorKind;
use crate::event::{MessageSource, RunEvent};
use crate::guard::{Panic, catch_panic};
use crate::json::{self, Fix};
use crate::message::{ContentPart, Message, Usage};
use crate::schema::{OrderedJson, Schema, rebase};
use crate::tool::problems_of;

/// A type whose values can be [extracted](crate::Agent::extract) from a model's answer.
///
/// It is implemented for every type with `#[args]`, for every type that derives serde's
/// `Deserialize` and schemars' `JsonSchema`, and for lists, maps, numbers and strings of these.
///
/// ```
/// use tool_runtime::agent::Extract;
/// use tool_runtime::args;
///
/// /// A person.
/// #[args]
/// struct Person {
///     /// Full name.
///     name: String,
/// }
///
/// fn accepts<T: Extract>() {}
/// accepts::<Person>();
/// accepts::<Vec<Person>>();
/// accepts::<Option<u8>>();
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
    /// The cost of the run, if [prices](super::Limits::cost) are known.
    pub cost: Option<f64>,
}

impl Agent {
    /// Runs the agent until the model gives its answer as a `T`.
    ///
    /// Tools are used first, as in [`run`](Self::run). Then the model is asked for the value,
    /// without tools. Where its provider supports structured output, the request carries the schema
    /// of `T`, in the [dialect](crate::Registry::dialect) of the tools if that can express it. The
    /// reply is repaired as tool arguments are. If it is still invalid, the next request explains
    /// what is wrong, up to [`answer_attempts`](Self::answer_attempts) requests in all. An agent
    /// without tools asks for the value at once.
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
    /// paused.decide_each("Grace", |_| Approval::Once);
    /// assert_eq!(agent.resume(*paused).extract::<u32>().await?.value, 7);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn extract<T: Extract>(mut self) -> Result<Extracted<T>, Stopped> {
        let is_end_emitted = self.has_ended();
        if let Some(reason) = self.take_stop_reason() {
            return Err(stopped_at(reason, self.into_state()));
        }
        let extracted = self.run_to_value().await;
        if !is_end_emitted {
            self.emit_finished(extracted.as_ref().err());
        }
        let (value, fixes) = match extracted {
            Ok(extracted) => extracted,
            Err(reason) => return Err(stopped_at(reason, self.into_state())),
        };
        let turn = self.into_state().turn;
        let (usage, cost) = (turn.usage(), turn.cost());
        let (transcript, offered_tools) = turn.into_parts();
        Ok(Extracted { value, fixes, transcript, offered_tools, usage, cost })
    }

    /// Sets the schema of the following replies, and allows so many requests on top of the limit.
    fn expect_output(&mut self, schema: Schema, attempts: u32) {
        // In the dialect of the tools, so that the provider enforces it. A schema that the dialect
        // can't express is validated here only.
        let conversion = self.dispatcher().registry().snapshot().dialect().of_output();
        self.requests.output_schema = Some(conversion.convert(&schema).unwrap_or(schema));
        self.state.turn.edit_limits(|limits| {
            limits.iterations = limits.iterations.saturating_add(attempts);
        });
    }

    /// Adds parts to the prompt of the next request, unless the run has ended.
    pub(super) fn add_to_prompt(&mut self, parts: Vec<ContentPart>) -> Result<(), StopReason> {
        match self.turn().next() {
            Step::Done(Outcome::Answered) | Step::RequestModel | Step::RunCalls(_) => {}
            Step::Done(outcome) => return Err(self.stop_reason(outcome)),
        }
        self.collect_added_messages();
        // The parts may be added to the last message.
        self.session.rewrite_from(self.state.turn.transcript().len().saturating_sub(1));
        Ok(self.state.turn.add_user_parts(parts)?)
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
        let attempts = self.agent.answer_attempts;
        self.expect_output(spec.schema.clone(), attempts);
        let mut attempt = 1;
        loop {
            if let Some(text) = request.take() {
                self.add_to_prompt(vec![ContentPart::Text { text: text.clone() }])?;
                // Later requests are part of the event that reports what is wrong.
                let event = || RunEvent::MessageAdded {
                    source: MessageSource::Loop,
                    source_name: None,
                    text,
                    attachments: 0,
                };
                self.emit_added_as((attempt == 1).then(event));
            }
            while self.advance().await?.is_some() {}
            let text = self.turn().transcript().last().map(Message::text).unwrap_or_default();
            let (kind, problem) = match spec.decode(&text) {
                Ok(value) => return Ok(value),
                Err(invalid) => invalid,
            };
            let feedback =
                format!("{RETRY_PREFIX} {problem}\nGive the JSON again, whole, and nothing else.");
            self.emit(|| parse_failure_event(kind, text.clone(), feedback.clone(), attempt));
            if attempt >= attempts {
                return Err(self.extraction_failed(attempt, text, problem));
            }
            request = Some(feedback);
            attempt += 1;
        }
    }
}

/// The first words of the messages that ask for a value, and that ask again.
const REQUEST_PREFIX: &str = "Give the answer as JSON alone, in the form of this JSON Schema:";
const RETRY_PREFIX: &str = "That is not it:";

impl RunState {
    /// Removes the request for a value if the model has not replied to it. Else the next prompt
    /// would ask for it too.
    pub(super) fn withdraw_output_request(&mut self) {
        let is_unanswered = matches!(self.turn.transcript().last(), Some(Message::User { .. }));
        if self.turn.extraction_phase() != Some(ExtractionPhase::Active) || !is_unanswered {
            return;
        }
        self.turn.edit(|messages| {
            let Some(Message::User { parts }) = messages.last_mut() else { return };
            parts.retain(|part| !is_output_request(part));
            if parts.is_empty() {
                messages.pop();
            }
        });
    }
}

fn is_output_request(part: &ContentPart) -> bool {
    let ContentPart::Text { text } = part else { return false };
    // A blank line separates it from what the user wrote before.
    let text = text.trim_start();
    [REQUEST_PREFIX, RETRY_PREFIX].iter().any(|prefix| text.starts_with(prefix))
}

/// The output to request. Providers accept object schemas only: any other schema becomes the member
/// `value` of an object.
struct OutputSpec {
    schema: Schema,
    /// The schema of the member, if the output is wrapped.
    member: Option<Schema>,
}

impl OutputSpec {
    fn of<T: JsonSchema>() -> Self {
        let schema = Schema::of::<T>();
        let is_wrapped = schema.as_value().get("type").is_none_or(|kind| kind != "object");
        if !is_wrapped {
            return Self { schema, member: None };
        }
        let wrapper = Schema::from(json!({
            "type": "object",
            "properties": { "value": rebase(schema.as_value(), "/properties/value") },
            "required": ["value"],
            "additionalProperties": false,
        }));
        Self { schema: wrapper, member: Some(schema) }
    }

    /// Returns the message that asks for the output.
    fn request(&self) -> String {
        let schema = OrderedJson(self.schema.as_value());
        format!("{REQUEST_PREFIX} {schema}")
    }

    /// Decodes the output, or returns what is wrong with it.
    fn decode<T: DeserializeOwned>(&self, text: &str) -> Result<(T, Vec<Fix>), Invalid> {
        let Some(member) = &self.member else { return decode(text, &self.schema) };
        let wrapped = decode(text, &self.schema).map(|(Wrapper { value }, fixes)| (value, fixes));
        // A model may give the value without its wrapper. Then all that is wrong is within the
        // value.
        let is_wrapped =
            || json::parse(text).is_ok_and(|parsed| parsed.value.get("value").is_some());
        wrapped.or_else(|of_wrapped| {
            decode(text, member)
                .map_err(|of_value| if is_wrapped() { of_wrapped } else { of_value })
        })
    }
}

/// Why an output is invalid: the kind of failure, and the text for the model.
type Invalid = (ReplyParseErrorKind, String);

/// Repairs, validates and decodes a text.
fn decode<T: DeserializeOwned>(text: &str, schema: &Schema) -> Result<(T, Vec<Fix>), Invalid> {
    let parsed = json::parse_as(text, schema.as_value()).map_err(|error| {
        (ReplyParseErrorKind::Extraction, format!("it can't be read as JSON: {error}"))
    })?;
    if parsed.truncated {
        return Err((ReplyParseErrorKind::Extraction, "it was cut off".to_owned()));
    }
    let is_valid = schema.check(&parsed.value).is_empty();
    // From the text, not the value, which has lost the digits beyond 64 bits.
    let decoded =
        catch_panic(|| if is_valid { serde_json::from_str::<T>(parsed.json()).ok() } else { None });
    let lines = match decoded {
        Ok(Some(value)) => return Ok((value, parsed.fixes)),
        Ok(None) => problems_of::<T>(schema, &parsed.value, parsed.json(), false).lines,
        // The panic message is not for the model: it may quote anything.
        Err(Panic(_)) => Vec::new(),
    };
    let problem = if lines.is_empty() {
        "it can't be taken".to_owned()
    } else {
        format!("this is wrong with it:\n- {}", lines.join("\n- "))
    };
    Err((ReplyParseErrorKind::Validation, problem))
}

#[derive(serde::Deserialize)]
struct Wrapper<T> {
    value: T,
}
