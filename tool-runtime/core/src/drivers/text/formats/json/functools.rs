//! The functools format: `functools[{"name": NAME, "arguments": OBJECT}]`.
//!
//! Models: Phi-4-mini; Firefunction v2 with a blank before the marker.
//!
//! Source: vllm `test_phi4mini_tool_parser.py`, vllm-project/vllm#14682.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::JsonFormat;

pub(crate) const FUNCTOOLS: JsonFormat = JsonFormat {
    name: "functools",
    start_markers: &[StartMarker::Anywhere("functools[")],
    ends: &["]"],
};
