//! `<|tool_call_start|>[NAME(KEY=VALUE)]<|tool_call_end|>`: Liquid LFM2 and LFM2.5; in some exports there is
//! JSON between the markers.
//!
//! Source: sglang `lfm2_detector.py`, ollama `model/parsers/lfm2_test.go`.

use super::super::Opener;
use super::super::grammar::{Json, Python};

const OPENERS: &[Opener] = &[Opener::Marker("<|tool_call_start|>")];
const ENDS: &[&str] = &["<|tool_call_end|>"];

pub(super) const PYTHON: Python =
    Python { name: "lfm2", openers: OPENERS, ends: ENDS, is_last: false };

pub(super) const JSON: Json = Json { name: "lfm2_json", openers: OPENERS, ends: ENDS };
