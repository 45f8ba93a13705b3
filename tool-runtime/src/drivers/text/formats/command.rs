//! `<|START_ACTION|>[{"tool_call_id": ID, "tool_name": NAME, "parameters": OBJECT}]<|END_ACTION|>`: Command R7B,
//! Command A and later. What they say to people stands between `<|START_RESPONSE|>` and `<|END_RESPONSE|>`, or
//! `<|START_TEXT|>` and `<|END_TEXT|>`.
//!
//! Source: sglang `cohere_command4_detector.py`, transformers' tests of Cohere's chat template, llama.cpp
//! `tests/test-chat.cpp`, cohere-ai/melody.

use super::super::Opener;
use super::super::grammar::Json;
use super::think::Think;

pub(super) const COMMAND: Json = Json {
    name: "command",
    openers: &[Opener::Marker("<|START_ACTION|>")],
    ends: &["<|END_ACTION|>"],
};

pub(super) const RESPONSE: Think = Think {
    name: "command_response",
    openers: &[Opener::Marker("<|START_RESPONSE|>"), Opener::Marker("<|START_TEXT|>")],
    is_shown: true,
    is_within: true,
    closers: &["<|END_RESPONSE|>", "<|END_TEXT|>"],
};
