//! `functools[{"name": NAME, "arguments": OBJECT}]`: Phi-4-mini, and Firefunction v2 with a blank before it.
//!
//! Source: vllm `test_phi4mini_tool_parser.py`, vllm-project/vllm#14682.

use super::super::Opener;
use super::super::grammar::Json;

pub(super) const FUNCTOOLS: Json =
    Json { name: "functools", openers: &[Opener::Marker("functools[")], ends: &["]"] };
