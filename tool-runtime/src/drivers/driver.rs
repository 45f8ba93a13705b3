//! The contract.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::Misread;
use crate::message::{Message, UserPart};
use crate::models::history::{is_silent, say};
use crate::models::{ChatModel, ChatOptions, ChatReply, ChatRequest, Delta, Deltas};
use crate::tool::ToolDefinition;

/// How calls travel in what a model says: offers the tools, reads the reply.
///
/// It decides and does nothing else: the loop asks the model, and tells it what was wrong with a reply that
/// can't be read.
///
/// ```
/// use tool_runtime::drivers::{Asked, Driver, Misread};
/// use tool_runtime::{Agent, ChatOptions, ChatReply, ChatRequest, Message, ScriptedModel, tool, tools};
///
/// /// Calls are lines such as `/roll`.
/// #[derive(Debug)]
/// struct Slash;
///
/// impl Driver for Slash {
///     fn offer<'r>(&self, request: ChatRequest<'r>) -> Asked<'r> {
///         let names: Vec<_> = request.tools.iter().map(|tool| format!("/{}", tool.name)).collect();
///         let orders = format!("You may write one of these on a line: {}", names.join(" "));
///         let mut asked = Asked::from(request).without_tools();
///         asked.messages.to_mut().insert(0, Message::system(orders));
///         asked
///     }
///
///     fn read(&self, reply: ChatReply, request: ChatRequest<'_>) -> Result<ChatReply, Misread> {
///         let text = reply.words();
///         let Some(name) = text.trim().strip_prefix('/') else { return Ok(reply) };
///         match request.tools.iter().any(|tool| tool.name == name) {
///             true => Ok(ChatReply::default().call(name, "{}")),
///             false => Err(Misread::invalid(reply, format!("There is no /{name}."))),
///         }
///     }
///
///     fn attempts(&self) -> u32 {
///         2
///     }
/// }
///
/// /// Rolls the dice.
/// #[tool(effect = "none")]
/// async fn roll() -> u8 {
///     4
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ["/rol", "/roll", "Four."].map(ChatReply::text);
/// let agent = Agent::new(ScriptedModel::new(model), tools![roll]).driver(Slash);
/// assert_eq!(agent.run("Roll the dice.").await?.to_string(), "Four.");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no driver",
    label = "pass `Text::new()` or `ReAct::new()`, or implement `Driver`"
)]
pub trait Driver: Send + Sync + fmt::Debug {
    /// What the model is asked where the loop would ask this; unless said otherwise, this. What a
    /// conversation begins with should stay the same from turn to turn: providers cache it.
    fn offer<'r>(&self, request: ChatRequest<'r>) -> Asked<'r> {
        request.into()
    }

    /// What the model means by `reply`: the same with its calls. `request` is what the loop asked.
    ///
    /// # Errors
    /// [`Misread`] says what the model is told about a reply that can't be read, or can't be meant.
    fn read(&self, reply: ChatReply, request: ChatRequest<'_>) -> Result<ChatReply, Misread>;

    /// How often the model is asked before a reply that can't be read ends the run; once, unless said
    /// otherwise. Together they are one [iteration](crate::agent::Limits::iterations) of the run; its budget is looked at
    /// before each.
    fn attempts(&self) -> u32 {
        1
    }

    /// What people may be told of a reply while it is being said. Unless there is someone to say so, they
    /// are told of it when it was read.
    fn listener<'o>(&'o self, request: ChatRequest<'o>) -> Option<Box<dyn Listener + 'o>> {
        let _ = request;
        None
    }

    /// Another question, where this reply says that the model is ready to answer: what it replies to that
    /// is the answer.
    fn last_word<'r>(&self, reply: &ChatReply, request: ChatRequest<'r>) -> Option<LastWord<'r>> {
        let _ = (reply, request);
        None
    }
}

/// Chosen at run time.
#[diagnostic::do_not_recommend]
impl<D: Driver + ?Sized> Driver for Box<D> {
    fn offer<'r>(&self, request: ChatRequest<'r>) -> Asked<'r> {
        self.as_ref().offer(request)
    }

    fn read(&self, reply: ChatReply, request: ChatRequest<'_>) -> Result<ChatReply, Misread> {
        self.as_ref().read(reply, request)
    }

    fn attempts(&self) -> u32 {
        self.as_ref().attempts()
    }

    fn listener<'o>(&'o self, request: ChatRequest<'o>) -> Option<Box<dyn Listener + 'o>> {
        self.as_ref().listener(request)
    }

    fn last_word<'r>(&self, reply: &ChatReply, request: ChatRequest<'r>) -> Option<LastWord<'r>> {
        self.as_ref().last_word(reply, request)
    }
}

/// Shared: one driver for several agents.
#[diagnostic::do_not_recommend]
impl<D: Driver + ?Sized> Driver for Arc<D> {
    fn offer<'r>(&self, request: ChatRequest<'r>) -> Asked<'r> {
        self.as_ref().offer(request)
    }

    fn read(&self, reply: ChatReply, request: ChatRequest<'_>) -> Result<ChatReply, Misread> {
        self.as_ref().read(reply, request)
    }

    fn attempts(&self) -> u32 {
        self.as_ref().attempts()
    }

    fn listener<'o>(&'o self, request: ChatRequest<'o>) -> Option<Box<dyn Listener + 'o>> {
        self.as_ref().listener(request)
    }

    fn last_word<'r>(&self, reply: &ChatReply, request: ChatRequest<'r>) -> Option<LastWord<'r>> {
        self.as_ref().last_word(reply, request)
    }
}

/// Hears a reply while it is being said.
pub trait Listener: Send {
    /// A piece came: tells what people may know by now. What isn't told here is told at the end.
    fn hear(&mut self, delta: Delta<'_>, tell: &mut Deltas<'_>);
}

/// What a model is asked in place of a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked<'r> {
    /// The conversation so far, oldest first.
    pub messages: Cow<'r, [Message]>,
    /// The tools that its provider is told of.
    pub tools: &'r [&'r ToolDefinition],
    /// How it is to answer.
    pub options: Cow<'r, ChatOptions>,
}

/// The last question of a run, for the answer alone.
#[derive(Clone)]
#[non_exhaustive]
pub struct LastWord<'r> {
    /// What is asked.
    pub asked: Asked<'r>,
    /// Who is asked, if not the model that was asked before.
    pub model: Option<Arc<dyn ChatModel>>,
}

impl<'r> LastWord<'r> {
    /// Asks the same model this.
    pub fn new(asked: Asked<'r>) -> Self {
        Self { asked, model: None }
    }

    /// Asks this one.
    #[must_use]
    pub fn of(mut self, model: Arc<dyn ChatModel>) -> Self {
        self.model = Some(model);
        self
    }
}

impl fmt::Debug for LastWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LastWord").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl<'r> From<ChatRequest<'r>> for Asked<'r> {
    fn from(request: ChatRequest<'r>) -> Self {
        let ChatRequest { messages, tools, options } = request;
        Self { messages: Cow::Borrowed(messages), tools, options: Cow::Borrowed(options) }
    }
}

impl Asked<'_> {
    /// The provider is told of no tools, and of nothing that it may do with them.
    #[must_use]
    pub fn without_tools(mut self) -> Self {
        self.tools = &[];
        let is_set = self.options.tool_choice != ChatOptions::default().tool_choice
            || self.options.parallel_calls.is_some();
        if is_set {
            let options = self.options.to_mut();
            (options.tool_choice, options.parallel_calls) = Default::default();
        }
        self
    }

    /// The request.
    pub fn request(&self) -> ChatRequest<'_> {
        ChatRequest { messages: &self.messages, tools: self.tools, options: &self.options }
    }

    /// The same question once more, now that this was the reply: what was wrong with it is told. It is no
    /// part of the conversation.
    pub(crate) fn again(&mut self, misread: &Misread) {
        let messages = self.messages.to_mut();
        let said = misread.said.parts.clone();
        if !is_silent(&said) {
            messages.push(Message::Assistant { parts: said });
        }
        say(messages, vec![UserPart::Text { text: misread.told.clone() }]);
    }
}
