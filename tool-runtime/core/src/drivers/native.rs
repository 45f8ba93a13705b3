//! The native driver: calls in the tool-call fields of the provider's API.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Deserializer, Value};

use super::driver::{DeltaDecoder, StreamDecoder};
use super::{Driver, ReplyParseError};
use crate::message::{AssistantPart, ToolCall};
use crate::models::{ChatReply, ChatRequest, Delta, DeltaSink};

/// Takes calls from the tool-call fields of the provider's API. This is the default driver.
///
/// Some providers repeat the arguments of calls as the text of the reply. The driver removes such a
/// text, because the model would read it in the next turn as its own words. Set
/// `tool_choice` of [`ChatOptions`](crate::ChatOptions) to require a call or a certain tool.
///
/// # Examples
///
/// ```
/// use tool_runtime::drivers::Native;
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
/// let call = ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#);
/// let model = ScriptedModel::new([call, ChatReply::text("Take a coat.")]);
/// // `driver(Native)` is the default.
/// let agent = Agent::new(model, tools![temperature]).driver(Native);
/// assert_eq!(agent.run("What should I wear in Oslo?").await?.to_string(), "Take a coat.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Native;

impl Driver for Native {
    fn parse(&self, reply: ChatReply, _: ChatRequest<'_>) -> Result<ChatReply, ReplyParseError> {
        Ok(strip_echoed_arguments(reply))
    }

    fn stream_decoder<'o>(&'o self, request: ChatRequest<'o>) -> Option<DeltaDecoder<'o>> {
        Some(EchoFilter::new(request, PassThrough).into_decoder())
    }
}

/// Removes a text that only repeats the arguments of the calls in the reply.
pub(super) fn strip_echoed_arguments(mut reply: ChatReply) -> ChatReply {
    let mut parts = reply.parts.iter();
    let has_calls = parts.any(|part| matches!(part, AssistantPart::Call(_)));
    if has_calls && reply.to_text().trim_start().starts_with(['{', '[', '`']) {
        let calls = reply.parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            _ => None,
        });
        if is_echo(&reply.to_text(), &calls.collect::<Vec<_>>()) {
            reply.parts.retain(|part| !matches!(part, AssistantPart::Text { .. }));
        }
    }
    reply
}

/// Returns true if `text` consists of the arguments of some or all of `calls` and nothing else:
/// JSON values in a row, in a list or in a fence, or the exact text of one call, even if damaged or
/// truncated.
fn is_echo(text: &str, calls: &[&ToolCall]) -> bool {
    let text = unfenced(text.trim());
    let is_verbatim = |call: &&ToolCall| call.arguments.to_text().trim() == text;
    if text.len() > "{}".len() && calls.iter().any(is_verbatim) {
        return true;
    }
    let parsed: Result<Vec<Value>, _> = Deserializer::from_str(text).into_iter().collect();
    let Ok(values) = parsed else { return false };
    let arguments: HashSet<_> = calls.iter().filter_map(|call| non_empty_arguments(call)).collect();
    let are_all_arguments = |values: &[Value]| {
        !values.is_empty() && values.iter().all(|value| arguments.contains(value))
    };
    match values.as_slice() {
        [Value::Array(items)] => are_all_arguments(items) || are_all_arguments(&values),
        values => are_all_arguments(values),
    }
}

/// Returns the arguments of a call unless they are `{}`, which is too common to count as an echo.
fn non_empty_arguments(call: &ToolCall) -> Option<Value> {
    let text: Cow<'_, str> = call.arguments.to_text();
    let value: Value = serde_json::from_str(&text).ok()?;
    value.as_object().is_some_and(|members| !members.is_empty()).then_some(value)
}

fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner.map(|inner| inner.trim_start_matches(char::is_alphabetic));
    inner.map_or(text, str::trim)
}

/// Holds back a text that may turn out to repeat the arguments of calls, and forwards any other.
pub(super) struct EchoFilter<L> {
    /// The form of the text that is held back; `None` once text is forwarded.
    state: Option<EchoState>,
    text: String,
    next: L,
}

impl<L> EchoFilter<L> {
    pub(super) fn new(request: ChatRequest<'_>, next: L) -> Self {
        // A caller that requests JSON output expects JSON text, so it is forwarded at once.
        let may_echo = !request.tools.is_empty() && request.options.output.is_none();
        Self { state: may_echo.then_some(EchoState::Blank), text: String::new(), next }
    }
}

impl<L: StreamDecoder> StreamDecoder for EchoFilter<L> {
    fn decode(&mut self, delta: Delta<'_>, emit: &mut DeltaSink<'_>) {
        match (delta, self.state) {
            (Delta::Text(text), Some(state)) => {
                self.text.push_str(text);
                self.state = state.push(text);
                if self.state.is_none() {
                    self.next.decode(Delta::Text(&std::mem::take(&mut self.text)), emit);
                }
            }
            (delta, _) => self.next.decode(delta, emit),
        }
    }
}

struct PassThrough;

impl StreamDecoder for PassThrough {
    fn decode(&mut self, delta: Delta<'_>, emit: &mut DeltaSink<'_>) {
        emit(delta);
    }
}

/// Recognizes the beginning of a text that may be an object or a list of objects, in a fence or
/// not. Each character is read once, as it arrives.
#[derive(Clone, Copy)]
enum EchoState {
    /// Only whitespace so far.
    Blank,
    /// This many backticks of a fence.
    Ticks(u8),
    /// A fence, and possibly a part of its language name.
    Fence,
    /// Whitespace after the fence.
    Fenced,
    /// After `{`.
    Object,
    /// After `[`.
    List,
    /// Inside or after an object or list that looks like arguments.
    Arguments(Nesting),
}

/// The nesting depth at a position in an object or list, and whether the position is in a string.
/// At depth 0 the value has ended.
#[derive(Clone, Copy)]
struct Nesting {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Advances by one character. Returns `None` if it is neither part of the value nor of a
    /// following one.
    fn push_char(mut self, next: char) -> Option<Self> {
        match next {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' if self.is_text => self.is_escaped = true,
            '"' if self.depth > 0 => self.is_text = !self.is_text,
            _ if self.is_text => {}
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.checked_sub(1)?,
            _ if self.depth > 0 || next.is_whitespace() || next == '`' => {}
            _ => return None,
        }
        Some(self)
    }
}

impl EchoState {
    /// Advances by `more`. Returns `None` if the text can't be an echo.
    fn push(self, more: &str) -> Option<Self> {
        more.chars().try_fold(self, Self::push_char)
    }

    fn push_char(self, next: char) -> Option<Self> {
        let nest = |depth, is_text| Self::Arguments(Nesting { depth, is_text, is_escaped: false });
        match (self, next) {
            (Self::Arguments(nest), next) => nest.push_char(next).map(Self::Arguments),
            (Self::Blank, '`') => Some(Self::Ticks(1)),
            (Self::Ticks(1), '`') => Some(Self::Ticks(2)),
            (Self::Ticks(_), '`') => Some(Self::Fence),
            (Self::Ticks(_), _) => None,
            (Self::Fence, next) if next.is_alphabetic() => Some(self),
            (Self::Fence, next) if next.is_whitespace() => Some(Self::Fenced),
            (_, next) if next.is_whitespace() => Some(self),
            (Self::Blank | Self::Fence | Self::Fenced, '{') => Some(Self::Object),
            (Self::Blank | Self::Fence | Self::Fenced, '[') => Some(Self::List),
            (Self::Object, '"') => Some(nest(1, true)),
            (Self::List, '{') => Some(nest(2, false)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EchoState;

    #[test]
    fn only_possible_echoes_of_arguments_are_held_back() {
        for (text, is_held_back) in [
            ("", true),
            ("\n ", true),
            ("{", true),
            (" {\n \"", true),
            ("[{\"a\"", true),
            ("`", true),
            ("```js", true),
            ("```json\n{ \"a", true),
            ("{\"a\": \"\\\"} b\"", true),
            ("{\"a\": [1]}\n{\"b\"", true),
            ("```json\n[{\"a\": 1}]\n```\n", true),
            ("{\"a\": 1} it", false),
            ("```json\n{\"a\": 1}\n```\nSo", false),
            ("`code`", false),
            ("```rust\nfn", false),
            ("[1]", false),
            ("{{name}}", false),
            ("One {", false),
        ] {
            assert_eq!(EchoState::Blank.push(text).is_some(), is_held_back, "{text:?}");
            let mut pieces = text.split_inclusive(|_| true);
            let state = pieces.try_fold(EchoState::Blank, EchoState::push);
            assert_eq!(state.is_some(), is_held_back, "{text:?} in pieces");
        }
    }
}
