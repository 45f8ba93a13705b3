//! Thought, action, observation: for models whose provider spells no calls.
//!
//! The model is told of the tools in its orders and replies with a decision, one JSON object: what it
//! thinks, and either a tool and its arguments or the answer. Where the provider can hold a model to a schema,
//! it holds it to that of the decision, in which each tool's arguments have the tool's own schema. What a call
//! came to is told as an observation.
//!
//! # What is read
//! The first object of a reply that reads as a decision, also in a fence, behind prose or damaged: what may be
//! repaired in the arguments is [the tool's to say](crate::Repair), as of any call. What a model goes on with behind it, such as
//! an observation that it made up, is not read, nor is what it thinks aloud before that. A model that calls a tool in a way that
//! [it was trained to](super::text), in place of a decision, is understood as well.
//!
//! # What is wrong
//! A reply without a decision is told so, with the forms that there are; so are an empty answer and one that breaks
//! off. One that names a tool that there is not
//! is told those that there are; arguments that the tool doesn't take are told one by one. Then the model
//! is asked again, three times in all unless [set](ReAct::attempts) otherwise. Where it still names what there is
//! not, the call is handed on, and its result says the same; where no decision is found, the run ends.

mod decision;
mod history;
mod listen;
mod prompt;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use self::decision::Decision;
use super::text::{Formats, Offered, is_schema, thought};
use super::{Asked, Driver, LastWord, Listener, Misread};
use crate::json::parse_as;
use crate::message::{AssistantPart, Message, ToolCall};
use crate::models::{ChatModel, ChatOptions, ChatReply, ChatRequest, Finish};
use crate::schema::{Mismatch, Schema};
use crate::tool::ToolDefinition;

/// Has a model decide, step by step, which tool to use or what to answer: for models without tool calling.
///
/// ```
/// use tool_runtime::drivers::ReAct;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Tells how warm it is.
/// #[tool(effect = "read")]
/// async fn temperature(city: String) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// let model = ScriptedModel::new([
///     r#"{"thought": "I need the weather.", "type": "call_tool", "tool": "temperature", "args": {"city": "Oslo"}}"#,
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

/// Who says the answer, and how.
#[derive(Clone, Default)]
struct Answers {
    model: Option<Arc<dyn ChatModel>>,
    options: Option<ChatOptions>,
}

impl ReAct {
    /// The model is asked three times for a decision that can be read.
    pub fn new() -> Self {
        Self { attempts: 3, answers: None }
    }

    /// How often the model is asked for a decision before the run ends; at least once.
    #[must_use]
    pub fn attempts(mut self, times: u32) -> Self {
        self.attempts = times.max(1);
        self
    }

    /// Once it has decided to answer, asks it for the answer alone, in this way.
    #[must_use]
    pub fn answer_with(mut self, options: ChatOptions) -> Self {
        self.answers.get_or_insert_default().options = Some(options);
        self
    }

    /// Once it has decided to answer, asks this model for the answer. It is told of the whole conversation, and not of
    /// what the other one decided to answer; that is the answer where this one has nothing to say.
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
        let answers_apart = self.answers.is_some();
        f.debug_struct("ReAct")
            .field("attempts", &self.attempts)
            .field("answers_apart", &answers_apart)
            .finish_non_exhaustive()
    }
}

impl Driver for ReAct {
    fn offer<'r>(&self, request: ChatRequest<'r>) -> Asked<'r> {
        let tools = request.callable();
        let orders = prompt::orders(&tools, request.options);
        let mut asked = Asked::from(request).without_tools();
        asked.messages = history::told(request.messages, Some(&orders)).into();
        let output = request.options.output.as_ref();
        asked.options.to_mut().output = Some(decision::schema(&tools, request.options, output));
        asked
    }

    fn read(&self, reply: ChatReply, request: ChatRequest<'_>) -> Result<ChatReply, Misread> {
        if reply.parts.iter().any(|part| matches!(part, AssistantPart::Call(_))) {
            return Ok(reply);
        }
        let tools = request.callable();
        let is_json = request.options.output.is_some();
        // What a model thinks aloud is none of its decision.
        let said = Formats::thinking().extract(&reply.words(), &Offered::new(&[]));
        let read = decision::read(&said.text, is_json);
        // What was asked for, and no more around it.
        let is_bare = match &read {
            Some(Decision::Answer { .. }) => false,
            // There is nothing to call: it only looks so.
            Some(Decision::Call { .. }) => tools.is_empty(),
            None => true,
        };
        if is_bare && request.options.output.as_ref().is_some_and(|output| fits(&said.text, output))
        {
            return Ok(decided(&reply, String::new(), None, said.text));
        }
        match read {
            Some(Decision::Answer { answer, .. }) if answer.trim().is_empty() => {
                Err(Misread::unreadable(reply, prompt::EMPTY_ANSWER))
            }
            // What a limit has cut is for the loop to say.
            Some(Decision::Answer { thought, answer, is_cut: true })
                if reply.finish != Finish::Length =>
            {
                let meant = decided(&reply, thought, None, answer);
                Err(Misread::unreadable(reply, prompt::CUT_ANSWER).otherwise(meant))
            }
            Some(Decision::Answer { thought, answer, .. }) => {
                Ok(decided(&reply, thought, None, answer))
            }
            Some(Decision::Call { thought, tool, args }) => {
                call(reply, &tools, thought, &tool, args)
            }
            None => written(reply, &said.text, &tools).map_err(|reply| {
                let told = prompt::unreadable(&tools, request.options);
                Misread::unreadable(reply, told)
            }),
        }
    }

    fn attempts(&self) -> u32 {
        self.attempts
    }

    fn listener<'o>(&'o self, request: ChatRequest<'o>) -> Option<Box<dyn Listener + 'o>> {
        let is_answered_apart = self.answers.is_some();
        Some(Box::new(listen::Decided::new(request, is_answered_apart)))
    }

    fn last_word<'r>(&self, _: &ChatReply, request: ChatRequest<'r>) -> Option<LastWord<'r>> {
        let answers = self.answers.as_ref()?;
        let mut asked = Asked::from(request);
        let mut messages = history::told(request.messages, None);
        history::say(&mut messages, Message::user(prompt::ANSWER));
        asked.messages = messages.into();
        if let Some(options) = &answers.options {
            let mut options = options.clone();
            options.output = options.output.or_else(|| request.options.output.clone());
            asked.options = Cow::Owned(options);
        }
        let last = LastWord::new(asked.without_tools());
        Some(match &answers.model {
            Some(model) => last.of(Arc::clone(model)),
            None => last,
        })
    }
}

/// The reply as the loop takes it.
fn decided(
    reply: &ChatReply,
    thought_of: String,
    call: Option<ToolCall>,
    answer: String,
) -> ChatReply {
    let mut parts = Vec::new();
    if !thought_of.is_empty() {
        parts.push(thought(thought_of));
    }
    if !answer.is_empty() {
        parts.push(AssistantPart::Text { text: answer });
    }
    parts.extend(call.map(AssistantPart::Call));
    ChatReply { parts, finish: reply.finish, usage: reply.usage }
}

/// Whether the text is, as a whole, such a value.
fn fits(text: &str, output: &Schema) -> bool {
    parse_as(text, output.as_value())
        .is_ok_and(|parsed| !parsed.truncated && output.check(&parsed.value).is_empty())
}

fn call(
    reply: ChatReply,
    tools: &[&ToolDefinition],
    thought: String,
    name: &str,
    args: String,
) -> Result<ChatReply, Misread> {
    let tool = Offered::new(tools).find(name);
    if let Some(tool) = tool.filter(|tool| is_schema(&args, tool)) {
        let told = prompt::wrong_arguments(tool, &[prompt::SCHEMA.to_owned()]);
        return Err(Misread::invalid(reply, told));
    }
    let meant = tool.map_or(name, |tool| tool.name.as_str());
    let call = ToolCall::new("", meant, args);
    let told = match tool {
        None => Some(prompt::no_such_tool(name, tools)),
        Some(tool) => wrong_arguments(tool, &call),
    };
    let meant = decided(&reply, thought, Some(call), String::new());
    match told {
        None => Ok(meant),
        Some(told) => Err(Misread::invalid(reply, told).otherwise(meant)),
    }
}

/// What to tell of arguments that the tool doesn't take.
fn wrong_arguments(tool: &ToolDefinition, call: &ToolCall) -> Option<String> {
    let text = call.arguments.to_text();
    match parse_as(&text, tool.parameters.as_value()) {
        Err(error) => Some(prompt::wrong_arguments(tool, &[error.to_string()])),
        Ok(parsed) => {
            let is_secret = tool.parameters.has_secrets();
            let line = |mismatch: Mismatch| match is_secret {
                true => Mismatch { found: String::new(), ..mismatch }.to_string(),
                false => mismatch.to_string(),
            };
            let wrong: Vec<_> =
                tool.parameters.check(&parsed.value).into_iter().map(line).collect();
            (!wrong.is_empty()).then(|| prompt::wrong_arguments(tool, &wrong))
        }
    }
}

/// Calls in another form than asked for, or an answer under a label.
fn written(
    reply: ChatReply,
    text: &str,
    tools: &[&ToolDefinition],
) -> Result<ChatReply, ChatReply> {
    let read = Formats::all().extract(text, &Offered::new(tools));
    let answer = decision::labelled(text);
    match (read.calls.is_empty(), answer) {
        (false, _) => {
            let mut meant = decided(&reply, read.text, None, String::new());
            meant.parts.extend(read.calls.into_iter().map(AssistantPart::Call));
            Ok(meant)
        }
        (true, Some(answer)) => Ok(decided(&reply, String::new(), None, answer)),
        (true, None) => Err(reply),
    }
}
