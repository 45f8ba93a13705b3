//! The Hermes format: `<tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>`.
//!
//! Some models write several objects into one tag, and some write another tag than the one of their
//! template. Granite 3 writes a list after `<|tool_call|>`, without an end marker.
//!
//! Models: Hermes 2 and 3, Qwen 2.5, Qwen 3, QwQ, Granite 4 and many fine-tunes.
//!
//! Source: vllm `hermes_tool_parser.py` and `granite_tool_parser.py`, sglang `hermes_detector.py`,
//! ollama `tools/tools_test.go`.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::JsonFormat;

pub(crate) const HERMES: JsonFormat = JsonFormat {
    name: "hermes",
    start_markers: &[
        StartMarker::Anywhere("<tool_call>"),
        StartMarker::Anywhere("<function_call>"),
        StartMarker::Anywhere("<tools>"),
        StartMarker::Anywhere("<|tool_call|>"),
    ],
    ends: &["</tool_call>", "</function_call>", "</tools>", "<|/tool_call|>"],
};
