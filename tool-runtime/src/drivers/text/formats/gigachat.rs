//! `function call<|role_sep|>` and a line break before `{"name": NAME, "arguments": OBJECT}`, or
//! `<|function_call|>` before it: GigaChat 3 and 3.1.
//!
//! Source: vllm `gigachat3_tool_parser.py`, sglang's tests of its detector.

use super::super::Opener;
use super::super::grammar::Json;

pub(super) const GIGACHAT: Json = Json {
    name: "gigachat",
    openers: &[Opener::Marker("function call<|role_sep|>"), Opener::Marker("<|function_call|>")],
    ends: &["<|message_sep|>"],
};
