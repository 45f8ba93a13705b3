//! The driver: what a model wrote into its text is called.

use super::{Formats, Offered, TextStream};
use crate::drivers::native::{Held, without_leaks};
use crate::drivers::{Driver, Listener, Misread};
use crate::message::{AssistantPart, Reasoning};
use crate::models::{ChatReply, ChatRequest, Delta, Deltas, Finish};

/// For models that write calls into their text, at times or always: the tools are offered as
/// [`Native`](crate::drivers::Native) does, and a reply without a call as its provider spells one is read once
/// more, for calls [in its text](super).
///
/// ```
/// use tool_runtime::drivers::Text;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Tells how warm it is.
/// #[tool(effect = "read")]
/// async fn temperature(city: String) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// let said = r#"<tool_call>{"name": "temperature", "arguments": {"city": "Oslo"}}</tool_call>"#;
/// let model = ScriptedModel::new([ChatReply::text(said), ChatReply::text("Take a coat.")]);
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
    /// Reads all [formats](Formats::all) known here.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads these instead.
    #[must_use]
    pub fn formats(mut self, formats: Formats) -> Self {
        self.formats = Some(formats);
        self
    }

    fn known(&self) -> &Formats {
        self.formats.as_ref().unwrap_or_else(|| Formats::all())
    }
}

impl Driver for Text {
    fn read(&self, reply: ChatReply, request: ChatRequest<'_>) -> Result<ChatReply, Misread> {
        let has_call = reply.parts.iter().any(|part| matches!(part, AssistantPart::Call(_)));
        if has_call {
            return Ok(without_leaks(reply));
        }
        let is_cut_short = reply.finish == Finish::Length;
        let offered = Offered::new(&request.callable()).cut_short(is_cut_short);
        let read = |part| read(part, self.known(), &offered);
        let parts = reply.parts.into_iter().flat_map(read).collect();
        Ok(ChatReply { parts, ..reply })
    }

    fn listener<'o>(&'o self, request: ChatRequest<'o>) -> Option<Box<dyn Listener + 'o>> {
        let stream = TextStream::new(self.known(), Offered::new(&request.callable()));
        Some(Box::new(Held::new(request, stream)))
    }
}

/// What a part of a reply holds.
fn read(part: AssistantPart, formats: &Formats, offered: &Offered<'_>) -> Vec<AssistantPart> {
    let AssistantPart::Text { text } = part else { return vec![part] };
    let read = formats.extract(&text, offered);
    let mut parts = Vec::new();
    if !read.reasoning.is_empty() {
        parts.push(thought(read.reasoning));
    }
    if !read.text.is_empty() {
        parts.push(AssistantPart::Text { text: read.text });
    }
    parts.extend(read.calls.into_iter().map(AssistantPart::Call));
    parts
}

/// What a model says of itself that it thinks: no provider's, so that none is sent it.
pub(in crate::drivers) fn thought(text: String) -> AssistantPart {
    AssistantPart::Reasoning(Reasoning::new("", text, serde_json::Value::Null))
}

/// Calls are told of as soon as they are whole: until then they may turn out to be text.
impl Listener for TextStream<'_> {
    fn hear(&mut self, delta: Delta<'_>, tell: &mut Deltas<'_>) {
        let Delta::Text(piece) = delta else { return tell(delta) };
        let before = self.called();
        let shown = self.push(piece);
        let first = if shown.is_taken_back { 0 } else { before };
        if !shown.reasoning.is_empty() {
            tell(Delta::Reasoning(shown.reasoning));
        }
        if !shown.text.is_empty() {
            tell(Delta::Text(shown.text));
        }
        for (place, call) in (first..).zip(shown.calls) {
            tell(Delta::Call { place, name: &call.name });
            tell(Delta::Arguments { place, text: &call.arguments.to_text() });
        }
    }
}
