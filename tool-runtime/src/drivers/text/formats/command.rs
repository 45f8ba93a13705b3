//! `<|START_ACTION|>[{"tool_call_id": ID, "tool_name": NAME, "parameters": OBJECT}]<|END_ACTION|>`: Command R7B,
//! Command A and later.
//!
//! Source: sglang `cohere_command4_detector.py`, transformers' tests of Cohere's chat template.

use super::super::Opener;
use super::super::grammar::Json;

pub(super) const COMMAND: Json = Json {
    name: "command",
    openers: &[Opener::Marker("<|START_ACTION|>")],
    ends: &["<|END_ACTION|>"],
};
