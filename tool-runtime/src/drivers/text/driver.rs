//! The text driver: native calls, and calls that the model writes into its text.

use super::unreadable::ends_with_unreadable_call;
use super::{Formats, TextStream, ToolLookup};
use crate::drivers::native::{EchoFilter, strip_echoed_arguments};
use crate::drivers::{Driver, ReplyParseError, StreamDecoder};
use crate::message::{AssistantPart, Reasoning};
use crate::models::{ChatReply, ChatRequest, Delta, DeltaSink, FinishReason};

/// The number of replies of one turn that are parsed.
const PARSE_ATTEMPTS: u32 = 3;
/// The feedback for markup that can't be parsed.
const UNREADABLE: &str = "Your tool call can't be read. Send it again, with the name of an offered \
    tool and all arguments with their values, or answer without tool call markup.";

/// Takes native calls, and parses calls that the model writes into its text.
///
/// Tools are offered through the fields of the provider's API, as
/// [`Native`](crate::drivers::Native) does. If a reply has no native call, the driver searches its
/// text for calls; see [`text`](super) for the formats and the rules. If the reply has markup of a
/// call that can't be parsed and no other call, the model is asked again, up to three times in all.
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
#[derive(Clone, Debug, Default)]
pub struct Text {
    formats: Option<Formats>,
}

impl Text {
    /// Creates a driver that knows [all formats](Formats::all).
    ///
    /// ```
    /// use tool_runtime::drivers::Text;
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).driver(Text::new());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the formats that the driver knows. Default: [`Formats::all`].
    #[must_use]
    pub fn formats(mut self, formats: Formats) -> Self {
        self.formats = Some(formats);
        self
    }

    fn formats_or_all(&self) -> &Formats {
        self.formats.as_ref().unwrap_or_else(|| Formats::all())
    }

    /// Returns true if parts without a call have markup of one that can't be parsed.
    fn is_unreadable(&self, parts: &[AssistantPart]) -> bool {
        let is_call = |part: &AssistantPart| matches!(part, AssistantPart::Call(_));
        let is_markup = |part: &AssistantPart| match part {
            AssistantPart::Text { text } => ends_with_unreadable_call(self.formats_or_all(), text),
            _ => false,
        };
        !parts.iter().any(is_call) && parts.iter().any(is_markup)
    }
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
        let tools = request.callable_tools();
        let has_tools = !tools.is_empty();
        let tools = ToolLookup::new(&tools).truncated(is_truncated);
        let parse = |part| parse_part(part, self.formats_or_all(), &tools);
        let parts: Vec<_> = reply.parts.into_iter().flat_map(parse).collect();
        let is_unreadable = !is_truncated && has_tools && self.is_unreadable(&parts);
        let reply = ChatReply { parts, ..reply };
        if is_unreadable {
            return Err(ReplyParseError::invalid(reply.clone(), UNREADABLE).with_fallback(reply));
        }
        Ok(reply)
    }

    fn parse_attempts(&self) -> u32 {
        PARSE_ATTEMPTS
    }

    fn stream_decoder<'o>(
        &'o self,
        request: ChatRequest<'o>,
    ) -> Option<Box<dyn StreamDecoder + 'o>> {
        let stream =
            TextStream::new(self.formats_or_all(), ToolLookup::new(&request.callable_tools()));
        Some(Box::new(EchoFilter::new(request, stream)))
    }
}

/// Parses one part of a reply.
fn parse_part(
    part: AssistantPart,
    formats: &Formats,
    tools: &ToolLookup<'_>,
) -> Vec<AssistantPart> {
    let AssistantPart::Text { text } = part else { return vec![part] };
    let read = formats.extract(&text, tools);
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
pub(in crate::drivers) fn reasoning_part(text: String) -> AssistantPart {
    AssistantPart::Reasoning(Reasoning::new("", text, serde_json::Value::Null))
}

/// Emits a call once it is complete: until then it may turn out to be text.
impl StreamDecoder for TextStream<'_> {
    fn decode(&mut self, delta: Delta<'_>, emit: &mut DeltaSink<'_>) {
        let Delta::Text(piece) = delta else { return emit(delta) };
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
            emit(Delta::Call { index, name: &call.name });
            emit(Delta::Arguments { index, text: &call.arguments.to_text() });
        }
    }
}
