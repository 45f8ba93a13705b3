//! `<minimax:tool_call>`, in it `<invoke name="NAME">` and `<parameter name="KEY">VALUE</parameter>`: MiniMax
//! M2 to M2.7.
//!
//! Source: vllm `test_minimax_m2_tool_parser.py`, vllm-project/vllm#44060.

use super::super::Opener;
use super::super::grammar::{Nesting, Style, Tagged};

pub(super) const MINIMAX_M2: Tagged = Tagged {
    name: "minimax_m2",
    openers: &[Opener::Marker("<minimax:tool_call>")],
    style: Style::Attribute,
    tags: Nesting {
        around: &["<minimax:tool_call>"],
        around_ends: &["</minimax:tool_call>"],
        call: &["<invoke "],
        call_ends: &["</invoke>"],
        argument: &["<parameter "],
        argument_ends: &["</parameter>"],
    },
};
