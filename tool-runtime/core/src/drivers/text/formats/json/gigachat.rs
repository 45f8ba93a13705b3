//! The format of GigaChat: `function call<|role_sep|>` and a line break, or `<|function_call|>`,
//! before `{"name": NAME, "arguments": OBJECT}`.
//!
//! Models: GigaChat 3 and 3.1.
//!
//! Source: vllm `gigachat3_tool_parser.py`, sglang's tests of its detector.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::JsonFormat;

pub(crate) const GIGACHAT: JsonFormat = JsonFormat {
    name: "gigachat",
    start_markers: &[
        StartMarker::Anywhere("function call<|role_sep|>"),
        StartMarker::Anywhere("<|function_call|>"),
    ],
    ends: &["<|message_sep|>"],
};
