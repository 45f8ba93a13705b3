//! The format of MiniMax M1: `<tool_calls>`, one JSON call on each line, `</tool_calls>`.
//!
//! Models: MiniMax M1; Jamba and Hunyuan with a list of calls in the tags.
//!
//! Source: vllm `test_minimax_tool_parser.py`, `jamba_tool_parser.py`,
//! `hunyuan_a13b_tool_parser.py`.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::JsonFormat;

pub(crate) const MINIMAX_M1: JsonFormat = JsonFormat {
    name: "minimax_m1",
    start_markers: &[StartMarker::Anywhere("<tool_calls>")],
    ends: &["</tool_calls>"],
};
