//! The formats of Mistral: `[TOOL_CALLS] [{"name": NAME, "arguments": OBJECT}]`, and
//! `[TOOL_CALLS]NAME[ARGS]OBJECT` with the marker repeated for each call.
//!
//! Models: the list for Mistral 7B v0.3, Nemo, Mixtral, Small up to 3.0; the named form for Small
//! 3.1 and later, Devstral, Ministral 3, Magistral.
//!
//! Source: vllm `test_mistral_tool_parser.py`, ollama `model/parsers/ministral_test.go`.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{JsonFormat, NamedFormat};

const START_MARKERS: &[StartMarker] = &[StartMarker::Anywhere("[TOOL_CALLS]")];

pub(crate) const ARRAY: JsonFormat =
    JsonFormat { name: "mistral_array", start_markers: START_MARKERS, ends: &["[/TOOL_CALLS]"] };

pub(crate) const NAMED: NamedFormat = NamedFormat {
    name: "mistral_named",
    start_markers: START_MARKERS,
    begins: &["[TOOL_CALLS]"],
    between: &["[ARGS]", ""],
    ends: &["[/TOOL_CALLS]"],
    section: None,
};
