//! `<function_calls>NAME(KEY=VALUE)</function_calls>`, one call a line: OLMo 3.
//!
//! Source: ollama `model/parsers/olmo3_test.go`.

use super::super::Opener;
use super::super::grammar::Python;

pub(super) const OLMO3: Python = Python {
    name: "olmo3",
    openers: &[Opener::Marker("<function_calls>")],
    ends: &["</function_calls>"],
    is_last: false,
};
