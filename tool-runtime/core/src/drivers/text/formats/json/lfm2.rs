//! The format of Liquid LFM2: `<|tool_call_start|>[NAME(KEY=VALUE)]<|tool_call_end|>`. Some exports
//! write JSON between the markers.
//!
//! Models: LFM2, LFM2.5.
//!
//! Source: sglang `lfm2_detector.py`, ollama `model/parsers/lfm2_test.go`.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{JsonFormat, PythonFormat};

const START_MARKERS: &[StartMarker] = &[StartMarker::Anywhere("<|tool_call_start|>")];
const ENDS: &[&str] = &["<|tool_call_end|>"];

pub(crate) const PYTHON: PythonFormat =
    PythonFormat { name: "lfm2", start_markers: START_MARKERS, ends: ENDS, only_at_end: false };

pub(crate) const JSON: JsonFormat =
    JsonFormat { name: "lfm2_json", start_markers: START_MARKERS, ends: ENDS };
