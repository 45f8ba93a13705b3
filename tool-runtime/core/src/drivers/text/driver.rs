//! The text driver: native calls, and calls that the model writes into its text.

use super::scanner::MAX_CALLS;
use super::{Formats, TextStream, ToolLookup};
use crate::drivers::driver::emit_other;
use crate::drivers::driver::{DeltaDecoder, StreamDecoder};
use crate::drivers::native::{EchoFilter, strip_echoed_arguments};
use crate::drivers::text::quotation::unreadable::{
    UnreadableCall, is_call_markup, unreadable_call,
};
use crate::drivers::{Driver, ReplyParseError};
use crate::message::{AssistantPart, Reasoning};
use crate::models::{ChatReply, ChatRequest, Delta, DeltaSink, FinishReason};

/// The number of replies of one turn that are parsed.
const PARSE_ATTEMPTS: u32 = 3;
/// The feedback for a reply with more calls than the driver reads.
const TOO_MANY: &str = "Your reply has more than 10,000 tool calls, and none was run. Send fewer \
                        calls in a reply.";
/// The feedback for a call in a turn that allows none.
const NOT_ALLOWED: &str = "No tool can be called now. Answer without tool call markup.";

/// Takes native calls, and parses calls that the model writes into its text.
///
/// Tools are offered through the fields of the provider's API, as
/// [`Native`](crate::drivers::Native) does. If a reply has no native call, the driver searches its
/// text for calls; see [`text`](super) for the formats and the rules. If the reply has markup of a
/// call that can't be parsed and no other call, the model is asked again, up to three times in all.
/// The same holds for a call in a turn whose [`ToolChoice`](crate::ToolChoice) allows none. Markup
/// is never the answer: after the last attempt the run ends with
/// [`StopReason::UnparsableReply`](crate::StopReason::UnparsableReply).
///
/// A reply with more than 10,000 calls is rejected in the same way, and none of them runs.
///
/// # Examples
///
/// ```
/// use tool_runtime::drivers::Text;
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
/// let call = r#"<tool_call>{"name": "temperature", "arguments": {"city": "Oslo"}}</tool_call>"#;
/// let model = ScriptedModel::new([ChatReply::text(call), ChatReply::text("Take a coat.")]);
/// let agent = Agent::new(model, tools![temperature]).driver(Text::new());
/// assert_eq!(agent.run("What should I wear in Oslo?").await?.transcript.len(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Text;

impl Text {
    /// Creates a driver that knows [all formats](super).
    ///
    /// ```
    /// use tool_runtime::drivers::Text;
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).driver(Text::new());
    /// ```
    pub fn new() -> Self {
        Self
    }
}

/// Returns the markup that can't be parsed in parts without a call.
fn unreadable<'p>(
    parts: &'p [AssistantPart],
    tools: &ToolLookup<'_>,
) -> Option<UnreadableCall<'p>> {
    let is_call = |part: &AssistantPart| matches!(part, AssistantPart::Call(_));
    if parts.iter().any(is_call) {
        return None;
    }
    texts(parts).find_map(|text| unreadable_call(Formats::all(), text, tools))
}

/// Returns true if a reply has a call although the request allows none.
fn has_forbidden_call(reply: &ChatReply, request: ChatRequest<'_>) -> bool {
    if !request.callable_tools().is_empty() || request.options.output.is_some() {
        return false;
    }
    let offered = ToolLookup::new(request.tools);
    texts(&reply.parts).any(|text| is_call_markup(Formats::all(), text, &offered))
}

impl Driver for Text {
    fn parse(
        &self,
        reply: ChatReply,
        request: ChatRequest<'_>,
    ) -> Result<ChatReply, ReplyParseError> {
        let has_call = reply.parts.iter().any(|part| matches!(part, AssistantPart::Call(_)));
        if has_call {
            return Ok(strip_echoed_arguments(reply));
        }
        let is_truncated = reply.finish_reason == FinishReason::Length;
        if !is_truncated && !request.tools.is_empty() && has_forbidden_call(&reply, request) {
            return Err(ReplyParseError::invalid(reply, NOT_ALLOWED));
        }
        let tools = request.callable_tools();
        let has_tools = !tools.is_empty();
        let tools = ToolLookup::new(&tools).truncated(is_truncated);
        let parse = |part| parse_part(part, &tools);
        let parts: Vec<_> = reply.parts.into_iter().flat_map(parse).collect();
        let call_count = parts.iter().filter(|part| matches!(part, AssistantPart::Call(_))).count();
        if call_count > MAX_CALLS {
            return Err(ReplyParseError::invalid(ChatReply { parts, ..reply }, TOO_MANY));
        }
        let unreadable = unreadable(&parts, &tools).filter(|_| has_tools && !is_truncated);
        let feedback = unreadable.map(|call| call.feedback());
        let reply = ChatReply { parts, ..reply };
        match feedback {
            Some(feedback) => Err(ReplyParseError::invalid(reply, feedback)),
            None => Ok(reply),
        }
    }

    fn max_parse_attempts(&self) -> u32 {
        PARSE_ATTEMPTS
    }

    fn stream_decoder<'o>(&'o self, request: ChatRequest<'o>) -> Option<DeltaDecoder<'o>> {
        let stream = TextStream::new(Formats::all(), ToolLookup::new(&request.callable_tools()));
        Some(EchoFilter::new(request, stream).into_decoder())
    }
}

/// Returns the texts among the parts of a reply.
fn texts(parts: &[AssistantPart]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        AssistantPart::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

/// Parses one part of a reply.
fn parse_part(part: AssistantPart, tools: &ToolLookup<'_>) -> Vec<AssistantPart> {
    let AssistantPart::Text { text } = part else { return vec![part] };
    let read = Formats::all().extract(&text, tools);
    let mut parts = Vec::new();
    if !read.reasoning.is_empty() {
        parts.push(reasoning_part(read.reasoning));
    }
    if !read.text.is_empty() {
        parts.push(AssistantPart::Text { text: read.text });
    }
    parts.extend(read.calls.into_iter().map(AssistantPart::Call));
    parts
}

/// Builds a reasoning part without a provider. No provider receives it in a later request.
pub(crate) fn reasoning_part(text: String) -> AssistantPart {
    AssistantPart::Reasoning(Reasoning::new("", text, serde_json::Value::Null))
}

/// Emits a call once it is complete: until then it may turn out to be text.
impl StreamDecoder for TextStream<'_> {
    fn decode(&mut self, delta: Delta<'_>, emit: &mut DeltaSink<'_>) {
        let Delta::Text(piece) = delta else { return emit_other(delta, emit) };
        let before = self.emitted_calls();
        let chunk = self.push(piece);
        let first = if chunk.replaces_previous { 0 } else { before };
        if !chunk.reasoning.is_empty() {
            emit(Delta::Reasoning(chunk.reasoning));
        }
        if !chunk.text.is_empty() {
            emit(Delta::Text(chunk.text));
        }
        for (index, call) in (first..).zip(chunk.calls) {
            emit(Delta::Call { index, id: call.id.as_str(), name: &call.name });
            emit(Delta::Arguments { index, text: &call.arguments.to_text() });
        }
    }
}
