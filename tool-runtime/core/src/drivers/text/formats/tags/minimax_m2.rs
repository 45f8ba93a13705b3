//! The format of MiniMax M2: `<minimax:tool_call>` with `<invoke name="NAME">` and `<parameter
//! name="KEY">VALUE</parameter>`.
//!
//! Strings are raw text without escaping; other types are JSON.
//!
//! Models: MiniMax M2, M2.1, M2.5, M2.7.
//!
//! Source: vllm `test_minimax_m2_tool_parser.py`, vllm-project/vllm#44060.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{Style, TagSet, TaggedFormat};

pub(crate) const MINIMAX_M2: TaggedFormat = TaggedFormat {
    name: "minimax_m2",
    start_markers: &[StartMarker::Anywhere("<minimax:tool_call>")],
    style: Style::Attribute,
    tags: TagSet {
        wrappers: &["<minimax:tool_call>"],
        wrapper_ends: &["</minimax:tool_call>"],
        before_call: &[],
        call: &["<invoke "],
        call_ends: &["</invoke>"],
        argument: &["<parameter "],
        value: &[],
        argument_ends: &["</parameter>"],
    },
};
