//! Fuzz tests: randomly changed cases keep the invariants of all texts, quoted ones hold no calls,
//! and what can't be read gets feedback.
//!
//! Run it for longer: `FUZZ_SECONDS=600 cargo test --release -p tool-tests --test runtime
//! drivers::text::fuzz`.

use super::extract;
use super::{corpus, invariants, tools, unreadable};
use crate::mangle::{Seeds, mangled};
use crate::runner::{Trial, drive};
use tool_runtime::__workspace::ToolLookup;
use tool_runtime::drivers::{Driver as _, Text};
use tool_runtime::json::parse_as;
use tool_runtime::{ChatReply, ChatRequest, Message, ToolCall, ToolDefinition};

/// The texts that are changed besides those of the drivers.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tool-runtime/json/tests/corpus");

/// The longest feedback, in characters.
const MAX_FEEDBACK_CHARS: usize = 800;

/// Returns the texts that are changed: those of all formats, and calls in unknown ones.
fn texts() -> Vec<String> {
    let files = corpus::files();
    let cases = files.iter().flat_map(|file| corpus::Case::all(file)).map(|case| case.text);
    cases.chain(unreadable::texts().map(str::to_owned)).collect()
}

#[test]
fn fuzzed_texts_keep_invariants() {
    let (cases, seeds, tools) = (&texts(), Seeds::of_corpus(CORPUS), &tools::all());
    drive("text", |draws| {
        let pick = |at: usize| &cases[at % cases.len()];
        let mut text = pick(draws.below(256) * 256 + draws.below(256)).clone();
        if draws.below(4) == 0 {
            text.push_str(pick(draws.below(256) * 256 + draws.below(256)));
        }
        let text = mangled(draws, &text, &seeds);
        let lengths: Vec<usize> = (0..6).map(|_| 1 + draws.below(9)).collect();
        Trial::new(text, move |text| broken(text, &lengths, tools))
    });
}

/// Quotations of several lines: what precedes all lines, what precedes each line, what follows the
/// last one, and what the lines must not contain.
const QUOTATIONS: [(&str, &str, &str, &str); 12] = [
    ("/*\n", "", "\n*/\nSo.", "*/"),
    ("x = \"\"\"\n", "", "\n\"\"\"\nSo.", "\"\"\""),
    ("<!--\n", "", "\n-->\nSo.", "-->"),
    ("<![CDATA[\n", "", "\n]]>\nSo.", "]]"),
    ("{#\n", "", "\n#}\nSo.", "#}"),
    ("<blockquote>\n", "", "\n</blockquote>\nSo.", "blockquote"),
    ("<details>\n", "", "\n</details>\nSo.", "details"),
    ("<note>\n", "", "\n</note>\nSo.", "note"),
    ("<pre>\n", "", "\n</pre>\nSo.", "pre"),
    ("", "> ", "\n\nSo.", "\0"),
    ("- So:\n", "  ", "\n\nSo.", "\0"),
    ("So:\n\n", "    ", "\n\nSo.", "\0"),
];

/// Markup that begins or ends a part of the reply, in which other rules hold.
const PARTS: [&str; 12] = [
    "hink",
    "HINK",
    "thought",
    "<|",
    "<｜",
    "analysis",
    "```",
    "~~~",
    "<tool_re",
    "<function_re",
    "<reasoning",
    "<scratchpad",
];

/// A call in a quotation, however damaged, never runs a tool that changes something.
#[test]
fn quoted_fuzzed_texts_hold_no_complete_call() {
    let (cases, seeds, tools) = (&texts(), Seeds::of_corpus(CORPUS), &tools::all());
    drive("quotation", |draws| {
        let at = draws.below(256) * 256 + draws.below(256);
        let text = &cases[at % cases.len()];
        let text = mangled(draws, text, &seeds);
        let quotation = QUOTATIONS[draws.below(QUOTATIONS.len())];
        Trial::new(text, move |text| quoted_call(text, quotation, tools))
    });
}

/// A reply has calls, an answer or feedback. The feedback is short, and a quotation gets none.
#[test]
fn fuzzed_replies_get_short_feedback() {
    let (cases, seeds, tools) = (&texts(), Seeds::of_corpus(CORPUS), &tools::all());
    drive("reply", |draws| {
        let at = draws.below(256) * 256 + draws.below(256);
        let text = mangled(draws, &cases[at % cases.len()], &seeds);
        Trial::new(text, move |text| wrong_feedback(text, tools))
    });
}

fn wrong_feedback(text: &str, tools: &[ToolDefinition]) -> Option<String> {
    let offered: Vec<_> = tools.iter().collect();
    let messages = [Message::user("Go.")];
    let feedback = |text: &str| {
        let request = ChatRequest::new(&messages).tools(&offered);
        Text::new().parse(ChatReply::text(text), request).err().map(|error| error.feedback)
    };
    if let Some(feedback) = feedback(text) {
        let calls = extract(text, &ToolLookup::new(&offered)).calls;
        if !calls.is_empty() || feedback.chars().count() > MAX_FEEDBACK_CHARS {
            return Some(format!("{feedback} of {calls:?}"));
        }
    }
    if PARTS.iter().any(|part| text.contains(part)) {
        return None;
    }
    let quoted: Vec<_> = text.trim().lines().map(|line| format!("> {line}")).collect();
    feedback(&quoted.join("\n"))
}

fn quoted_call(
    text: &str,
    (before, prefix, after, forbidden): (&str, &str, &str, &str),
    tools: &[ToolDefinition],
) -> Option<String> {
    if text.contains(forbidden) || PARTS.iter().any(|part| text.contains(part)) {
        return None;
    }
    let lines: Vec<_> = text.trim().lines().map(|line| format!("{prefix}{line}")).collect();
    let text = format!("{before}{}{after}", lines.join("\n"));
    let offered = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
    let calls = extract(&text, &offered).calls;
    let is_complete = |call: &&ToolCall| {
        if call.is_doubtful {
            return false;
        }
        let tool = offered.find(&call.name);
        let parse =
            |tool: &ToolDefinition| parse_as(&call.arguments.to_text(), tool.parameters.as_value());
        tool.and_then(|tool| parse(tool).ok())
            .is_some_and(|parsed| parsed.value.is_object() && !parsed.truncated)
    };
    let call = calls.iter().find(is_complete)?;
    Some(format!("{call} in {text:?}"))
}

fn broken(text: &str, lengths: &[usize], tools: &[ToolDefinition]) -> Option<String> {
    let offered = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
    let read = extract(text, &offered);
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.:/".contains(c))
    };
    if let Some(call) = read.calls.iter().find(|call| !is_name(&call.name)) {
        return Some(format!("no tool can have the name of {call}"));
    }
    // Markup that belongs to no call is that of reasoning and channels.
    let is_plain = read.calls.is_empty() && read.reasoning.is_empty();
    let may_be_marked = ["<|", "|>", "<｜", "hink", "HINK", "<thought", "<end_of_turn>"]
        .iter()
        .any(|mark| text.contains(mark));
    if is_plain && !may_be_marked && read.text != text {
        return Some(format!("text without calls became {:?}", read.text));
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    for length in lengths.iter().cycle() {
        let end = rest.char_indices().nth(*length).map_or(rest.len(), |(end, _)| end);
        let (piece, left) = rest.split_at(end);
        pieces.push(piece);
        rest = left;
        if rest.is_empty() {
            break;
        }
    }
    invariants::streamed_difference(&read, pieces.into_iter(), &offered)
}
