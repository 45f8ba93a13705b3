//! The Pythonic format: `[NAME(KEY=VALUE, …), …]`, with values that are Python literals.
//!
//! Models: Llama 3.2, Llama 4, ToolACE.
//!
//! Source: vllm `test_pythonic_tool_parser.py`.

use super::super::StartMarker;
use super::super::grammar::PythonFormat;

pub(crate) const PYTHONIC: PythonFormat = PythonFormat {
    name: "pythonic",
    start_markers: &[StartMarker::LineStart("[")],
    ends: &[],
    only_at_end: true,
};
