//! The format of Cohere Command: `<|START_ACTION|>[{"tool_call_id": ID, "tool_name": NAME,
//! "parameters": OBJECT}]<|END_ACTION|>`.
//!
//! The visible response stands between `<|START_RESPONSE|>` and `<|END_RESPONSE|>`, or
//! `<|START_TEXT|>` and `<|END_TEXT|>`.
//!
//! Models: Command R7B, Command A and later.
//!
//! Source: sglang `cohere_command4_detector.py`, the tests of Cohere's chat template in
//! transformers, llama.cpp `tests/test-chat.cpp`, cohere-ai/melody.

use crate::drivers::text::StartMarker;
use crate::drivers::text::formats::parts::think::{ChannelFormat, InLine};
use crate::drivers::text::grammar::JsonFormat;

pub(crate) const COMMAND: JsonFormat = JsonFormat {
    name: "command",
    start_markers: &[StartMarker::Anywhere("<|START_ACTION|>")],
    ends: &["<|END_ACTION|>"],
};

pub(crate) const RESPONSE: ChannelFormat = ChannelFormat {
    name: "command_response",
    start_markers: &[
        StartMarker::Anywhere("<|START_RESPONSE|>"),
        StartMarker::Anywhere("<|START_TEXT|>"),
    ],
    is_visible: true,
    in_line: InLine::Always,
    end_markers: &["<|END_RESPONSE|>", "<|END_TEXT|>"],
};
