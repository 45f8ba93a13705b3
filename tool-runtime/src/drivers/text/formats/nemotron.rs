//! `<TOOLCALL>[{"name": NAME, "arguments": OBJECT}]</TOOLCALL>`, at times without the brackets: Nemotron.
//!
//! Source: vllm `nemotron_json_tool_parser.py`, the parser plugin that the model brings.

use super::super::Opener;
use super::super::grammar::Json;

pub(super) const NEMOTRON: Json =
    Json { name: "nemotron", openers: &[Opener::Marker("<TOOLCALL>")], ends: &["</TOOLCALL>"] };
