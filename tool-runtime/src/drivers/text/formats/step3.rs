//! `<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>`, then `<steptml:invoke name="NAME">` with a
//! `<steptml:parameter name="KEY">VALUE</steptml:parameter>` for each argument, and
//! `<｜tool_call_end｜><｜tool_calls_end｜>`: Step 3.
//!
//! Source: sglang `step3_detector.py`, vllm `step3_tool_parser.py`.

use super::super::Opener;
use super::super::grammar::{Nesting, Style, Tagged};

pub(super) const STEP3: Tagged = Tagged {
    name: "step3",
    openers: &[Opener::Marker("<｜tool_calls_begin｜>"), Opener::Marker("<｜tool_call_begin｜>")],
    style: Style::Attribute,
    tags: Nesting {
        around: &["<｜tool_calls_begin｜>", "<｜tool_call_begin｜>", "function<｜tool_sep｜>"],
        around_ends: &["<｜tool_call_end｜>", "<｜tool_calls_end｜>"],
        call: &["<steptml:invoke "],
        call_ends: &["</steptml:invoke>"],
        argument: &["<steptml:parameter "],
        argument_ends: &["</steptml:parameter>"],
    },
};
