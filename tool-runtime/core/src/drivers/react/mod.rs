//! The ReAct driver: tool calls as JSON decisions, for models without tool calling.
//!
//! The system message describes the tools. The model replies with one JSON object, its decision: a
//! thought, and either a tool with its arguments or the answer. If the provider supports structured
//! output, it enforces the schema of the decision, in which the arguments of each tool have the
//! tool's own schema. The result of a call is sent as an observation.
//!
//! The flow:
//!
//! 1. `prompt.rs` writes the instructions, and `history.rs` rewrites the transcript as decisions
//!    and observations.
//! 2. `decision.rs` holds the schema of a decision and parses it from a reply.
//! 3. `decoder.rs` decodes a decision while it is streamed.

mod decision;
mod decoder;
mod history;
mod prompt;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use self::decision::ReactDecision;
use super::driver::{DeltaDecoder, StreamDecoder};
use super::text::{
    Formats, ToolLookup, is_call_markup, is_schema, reasoning_part, truncate_with_leftover,
    unreadable_call,
};
use super::{Driver, PreparedRequest, ReplyParseError};
use crate::json::parse_as;
use crate::message::{AssistantPart, Message, ToolCall};
use crate::models::{ChatModel, ChatOptions, ChatReply, ChatRequest, FinishReason};
use crate::schema::{Mismatch, Schema};
use crate::tool::ToolDefinition;

/// Lets a model decide step by step, in JSON, which tool to call or what to answer.
///
/// The model replies with one JSON object, its decision: a thought, and either a tool with its
/// arguments or the answer. The system message describes the tools and the forms of a decision, and
/// a result is sent as an observation.
///
/// # What is parsed
///
/// The driver takes the first object of a reply that parses as a decision. The object may be in a
/// fence, after prose, or damaged. Which repairs the arguments may get is decided by [the
/// tool](crate::Repair), as for any call. Text after the decision, such as an invented observation,
/// is ignored, and so is reasoning before it. If the reply holds no decision, but a call in [a
/// format that the model was trained on](crate::drivers::text), that call is used.
///
/// # Feedback and attempts
///
/// The model gets feedback on each of these replies:
///
/// - a reply without a decision: the forms of a decision
/// - an empty or truncated answer: a request for the whole answer
/// - the markup of a call as the answer: the form of a call
/// - an unknown tool: the names of the tools
/// - arguments that the tool doesn't take: every mismatch
/// - an argument outside of the arguments: the text that was not read
///
/// The driver parses up to three replies of a turn; change this with [`ReAct::max_parse_attempts`].
/// After the last reply, a call of an unknown tool or with wrong arguments is dispatched, and its
/// result reports the mistake. A truncated answer is used unchanged. In all other cases the run
/// ends.
///
/// # Examples
///
/// ```
/// use tool_runtime::drivers::ReAct;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Returns the temperature in a city.
/// #[tool(effect = "read")]
/// async fn temperature(city: String) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let model = ScriptedModel::new([
///     r#"{"thought": "I need the weather.", "type": "call_tool",
///         "tool": "temperature", "args": {"city": "Oslo"}}"#,
///     r#"{"thought": "That is cold.", "type": "final_answer", "answer": "Take a coat."}"#,
/// ].map(ChatReply::text));
/// let agent = Agent::new(model, tools![temperature]).driver(ReAct::new());
/// assert_eq!(agent.run("What should I wear in Oslo?").await?.to_string(), "Take a coat.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReAct {
    attempts: u32,
    answers: Option<Answers>,
}

/// The model and the options of a separate answer request.
#[derive(Clone, Default)]
struct Answers {
    model: Option<Arc<dyn ChatModel>>,
    options: Option<ChatOptions>,
}

impl ReAct {
    /// Creates a driver that parses up to three replies of a turn.
    ///
    /// ```
    /// use tool_runtime::drivers::ReAct;
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).driver(ReAct::new());
    /// ```
    pub fn new() -> Self {
        Self { attempts: 3, answers: None }
    }

    /// Sets how many replies of a turn are parsed before the run ends; at least 1. Default: 3.
    #[must_use]
    pub fn max_parse_attempts(mut self, times: u32) -> Self {
        self.attempts = times.max(1);
        self
    }

    /// Requests the answer separately, with `options`, once the model has decided to answer.
    #[must_use]
    pub fn answer_with(mut self, options: ChatOptions) -> Self {
        self.answers.get_or_insert_default().options = Some(options);
        self
    }

    /// Requests the answer from `model` once the agent's model has decided to answer.
    ///
    /// `model` receives the whole conversation, but not the answer that the agent's model decided
    /// on. If `model` returns no text, the answer of the agent's model is used.
    #[must_use]
    pub fn answer_by(mut self, model: impl ChatModel + 'static) -> Self {
        self.answers.get_or_insert_default().model = Some(Arc::new(model));
        self
    }
}

impl Default for ReAct {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ReAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_answer_request = self.answers.is_some();
        f.debug_struct("ReAct")
            .field("attempts", &self.attempts)
            .field("has_answer_request", &has_answer_request)
            .finish_non_exhaustive()
    }
}

impl Driver for ReAct {
    fn prepare<'r>(&self, request: ChatRequest<'r>) -> PreparedRequest<'r> {
        let tools = request.callable_tools();
        let instructions = prompt::instructions(&tools, request.options);
        let mut prepared = PreparedRequest::from(request).without_tools();
        prepared.messages = history::messages(request.messages, Some(&instructions)).into();
        let output = request.options.output.as_ref();
        prepared.options.to_mut().output = Some(decision::schema(&tools, request.options, output));
        prepared
    }

    fn parse(
        &self,
        reply: ChatReply,
        request: ChatRequest<'_>,
    ) -> Result<ChatReply, ReplyParseError> {
        if reply.parts.iter().any(|part| matches!(part, AssistantPart::Call(_))) {
            return Ok(reply);
        }
        let tools = request.callable_tools();
        let is_json = request.options.output.is_some();
        // Reasoning is no part of the decision.
        let stripped = Formats::reasoning_only().extract(&reply.to_text(), &ToolLookup::new(&[]));
        let lookup = ToolLookup::new(&tools);
        let decision = decision::parse(&stripped.text, is_json, &lookup);
        // The reply may be the requested value without a decision around it.
        let is_bare = match &decision {
            Some(ReactDecision::Answer { .. }) => false,
            // Without tools this can't be a call.
            Some(ReactDecision::Call { .. }) => tools.is_empty(),
            None => true,
        };
        if is_bare
            && request
                .options
                .output
                .as_ref()
                .is_some_and(|output| is_output(&stripped.text, output))
        {
            return Ok(parsed_reply(&reply, String::new(), None, stripped.text));
        }
        match decision {
            Some(ReactDecision::Answer { answer, .. }) if answer.trim().is_empty() => {
                Err(ReplyParseError::unparsable(reply, prompt::EMPTY_ANSWER))
            }
            // The loop reports truncation by a token limit.
            Some(ReactDecision::Answer { thought, answer, is_truncated: true })
                if reply.finish_reason != FinishReason::Length =>
            {
                let fallback = parsed_reply(&reply, thought, None, answer);
                Err(ReplyParseError::unparsable(reply, prompt::CUT_ANSWER).with_fallback(fallback))
            }
            Some(ReactDecision::Answer { answer, .. }) if !is_json && is_call(&answer, &tools) => {
                Err(ReplyParseError::unparsable(reply, prompt::CALL_IN_ANSWER))
            }
            Some(ReactDecision::Answer { thought, answer, .. }) => {
                Ok(parsed_reply(&reply, thought, None, answer))
            }
            Some(ReactDecision::Call { thought, tool, args, leftover }) => {
                let mut tool_call = ToolCall::new("", tool, args);
                tool_call.leftover = leftover;
                call(reply, &tools, thought, tool_call)
            }
            None => parse_other_formats(reply, &stripped.text, &tools).map_err(|reply| {
                let offered = ToolLookup::new(&tools);
                let call = unreadable_call(Formats::all(), &stripped.text, &offered);
                let call = call.map(|call| call.feedback());
                let forms = prompt::unreadable(call, &tools, request.options);
                ReplyParseError::unparsable(*reply, forms)
            }),
        }
    }

    fn max_parse_attempts(&self) -> u32 {
        self.attempts
    }

    fn stream_decoder<'o>(&'o self, request: ChatRequest<'o>) -> Option<DeltaDecoder<'o>> {
        let has_answer_request = self.answers.is_some();
        Some(decoder::DecisionDecoder::new(request, has_answer_request).into_decoder())
    }

    fn answer_request<'r>(
        &self,
        _: &ChatReply,
        request: ChatRequest<'r>,
    ) -> Option<(PreparedRequest<'r>, Option<Arc<dyn ChatModel>>)> {
        let answers = self.answers.as_ref()?;
        let mut prepared = PreparedRequest::from(request);
        let mut messages = history::messages(request.messages, None);
        history::push(&mut messages, Message::user(prompt::ANSWER));
        prepared.messages = messages.into();
        if let Some(options) = &answers.options {
            let mut options = options.clone();
            options.output = options.output.or_else(|| request.options.output.clone());
            prepared.options = Cow::Owned(options);
        }
        Some((prepared.without_tools(), answers.model.clone()))
    }
}

/// Builds the reply that the loop receives.
fn parsed_reply(
    reply: &ChatReply,
    reasoning: String,
    call: Option<ToolCall>,
    answer: String,
) -> ChatReply {
    let mut parts = Vec::new();
    if !reasoning.is_empty() {
        parts.push(reasoning_part(reasoning));
    }
    if !answer.is_empty() {
        parts.push(AssistantPart::Text { text: answer });
    }
    parts.extend(call.map(AssistantPart::Call));
    let (finish_reason, usage) = (reply.finish_reason, reply.usage);
    ChatReply { parts, finish_reason, usage, ..ChatReply::default() }
}

/// Returns true if the whole text is a value of the schema `output`.
fn is_output(text: &str, output: &Schema) -> bool {
    parse_as(text, output.as_value())
        .is_ok_and(|parsed| !parsed.truncated && output.check(&parsed.value).is_empty())
}

fn call(
    reply: ChatReply,
    tools: &[&ToolDefinition],
    thought: String,
    mut call: ToolCall,
) -> Result<ChatReply, ReplyParseError> {
    let lookup = ToolLookup::new(tools);
    let tool = lookup.find(&call.name);
    if let Some(tool) = tool.filter(|tool| is_schema(&call.arguments.to_text(), tool)) {
        let feedback = prompt::wrong_arguments(tool, &[prompt::SCHEMA.to_owned()]);
        return Err(ReplyParseError::invalid(reply, feedback));
    }
    let feedback = match tool {
        None => Some(prompt::no_such_tool(&call.name, tools)),
        Some(tool) => {
            call.name.clone_from(&tool.name);
            tool.leftover_error(&call).or_else(|| wrong_arguments(tool, &call))
        }
    };
    truncate_with_leftover(std::slice::from_mut(&mut call), &lookup);
    let parsed = parsed_reply(&reply, thought, Some(call), String::new());
    match feedback {
        None => Ok(parsed),
        Some(feedback) => Err(ReplyParseError::invalid(reply, feedback).with_fallback(parsed)),
    }
}

/// Returns the feedback on arguments that the tool doesn't take.
fn wrong_arguments(tool: &ToolDefinition, call: &ToolCall) -> Option<String> {
    let text = call.arguments.to_text();
    match parse_as(&text, tool.parameters.as_value()) {
        Err(error) => Some(prompt::wrong_arguments(tool, &[error.to_string()])),
        Ok(parsed) => {
            let is_secret = tool.parameters.has_secrets();
            let line = |mut mismatch: Mismatch| {
                if is_secret {
                    mismatch.found.clear();
                }
                mismatch.to_string()
            };
            let wrong: Vec<_> =
                tool.parameters.check(&parsed.value).into_iter().map(line).collect();
            (!wrong.is_empty()).then(|| prompt::wrong_arguments(tool, &wrong))
        }
    }
}

/// Returns true if an answer is the markup of a call of one of these tools.
fn is_call(answer: &str, tools: &[&ToolDefinition]) -> bool {
    !tools.is_empty() && is_call_markup(Formats::all(), answer, &ToolLookup::new(tools))
}

/// Parses calls in other formats, or an answer after a label.
fn parse_other_formats(
    reply: ChatReply,
    text: &str,
    tools: &[&ToolDefinition],
) -> Result<ChatReply, Box<ChatReply>> {
    let read = Formats::all().extract(text, &ToolLookup::new(tools));
    let answer = decision::labeled_answer(text).filter(|answer| !is_call(answer, tools));
    match (read.calls.is_empty(), answer) {
        (false, _) => {
            let mut parsed = parsed_reply(&reply, read.text, None, String::new());
            parsed.parts.extend(read.calls.into_iter().map(AssistantPart::Call));
            Ok(parsed)
        }
        (true, Some(answer)) => Ok(parsed_reply(&reply, String::new(), None, answer)),
        (true, None) => Err(Box::new(reply)),
    }
}
