//! The format of OLMo 3: `<function_calls>NAME(KEY=VALUE)</function_calls>`, one call on each line.
//!
//! Models: OLMo 3.
//!
//! Source: ollama `model/parsers/olmo3_test.go`.

use super::super::StartMarker;
use super::super::grammar::PythonFormat;

pub(crate) const OLMO3: PythonFormat = PythonFormat {
    name: "olmo3",
    start_markers: &[StartMarker::Anywhere("<function_calls>")],
    ends: &["</function_calls>"],
    only_at_end: false,
};
