//! `<tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>`: Hermes, Qwen 2.5 and 3, Granite 4 and
//! many others. Some put several objects into one tag, some write another tag than they were taught; Granite
//! 3 writes a list behind `<|tool_call|>` and no end.
//!
//! Source: vllm `hermes_tool_parser.py` and `granite_tool_parser.py`, sglang `hermes_detector.py`, ollama `tools/tools_test.go`.

use super::super::Opener;
use super::super::grammar::Json;

pub(super) const HERMES: Json = Json {
    name: "hermes",
    openers: &[
        Opener::Marker("<tool_call>"),
        Opener::Marker("<function_call>"),
        Opener::Marker("<tools>"),
        Opener::Marker("<|tool_call|>"),
    ],
    ends: &["</tool_call>", "</function_call>", "</tools>", "<|/tool_call|>"],
};
