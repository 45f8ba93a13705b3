//! The [`Driver`] contract, and the decoder of streamed replies.

use std::fmt;
use std::sync::Arc;

use super::{PreparedRequest, ReplyParseError};
use crate::models::{ChatModel, ChatReply, ChatRequest, Delta, DeltaSink};

/// Decodes the next delta and passes to its sink what is known to be content by now.
pub(crate) type DeltaDecoder<'o> = Box<dyn FnMut(Delta<'_>, &mut DeltaSink<'_>) + Send + 'o>;

/// Encodes tools into model requests and parses tool calls from model replies.
///
/// A driver is pure: it does no I/O and keeps no state between turns. The agent loop sends the
/// prepared request, passes the reply to [`parse`](Self::parse), and sends the feedback of a
/// [`ReplyParseError`] to the model.
///
/// # Examples
///
/// A driver whose calls are lines such as `/roll`:
///
/// ```
/// use tool_runtime::drivers::{Driver, PreparedRequest, ReplyParseError};
/// use tool_runtime::{Agent, ChatReply, ChatRequest, Message, ScriptedModel, tool, tools};
///
/// #[derive(Debug)]
/// struct SlashCommands;
///
/// impl Driver for SlashCommands {
///     fn prepare<'r>(&self, request: ChatRequest<'r>) -> PreparedRequest<'r> {
///         let names = request.tools.iter().map(|tool| format!("/{}", tool.name));
///         let names = names.collect::<Vec<_>>();
///         let instructions = format!("You may write one of these on a line: {}", names.join(" "));
///         let mut prepared = PreparedRequest::from(request).without_tools();
///         prepared.messages.to_mut().insert(0, Message::system(instructions));
///         prepared
///     }
///
///     fn parse(
///         &self,
///         reply: ChatReply,
///         request: ChatRequest<'_>,
///     ) -> Result<ChatReply, ReplyParseError> {
///         let text = reply.to_text();
///         let Some(name) = text.trim().strip_prefix('/') else { return Ok(reply) };
///         match request.tools.iter().any(|tool| tool.name == name) {
///             true => Ok(ChatReply::default().call(name, "{}")),
///             false => Err(ReplyParseError::invalid(reply, format!("There is no /{name}."))),
///         }
///     }
///
///     fn max_parse_attempts(&self) -> u32 {
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
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ["/rol", "/roll", "Four."].map(ChatReply::text);
/// let agent = Agent::new(ScriptedModel::new(model), tools![roll]).driver(SlashCommands);
/// assert_eq!(agent.run("Roll the dice.").await?.to_string(), "Four.");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a driver",
    label = "pass `Text::new()` or `ReAct::new()`, or implement `Driver`"
)]
pub trait Driver: Send + Sync + fmt::Debug {
    /// Returns the request that is sent to the model in place of `request`. Default: `request`
    /// unchanged.
    ///
    /// Keep the beginning of the conversation identical from turn to turn: providers cache it.
    fn prepare<'r>(&self, request: ChatRequest<'r>) -> PreparedRequest<'r> {
        request.into()
    }

    /// Parses the calls and the answer from `reply` and returns the reply with these parts.
    ///
    /// `request` is the request of the loop, before [`prepare`](Self::prepare).
    ///
    /// # Errors
    ///
    /// Returns a [`ReplyParseError`] with feedback for the model if the reply holds neither a call
    /// nor an answer, or if it asks for something that can't be done, such as a call of an unknown
    /// tool.
    fn parse(
        &self,
        reply: ChatReply,
        request: ChatRequest<'_>,
    ) -> Result<ChatReply, ReplyParseError>;

    /// Returns how many replies of one turn are parsed before the run ends. Default: 1.
    ///
    /// After each reply that can't be parsed, except the last, the loop sends the feedback and
    /// requests another reply. Each of these requests counts as an
    /// [iteration](crate::agent::Limits::max_iterations), and the limits of the run are checked
    /// before it.
    fn max_parse_attempts(&self) -> u32 {
        1
    }

    /// Returns a decoder for the deltas of a streamed reply: a function that receives each delta
    /// and passes to the sink what is known to be content by now. Default: `None`.
    ///
    /// Content that the decoder doesn't emit is emitted once the reply is parsed; without a
    /// decoder, that is all of it.
    ///
    /// ```
    /// use tool_runtime::drivers::{Driver, Native};
    /// use tool_runtime::{ChatRequest, Delta};
    ///
    /// let mut decode = Native.stream_decoder(ChatRequest::new(&[])).unwrap();
    /// let mut text = String::new();
    /// decode(Delta::Text("Take a coat."), &mut |delta: Delta<'_>| {
    ///     if let Delta::Text(part) = delta {
    ///         text.push_str(part);
    ///     }
    /// });
    /// assert_eq!(text, "Take a coat.");
    /// ```
    fn stream_decoder<'o>(&'o self, request: ChatRequest<'o>) -> Option<DeltaDecoder<'o>> {
        let _ = request;
        None
    }

    /// Returns a final request for the answer, if `reply` shows that the model is ready to answer,
    /// with the model that it is sent to if that isn't the model of the agent. Default: `None`.
    ///
    /// The reply to this request becomes the answer of the run; if it has no text, `reply` stays
    /// the answer. The loop calls this method with every reply that it has parsed, and sends the
    /// request only if that reply has no calls and the budget of the run allows it.
    fn answer_request<'r>(
        &self,
        reply: &ChatReply,
        request: ChatRequest<'r>,
    ) -> Option<(PreparedRequest<'r>, Option<Arc<dyn ChatModel>>)> {
        let _ = (reply, request);
        None
    }
}

/// Forwards to a driver that is chosen at run time.
#[diagnostic::do_not_recommend]
impl<D: Driver + ?Sized> Driver for Box<D> {
    fn prepare<'r>(&self, request: ChatRequest<'r>) -> PreparedRequest<'r> {
        self.as_ref().prepare(request)
    }

    fn parse(
        &self,
        reply: ChatReply,
        request: ChatRequest<'_>,
    ) -> Result<ChatReply, ReplyParseError> {
        self.as_ref().parse(reply, request)
    }

    fn max_parse_attempts(&self) -> u32 {
        self.as_ref().max_parse_attempts()
    }

    fn stream_decoder<'o>(&'o self, request: ChatRequest<'o>) -> Option<DeltaDecoder<'o>> {
        self.as_ref().stream_decoder(request)
    }

    fn answer_request<'r>(
        &self,
        reply: &ChatReply,
        request: ChatRequest<'r>,
    ) -> Option<(PreparedRequest<'r>, Option<Arc<dyn ChatModel>>)> {
        self.as_ref().answer_request(reply, request)
    }
}

/// Forwards to a driver that several agents share.
#[diagnostic::do_not_recommend]
impl<D: Driver + ?Sized> Driver for Arc<D> {
    fn prepare<'r>(&self, request: ChatRequest<'r>) -> PreparedRequest<'r> {
        self.as_ref().prepare(request)
    }

    fn parse(
        &self,
        reply: ChatReply,
        request: ChatRequest<'_>,
    ) -> Result<ChatReply, ReplyParseError> {
        self.as_ref().parse(reply, request)
    }

    fn max_parse_attempts(&self) -> u32 {
        self.as_ref().max_parse_attempts()
    }

    fn stream_decoder<'o>(&'o self, request: ChatRequest<'o>) -> Option<DeltaDecoder<'o>> {
        self.as_ref().stream_decoder(request)
    }

    fn answer_request<'r>(
        &self,
        reply: &ChatReply,
        request: ChatRequest<'r>,
    ) -> Option<(PreparedRequest<'r>, Option<Arc<dyn ChatModel>>)> {
        self.as_ref().answer_request(reply, request)
    }
}

/// Decodes streamed replies and keeps a state between their deltas.
pub(super) trait StreamDecoder: Send {
    /// Decodes the next delta and passes to `emit` what is known to be content by now.
    ///
    /// Content of the reply that is not emitted here is emitted after the reply is parsed.
    fn decode(&mut self, delta: Delta<'_>, emit: &mut DeltaSink<'_>);

    /// Returns the decoder as a function.
    fn into_decoder<'o>(mut self) -> DeltaDecoder<'o>
    where
        Self: Sized + 'o,
    {
        Box::new(move |delta, emit| self.decode(delta, emit))
    }
}

/// Passes on a piece that is not text, for a decoder that changes the text: the ranges of sources
/// do not fit the text that it emits.
pub(super) fn emit_other(delta: Delta<'_>, emit: &mut DeltaSink<'_>) {
    match delta {
        Delta::Source(source) => emit(Delta::Source(&source.without_range())),
        delta => emit(delta),
    }
}
