//! Answers that are values.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::ask::misread;
use super::ending::stopped_at;
use super::run::Run;
use super::state::RunState;
use super::turn::ExtractionPhase;
use super::{Agent, OfferedTools, Outcome, Prompt, Step, StopReason, Stopped};
use crate::drivers::ReplyParseErrorKind;
use crate::event::{RunEvent, Speaker};
use crate::guard::{Panic, guarded};
use crate::json::{self, Fix};
use crate::message::{Message, Usage, UserPart};
use crate::schema::{OrderedJson, Schema, rebase};
use crate::tool::refused;

/// How often the model is asked for the value, unless set.
pub(super) const ATTEMPTS: u32 = 3;

/// A type that a model can be asked for a value of: any that `#[args]` stands on, or that derives serde's
/// `Deserialize` and schemars' `JsonSchema`; and lists, maps, numbers, texts.
#[diagnostic::on_unimplemented(
    message = "a model can't be asked for a `{Self}`",
    label = "put `#[args]` on this type, or derive both `serde::Deserialize` and `schemars::JsonSchema`",
    note = "a type of another crate has to know serde 1 and schemars 1, and none may borrow"
)]
pub trait Extract: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Extract for T {}

/// What [`Agent::extract`](crate::Agent::extract) gives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Extracted<T> {
    /// The value.
    pub value: T,
    /// What was repaired in the model's text.
    pub fixes: Vec<Fix>,
    /// The whole conversation.
    pub transcript: Vec<Message>,
    /// The tools that the conversation has come to.
    pub offered: OfferedTools,
    /// How many tokens that took, as far as its provider counts them.
    pub usage: Usage,
    /// What that cost, where [prices](super::Limits::cost) are known.
    pub cost: Option<f64>,
}

impl Agent {
    /// Runs until the model answers, and has it give the answer as a `T`.
    ///
    /// The tools are used first, as in [`run`](Self::run). Then the model is asked for the value: without tools, and
    /// held to the schema of `T` where its provider can do that, which is told in the
    /// [dialect](crate::Registry::dialect) of the tools if it can be. What it writes is repaired as arguments are; what is
    /// wrong with it then is told to the model, which is asked three times in all unless
    /// [set](Self::extract_attempts). An agent without tools asks for the value at once.
    ///
    /// # Errors
    /// As of [`run`](Self::run); and [`StopReason::ExtractionFailed`], where the model gave no such value: with how often it was
    /// asked, what it gave last, and what is wrong with that.
    ///
    /// # Panics
    /// As [`run`](Self::run).
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
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
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
    /// Goes on until the model answers, and has it give the answer as a value, as
    /// [`Agent::extract`](crate::Agent::extract) does: also a run that is [gone on
    /// with](crate::Agent::resume). All of that is one run.
    ///
    /// # Errors
    /// As of [`Agent::extract`](crate::Agent::extract).
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
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
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("count", "{}"),
    /// #     ChatReply::text("There are 7."),
    /// #     ChatReply::text(r#"{"value": 7}"#),
    /// # ]);
    /// let agent = Agent::new(model, tools![count]).policy(Policy::new().approver(AskLater));
    /// let stopped = agent.extract::<u32>("How much is there?").await.unwrap_err();
    /// let StopReason::AwaitingApproval(mut paused) = stopped.why else { panic!() };
    /// paused.decide_each("Grace", |_| Approval::Once);
    /// assert_eq!(agent.resume(*paused).extract::<u32>().await?.value, 7);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn extract<T: Extract>(mut self) -> Result<Extracted<T>, Stopped> {
        let is_told = self.has_ended();
        if let Some(why) = self.why_ended() {
            return Err(stopped_at(why, self.into_state()));
        }
        let given = self.value().await;
        if !is_told {
            self.tell_end(given.as_ref().err());
        }
        let (value, fixes) = match given {
            Ok(given) => given,
            Err(why) => return Err(stopped_at(why, self.into_state())),
        };
        let turn = self.into_state().turn;
        let (usage, cost) = (turn.usage(), turn.cost());
        let (transcript, offered) = turn.into_parts();
        Ok(Extracted { value, fixes, transcript, offered, usage, cost })
    }

    /// From now on it is asked for this, and may be so often.
    fn want(&mut self, schema: Schema, times: u32) {
        // In the dialect in which models are told of the tools, so that their provider holds this one to it; what
        // can't be said in that is held to here alone.
        let dialect = self.dispatcher().registry().snapshot().dialect().of_output();
        self.wanted = Some(schema.for_dialect(dialect).unwrap_or(schema));
        self.state.turn.edit_limits(|limits| {
            limits.iterations = limits.iterations.saturating_add(times);
        });
    }

    /// More is said to the model, unless the run is over.
    pub(super) fn say(&mut self, parts: Vec<UserPart>) -> Result<(), StopReason> {
        match self.turn().next() {
            Step::Done(Outcome::Answered) | Step::RequestModel | Step::RunCalls(_) => {}
            Step::Done(outcome) => return Err(self.stopped(outcome)),
        }
        self.hear();
        if let Some(keeper) = &mut self.keeper {
            // The last message may grow.
            keeper.rewrite_from(self.state.turn.transcript().len().saturating_sub(1));
        }
        Ok(self.state.turn.add_user_parts(parts)?)
    }

    /// Goes on to the value, from wherever that was left.
    async fn value<T: Extract>(&mut self) -> Result<(T, Vec<Fix>), StopReason> {
        let wanted = Wanted::of::<T>();
        let mut question = None;
        if self.turn().has_no_input() && !self.is_steered() {
            return Err(StopReason::NothingAsked);
        }
        if self.turn().extraction_phase() != Some(ExtractionPhase::Active) {
            self.state.turn.set_extraction_phase(Some(ExtractionPhase::Deferred));
            // Where the model has answered, the value is made of that.
            let goes_on = match self.turn().next() {
                Step::RunCalls(_) => true,
                next => self.agent.has_tools() && next != Step::Done(Outcome::Answered),
            };
            if goes_on {
                while self.advance().await?.is_some() {}
            }
            self.state.turn.set_extraction_phase(Some(ExtractionPhase::Active));
            question = Some(wanted.question());
        }
        let given = self.asked_for(&wanted, question).await;
        if matches!(given, Ok(_) | Err(StopReason::ExtractionFailed { .. })) {
            // Whatever came of it, it is over.
            self.state.turn.set_extraction_phase(None);
            self.keep().await?;
        }
        given
    }

    /// Nothing that it gave is such a value.
    fn unfit(&self, attempts: u32, mut said: String, mut reason: String) -> StopReason {
        self.dispatcher().hide(&mut said);
        self.dispatcher().hide(&mut reason);
        StopReason::ExtractionFailed { attempts, said, reason }
    }

    /// Asks for it; without a question, where one was asked and the process ended.
    async fn asked_for<T: Extract>(
        &mut self,
        wanted: &Wanted,
        mut question: Option<String>,
    ) -> Result<(T, Vec<Fix>), StopReason> {
        let attempts = self.agent.extract_attempts;
        self.want(wanted.schema.clone(), attempts);
        let mut attempt = 1;
        loop {
            if let Some(text) = question.take() {
                self.say(vec![UserPart::Text { text: text.clone() }])?;
                // What is said to it later is told with why.
                let said = || RunEvent::Said { by: Speaker::Loop, source: None, text, images: 0 };
                self.tell_said_as((attempt == 1).then(said));
            }
            while self.advance().await?.is_some() {}
            let text = self.turn().transcript().last().map(Message::text).unwrap_or_default();
            let (kind, wrong) = match wanted.read(&text) {
                Ok(given) => return Ok(given),
                Err(wrong) => wrong,
            };
            let told = format!("{AGAIN} {wrong}\nGive the JSON again, whole, and nothing else.");
            self.tell(|| misread(kind, text.clone(), told.clone(), attempt));
            if attempt >= attempts {
                return Err(self.unfit(attempt, text, wrong));
            }
            (question, attempt) = (Some(told), attempt + 1);
        }
    }
}

/// How the loop asks for a value, and asks again.
const ASKS: &str = "Give the answer as JSON alone, in the form of this JSON Schema:";
const AGAIN: &str = "That is not it:";

impl RunState {
    /// What the loop asked and nobody answered goes with the run: whatever is said next doesn't ask for that.
    pub(super) fn withdraw_question(&mut self) {
        let is_asked = matches!(self.turn.transcript().last(), Some(Message::User { .. }));
        if self.turn.extraction_phase() != Some(ExtractionPhase::Active) || !is_asked {
            return;
        }
        self.turn.edit(|messages| {
            let Some(Message::User { parts }) = messages.last_mut() else { return };
            parts.retain(|part| !is_question(part));
            if parts.is_empty() {
                messages.pop();
            }
        });
    }
}

fn is_question(part: &UserPart) -> bool {
    let UserPart::Text { text } = part else { return false };
    // Behind what the user said there is a blank line before it.
    [ASKS, AGAIN].iter().any(|asked| text.trim_start().starts_with(asked))
}

/// What the model is to give. Providers take objects alone: anything else is a member of one.
struct Wanted {
    schema: Schema,
    /// What the member has to be.
    member: Option<Schema>,
}

impl Wanted {
    fn of<T: JsonSchema>() -> Self {
        let schema = Schema::of::<T>();
        let is_member = schema.as_value().get("type").is_none_or(|kind| kind != "object");
        if !is_member {
            return Self { schema, member: None };
        }
        let whole = Schema::from(json!({
            "type": "object",
            "properties": { "value": rebase(schema.as_value(), "/properties/value") },
            "required": ["value"],
            "additionalProperties": false,
        }));
        Self { schema: whole, member: Some(schema) }
    }

    fn question(&self) -> String {
        let schema = OrderedJson(self.schema.as_value());
        format!("{ASKS} {schema}")
    }

    /// The value, or what is wrong with it.
    fn read<T: DeserializeOwned>(&self, text: &str) -> Result<(T, Vec<Fix>), Wrong> {
        let Some(member) = &self.member else { return read(text, &self.schema) };
        let whole = read(text, &self.schema).map(|(Member { value }, fixes)| (value, fixes));
        // It may stand there by itself.
        whole.or_else(|wrong| read(text, member).map_err(|_| wrong))
    }
}

/// What is wrong with a text, and of what kind that is.
type Wrong = (ReplyParseErrorKind, String);

fn read<T: DeserializeOwned>(text: &str, schema: &Schema) -> Result<(T, Vec<Fix>), Wrong> {
    let parsed = json::parse_as(text, schema.as_value()).map_err(|error| {
        (ReplyParseErrorKind::Extraction, format!("it can't be read as JSON: {error}"))
    })?;
    if parsed.truncated {
        return Err((ReplyParseErrorKind::Extraction, "it was cut off".to_owned()));
    }
    let wrong = schema.check(&parsed.value);
    if !wrong.is_empty() {
        let lines: Vec<_> = wrong.iter().map(|mismatch| format!("- {mismatch}")).collect();
        let wrong = format!("this is wrong with it:\n{}", lines.join("\n"));
        return Err((ReplyParseErrorKind::Validation, wrong));
    }
    // Text, not the value: that has lost digits beyond 64 bits.
    let taken = guarded(|| {
        let read = serde_json::from_str::<T>(parsed.json());
        read.map_err(|error| refused::<T>(schema, &parsed.value, parsed.json(), error))
    });
    match taken {
        Ok(Ok(value)) => Ok((value, parsed.fixes)),
        Ok(Err(lines)) => {
            let wrong = format!("this is wrong with it:\n- {}", lines.join("\n- "));
            Err((ReplyParseErrorKind::Validation, wrong))
        }
        // Foreign code, and what it panicked with is the operator's.
        Err(Panic(_)) => Err((ReplyParseErrorKind::Validation, "it can't be taken".to_owned())),
    }
}

#[derive(serde::Deserialize)]
struct Member<T> {
    value: T,
}
