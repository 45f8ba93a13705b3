//! Calls in the fields that providers have for them.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

use super::{Driver, Listener, Misread};
use crate::message::{AssistantPart, ToolCall};
use crate::models::{ChatReply, ChatRequest, Delta, Deltas};

/// For models whose provider spells calls: these come as they are. What an agent uses unless told otherwise.
///
/// Some providers say the arguments of calls once more as the text of the reply. Text that is nothing but
/// that is left out: the model would read it, next turn, as something that it said.
/// [Which tool has to be called](crate::ToolChoice) is said by [`ChatOptions`](crate::ChatOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Native;

impl Driver for Native {
    fn read(&self, reply: ChatReply, _: ChatRequest<'_>) -> Result<ChatReply, Misread> {
        Ok(without_leaks(reply))
    }

    fn listener<'o>(&'o self, request: ChatRequest<'o>) -> Option<Box<dyn Listener + 'o>> {
        Some(Box::new(Held::new(request, AsItComes)))
    }
}

/// The reply without text that only repeats the arguments of its calls.
pub(super) fn without_leaks(mut reply: ChatReply) -> ChatReply {
    let mut parts = reply.parts.iter();
    let has_calls = parts.any(|part| matches!(part, AssistantPart::Call(_)));
    if has_calls && reply.words().trim_start().starts_with(['{', '[', '`']) {
        let calls = reply.parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            _ => None,
        });
        if repeats(&reply.words(), &calls.collect::<Vec<_>>()) {
            reply.parts.retain(|part| !matches!(part, AssistantPart::Text { .. }));
        }
    }
    reply
}

/// Whether `text` is the arguments of these calls, some of them or all, and nothing else: one JSON behind the
/// other, in a list, or in a fence; or those of one, as they are, damaged or cut off.
fn repeats(text: &str, calls: &[&ToolCall]) -> bool {
    let text = unfenced(text.trim());
    let is_verbatim = |call: &&ToolCall| call.arguments.to_text().trim() == text;
    if text.len() > "{}".len() && calls.iter().any(is_verbatim) {
        return true;
    }
    let read: Result<Vec<Value>, _> = Deserializer::from_str(text).into_iter().collect();
    let Ok(values) = read else { return false };
    let arguments: Vec<_> = calls.iter().filter_map(|call| value(call)).collect();
    let are_arguments = |values: &[Value]| {
        !values.is_empty() && values.iter().all(|value| arguments.contains(value))
    };
    match values.as_slice() {
        [Value::Array(items)] => are_arguments(items) || are_arguments(&values),
        values => are_arguments(values),
    }
}

/// Arguments that say something: that `{}` was said once more nobody can tell.
fn value(call: &ToolCall) -> Option<Value> {
    let text: Cow<'_, str> = call.arguments.to_text();
    let value: Value = serde_json::from_str(&text).ok()?;
    value.as_object().is_some_and(|members| !members.is_empty()).then_some(value)
}

fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner.map(|inner| inner.trim_start_matches(char::is_alphabetic));
    inner.map_or(text, str::trim)
}

/// Keeps back a text that may turn out to be the arguments of calls behind it, and hands on any other.
pub(super) struct Held<L> {
    /// How what is kept back begins; none once the text is handed on.
    begun: Option<Begun>,
    text: String,
    next: L,
}

impl<L> Held<L> {
    pub(super) fn new(request: ChatRequest<'_>, next: L) -> Self {
        // Who is asked for JSON is not kept waiting for it.
        let may_leak = !request.tools.is_empty() && request.options.output.is_none();
        Self { begun: may_leak.then_some(Begun::Blank), text: String::new(), next }
    }
}

impl<L: Listener> Listener for Held<L> {
    fn hear(&mut self, delta: Delta<'_>, tell: &mut Deltas<'_>) {
        match (delta, self.begun) {
            (Delta::Text(text), Some(begun)) => {
                self.text.push_str(text);
                self.begun = begun.with(text);
                if self.begun.is_none() {
                    self.next.hear(Delta::Text(&std::mem::take(&mut self.text)), tell);
                }
            }
            (delta, _) => self.next.hear(delta, tell),
        }
    }
}

struct AsItComes;

impl Listener for AsItComes {
    fn hear(&mut self, delta: Delta<'_>, tell: &mut Deltas<'_>) {
        tell(delta);
    }
}

/// How a text begins that may be an object, or a list of them, in a fence or not. It is read as it comes, each
/// character once.
#[derive(Clone, Copy)]
enum Begun {
    /// Nothing but blanks.
    Blank,
    /// So many marks of a fence.
    Ticks(u8),
    /// A fence, and perhaps what language is in it.
    Fence,
    /// Blanks behind that.
    Fenced,
    /// `{`
    Object,
    /// `[`
    List,
    /// That is what it looks like.
    Arguments(Nest),
}

/// How deep in such an object or list a place is, and whether in a string; at no depth it has ended.
#[derive(Clone, Copy)]
struct Nest {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl Nest {
    /// The same behind one more character; none where that is neither part of it nor the next of its kind.
    fn then(mut self, next: char) -> Option<Self> {
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

impl Begun {
    /// The same, and more of the text; none where it is another text.
    fn with(self, more: &str) -> Option<Self> {
        more.chars().try_fold(self, Self::then)
    }

    fn then(self, next: char) -> Option<Self> {
        let nest = |depth, is_text| Self::Arguments(Nest { depth, is_text, is_escaped: false });
        match (self, next) {
            (Self::Arguments(nest), next) => nest.then(next).map(Self::Arguments),
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
    use super::Begun;

    #[test]
    fn only_what_may_repeat_arguments_is_kept_back() {
        for (text, is_held) in [
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
            assert_eq!(Begun::Blank.with(text).is_some(), is_held, "{text:?}");
            let mut pieces = text.split_inclusive(|_| true);
            let begun = pieces.try_fold(Begun::Blank, Begun::with);
            assert_eq!(begun.is_some(), is_held, "{text:?} in pieces");
        }
    }
}
