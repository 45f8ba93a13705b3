//! `<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:N<|tool_call_argument_begin|>OBJECT`, then
//! `<|tool_call_end|><|tool_calls_section_end|>`: Kimi K2, K2 Thinking, K2.5. N counts the calls of the
//! whole conversation. Some checkpoints write `tool_call_section` for the section.
//!
//! Source: vllm `test_kimi_k2_tool_parser.py`, lablup/mlxcel#766.

use super::super::Opener;
use super::super::grammar::Named;

pub(super) const KIMI_K2: Named = Named {
    name: "kimi_k2",
    openers: &[
        Opener::Marker("<|tool_calls_section_begin|>"),
        Opener::Marker("<|tool_call_section_begin|>"),
        Opener::Marker("<|tool_call_begin|>"),
    ],
    begins: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"],
    between: &["<|tool_call_argument_begin|>"],
    ends: &["<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
};
