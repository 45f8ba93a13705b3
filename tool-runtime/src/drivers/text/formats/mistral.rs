//! `[TOOL_CALLS] [{"name": NAME, "arguments": OBJECT}]`: Mistral 7B v0.3, Nemo, Mixtral, Small up to 3.0;
//! and `[TOOL_CALLS]NAME[ARGS]OBJECT`, the marker once more for each call: Small 3.1 and later, Devstral,
//! Ministral 3, Magistral.
//!
//! Source: vllm `test_mistral_tool_parser.py`, ollama `model/parsers/ministral_test.go`.

use super::super::Opener;
use super::super::grammar::{Json, Named};

const OPENERS: &[Opener] = &[Opener::Marker("[TOOL_CALLS]")];

pub(super) const ARRAY: Json =
    Json { name: "mistral_array", openers: OPENERS, ends: &["[/TOOL_CALLS]"] };

pub(super) const NAMED: Named = Named {
    name: "mistral_named",
    openers: OPENERS,
    begins: &["[TOOL_CALLS]"],
    between: &["[ARGS]", ""],
    ends: &["[/TOOL_CALLS]"],
};
