//! `<tool_calls>`, one JSON call a line, `</tool_calls>`: MiniMax M1; a list of them: Jamba, Hunyuan.
//!
//! Source: vllm `test_minimax_tool_parser.py`, `jamba_tool_parser.py`, `hunyuan_a13b_tool_parser.py`.

use super::super::Opener;
use super::super::grammar::Json;

pub(super) const MINIMAX_M1: Json = Json {
    name: "minimax_m1",
    openers: &[Opener::Marker("<tool_calls>")],
    ends: &["</tool_calls>"],
};
