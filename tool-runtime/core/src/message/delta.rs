use super::{AssistantPart, GeneratedFile, Source};

/// A piece of a reply that a model is still generating.
///
/// [`ChatModel::stream`](crate::ChatModel::stream) passes the pieces to a [`DeltaSink`].
///
/// ```
/// use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let model = ScriptedModel::new([ChatReply::text("Hello.").call("now", "{}")]);
/// let mut lines = Vec::new();
/// let request = [Message::user("Hi")];
/// let mut print = |delta: Delta<'_>| match delta {
///     Delta::Text(text) => lines.push(text.to_owned()),
///     Delta::Call { index, name, .. } => lines.push(format!("call {index}: {name}")),
///     Delta::Arguments { index, text } => lines.push(format!("arguments {index}: {text}")),
///     _ => {}
/// };
/// model.stream(ChatRequest::new(&request), &mut print).await.unwrap();
/// assert_eq!(lines, ["Hello.", "call 0: now", "arguments 0: {}"]);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// The next characters of the text.
    Text(&'a str),
    /// The next characters of the readable part of the reasoning.
    Reasoning(&'a str),
    /// The start of a call. It is sent again if more of the tool's name becomes known.
    Call {
        /// The index of the call within the reply, from 0, in the order in which the calls start.
        /// Several calls can be in progress at once.
        index: usize,
        /// The id of the call; empty if the model has not sent one. Observers of a run always
        /// receive an id, and it stays the id of the call.
        id: &'a str,
        /// The name of the tool.
        name: &'a str,
    },
    /// The next characters of the arguments of a call. [`json::Partial`](crate::json::Partial)
    /// parses the arguments that have arrived so far.
    Arguments {
        /// The index of the call within the reply.
        index: usize,
        /// The text that follows what was sent before.
        text: &'a str,
    },
    /// A source that the reply names.
    Source(&'a Source),
    /// A file that the model has created.
    File(&'a GeneratedFile),
}

impl<'a> Delta<'a> {
    /// Returns the text that the model has written: the name of the tool, if the piece is the start
    /// of a call.
    pub(crate) fn text(&self) -> &'a str {
        match self {
            Self::Text(text) | Self::Reasoning(text) | Self::Arguments { text, .. } => text,
            Self::Call { name, .. } => name,
            Self::Source(_) | Self::File(_) => "",
        }
    }
}

/// Receives the pieces of a streamed reply: any `FnMut(Delta<'_>) + Send`.
pub type DeltaSink<'a> = dyn for<'d> FnMut(Delta<'d>) + Send + 'a;

/// Passes a complete reply to `deltas`.
#[doc(hidden)]
pub fn emit_reply(parts: &[AssistantPart], deltas: &mut DeltaSink<'_>) {
    let mut indices = 0..;
    for part in parts {
        match part {
            AssistantPart::Text { text } => deltas(Delta::Text(text)),
            AssistantPart::Reasoning(reasoning) if reasoning.text.is_empty() => {}
            AssistantPart::Reasoning(reasoning) => deltas(Delta::Reasoning(&reasoning.text)),
            AssistantPart::Call(call) => {
                let Some(index) = indices.next() else { return };
                deltas(Delta::Call { index, id: call.id.as_str(), name: &call.name });
                deltas(Delta::Arguments { index, text: &call.arguments.to_text() });
            }
            AssistantPart::Source(source) => deltas(Delta::Source(source)),
            AssistantPart::File(file) => deltas(Delta::File(file)),
        }
    }
}
