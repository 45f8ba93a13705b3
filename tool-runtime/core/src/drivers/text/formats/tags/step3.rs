//! The format of Step 3: `<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>`, then
//! `<steptml:invoke name="NAME">` with `<steptml:parameter name="KEY">VALUE</steptml:parameter>`
//! for each argument, and `<｜tool_call_end｜><｜tool_calls_end｜>`.
//!
//! Models: Step 3.
//!
//! Source: sglang `step3_detector.py`, vllm `step3_tool_parser.py`.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{Style, TagSet, TaggedFormat};

pub(crate) const STEP3: TaggedFormat = TaggedFormat {
    name: "step3",
    start_markers: &[
        StartMarker::Anywhere("<｜tool_calls_begin｜>"),
        StartMarker::Anywhere("<｜tool_call_begin｜>"),
    ],
    style: Style::Attribute,
    tags: TagSet {
        wrappers: &["<｜tool_calls_begin｜>"],
        wrapper_ends: &["<｜tool_calls_end｜>"],
        before_call: &["<｜tool_call_begin｜>", "function<｜tool_sep｜>"],
        call: &["<steptml:invoke "],
        call_ends: &["</steptml:invoke>", "<｜tool_call_end｜>"],
        argument: &["<steptml:parameter "],
        value: &[],
        argument_ends: &["</steptml:parameter>"],
    },
};
