//! The format of Nemotron: `<TOOLCALL>[{"name": NAME, "arguments": OBJECT}]</TOOLCALL>`, sometimes
//! without the brackets.
//!
//! Models: Nemotron.
//!
//! Source: vllm `nemotron_json_tool_parser.py`, the parser plugin that comes with the model.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::JsonFormat;

pub(crate) const NEMOTRON: JsonFormat = JsonFormat {
    name: "nemotron",
    start_markers: &[StartMarker::Anywhere("<TOOLCALL>")],
    ends: &["</TOOLCALL>"],
};
