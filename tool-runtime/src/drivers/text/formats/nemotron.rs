//! `<TOOLCALL>[{"name": NAME, "arguments": OBJECT}]</TOOLCALL>`: Nemotron. Beside it Command's action, whose
//! keys are `tool_name` and `parameters`.
//!
//! Source: the parser plugin that Nemotron brings for vllm; transformers' tests of Cohere's chat template.

use super::super::Opener;
use super::super::grammar::Json;

pub(super) const NEMOTRON: Json = Json {
    name: "nemotron",
    openers: &[Opener::Marker("<TOOLCALL>"), Opener::Marker("<|START_ACTION|>")],
    ends: &["</TOOLCALL>", "<|END_ACTION|>"],
};
