//! Invariants that hold for every text.

use tool_runtime::__workspace::{Formats, TextStream, ToolLookup};
use tool_runtime::drivers::text::ParsedText;

/// Returns how streaming a text in pieces differs from parsing the whole.
pub(crate) fn streamed_difference<'t>(
    whole: &ParsedText,
    pieces: impl Iterator<Item = &'t str>,
    tools: &ToolLookup<'_>,
) -> Option<String> {
    let mut stream = TextStream::new(Formats::all(), tools.clone());
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for piece in pieces {
        let chunk = stream.push(piece);
        if chunk.replaces_previous {
            text.clear();
            calls.clear();
        }
        text.push_str(chunk.text);
        reasoning.push_str(chunk.reasoning);
        calls.extend_from_slice(chunk.calls);
    }
    let parsed = stream.finish();
    if parsed != *whole {
        return Some(format!("streamed {parsed:?}, and the whole is {whole:?}"));
    }
    if !whole.reasoning.starts_with(&reasoning) {
        return Some(format!(
            "streamed reasoning {reasoning:?}, and the whole is {:?}",
            whole.reasoning
        ));
    }
    // Text that the end of the stream turns into reasoning includes its markup.
    let mut thoughts = whole.reasoning.chars();
    // Text after a call may make it doubtful.
    for (call, whole) in calls.iter_mut().zip(&whole.calls) {
        call.is_doubtful |= whole.is_doubtful;
    }
    let is_prefix = whole.text.starts_with(&text) && whole.calls.starts_with(&calls)
        || text.trim().chars().all(|emitted| thoughts.any(|reasoning| reasoning == emitted));
    (!is_prefix).then(|| format!("streamed {text:?} and {calls:?}, and the whole is {whole:?}"))
}
