//! Counts the bytes that searches for an end read, so that tests see how the work grows.

use std::cell::Cell;

use serde_json::json;

use super::super::{Formats, TextStream, ToolLookup};
use crate::tool::ToolDefinition;

thread_local! {
    static SCANNED_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Counts the bytes that a search has read.
pub(crate) fn count(bytes: usize) {
    SCANNED_BYTES.set(SCANNED_BYTES.get() + bytes);
}

/// Calls that are repeated: complete, truncated, and with brackets, quotes or tags that nothing
/// closes.
const PATTERNS: [&str; 28] = [
    "<|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{}<|tool_call_end|>so ",
    "\n---\n<invoke name=\"find\"></invoke><invoke name=\"find\"></invoke>.",
    "\"find: <tool_call>{\"name\": \"find\", \"arguments\": {}}</tool_call> ",
    "call:find{query:\"a\",limit:3}",
    "call:find{query:<|\"|>a<|\"|>}\n",
    "call:find{query:\"a",
    "<|tool_call>call:find{query:<|\"|>a<|\"|>}<tool_call|>",
    "<|tool_call>call:find{query:\"a<",
    "<start_function_call>call:find{query:<escape>a<escape>}",
    "<function=find>{\"query\": [\"a\": \"b\"}</function>",
    "<function=find>{\"query\": \"a\"}</function>",
    "<tool_call><function=find>{\"query\": [1}</function></tool_call>\n",
    "<invoke name=\"find\">{\"query\": {\"a\": 1}</invoke>",
    "<function_calls><invoke name=\"find\"><parameters>{\"query\": [}</parameters></invoke>",
    "<function_calls><invoke name=\"find\"><parameter name=\"query\">a</invoke>",
    "<｜DSML｜tool_calls><｜DSML｜invoke name=\"find\">{\"a\": [}</｜DSML｜invoke>",
    "<tool_call>find<arg_key>query</arg_key><arg_value>a</arg_value>",
    "<tool_call>{\"name\": \"find\", \"arguments\": {\"query\": [\"a\"}}</tool_call>",
    "<tool_call>",
    "[TOOL_CALLS]find[ARGS]{\"query\": [\"a\"}",
    "[TOOL_CALLS][{\"name\": \"find\", \"arguments\": {\"query\": [\"a\"}}]",
    "find(query=\"a\", [\n",
    "[find(query=\"a\"), ",
    "<|python_tag|>find.call(query=[\"a\")",
    "<|start|>assistant<|channel|>commentary to=functions.find <|message|>{\"query\": [}<|call|>",
    "Action: find\nAction Input: {\"query\": [\"a\"}\n",
    "```json\n{\"name\": \"find\", \"arguments\": {\"query\": [\"a\"}}\n```\n",
    "{\"name\": \"find\", \"arguments\": {\"query\": [\"a\"}}\n",
];
/// The bytes of a text that the scanner lets formats read to the end without finding a call, and
/// as much again for the last of these searches.
const RESCANNED_BYTES: usize = 2 << 20;

/// Returns the bytes that the searches read in a text, whole or in pieces.
fn scanned_bytes(text: &str, piece: Option<usize>) -> usize {
    let parameters = json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    });
    let find = ToolDefinition::new("find", "Finds it.", parameters);
    let tools = ToolLookup::new(&[&find]);
    SCANNED_BYTES.set(0);
    match piece {
        None => drop(Formats::all().extract(text, &tools)),
        Some(length) => {
            let mut stream = TextStream::new(Formats::all(), tools);
            let mut rest = text;
            while !rest.is_empty() {
                let end = (length..rest.len()).find(|end| rest.is_char_boundary(*end));
                let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
                stream.push(piece);
                rest = after;
            }
            drop(stream.finish());
        }
    }
    SCANNED_BYTES.get()
}

#[test]
fn repeated_calls_are_scanned_in_linear_time() {
    assert_linear(&PATTERNS, 40_000, None);
}

/// Long enough that parsing from each call to the end exceeds the limit with all patterns.
const SINGLE_BYTES: usize = 24_000;

#[test]
fn first_patterns_in_single_bytes_are_scanned_in_linear_time() {
    assert_linear(&PATTERNS[..14], SINGLE_BYTES, Some(1));
}

#[test]
fn last_patterns_in_single_bytes_are_scanned_in_linear_time() {
    assert_linear(&PATTERNS[14..], SINGLE_BYTES, Some(1));
}

#[test]
fn repeated_calls_in_small_pieces_are_scanned_in_linear_time() {
    assert_linear(&PATTERNS, 40_000, Some(16));
}

#[test]
fn repeated_calls_in_large_pieces_are_scanned_in_linear_time() {
    assert_linear(&PATTERNS, 40_000, Some(4_096));
}

fn assert_linear(patterns: &[&str], bytes: usize, piece: Option<usize>) {
    // A call is parsed again when the text has grown by a sixteenth, by several formats.
    const MAX_SCANS: usize = 40;
    for pattern in patterns {
        let text = pattern.repeat(bytes / pattern.len());
        let scanned = scanned_bytes(&text, piece);
        let most = MAX_SCANS * bytes + RESCANNED_BYTES;
        assert!(scanned <= most, "{pattern:?} in pieces of {piece:?}: {scanned} bytes");
    }
}

#[test]
fn streamed_calls_in_a_row_are_parsed_once_each() {
    const BYTES: usize = 20_000;
    for pattern in [
        "call:find{query:\"a\"}",
        "call:find(query=\"a\")\n",
        "{\"name\": \"find\", \"arguments\": {}}\n",
    ] {
        let text = pattern.repeat(BYTES / pattern.len());
        let whole = scanned_bytes(&text, None);
        let streamed = scanned_bytes(&text, Some(16));
        assert!(streamed <= 3 * whole, "{pattern:?}: {streamed} bytes instead of {whole}");
    }
}
