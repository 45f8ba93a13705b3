//! The format of Kimi K2:
//!
//! ```text
//! <|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:N
//! <|tool_call_argument_begin|>OBJECT<|tool_call_end|><|tool_calls_section_end|>
//! ```
//!
//! N counts the calls of the whole conversation. Some checkpoints write `tool_call_section` for the
//! section.
//!
//! Models: Kimi K2, K2 Thinking, K2.5.
//!
//! Source: vllm `test_kimi_k2_tool_parser.py`, lablup/mlxcel#766.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{NamedFormat, Section};

pub(crate) const KIMI_K2: NamedFormat = NamedFormat {
    name: "kimi_k2",
    start_markers: &[
        StartMarker::Anywhere("<|tool_calls_section_begin|>"),
        StartMarker::Anywhere("<|tool_call_section_begin|>"),
        StartMarker::Anywhere("<|tool_call_begin|>"),
    ],
    begins: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"],
    between: &["<|tool_call_argument_begin|>"],
    ends: &["<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
    section: Some(Section {
        begins: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
        ends: &["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
    }),
};
