//! `[NAME(KEY=VALUE, …), …]`: Llama 3.2 and 4, ToolACE.
//!
//! Source: vllm `test_pythonic_tool_parser.py`.

use super::super::Opener;
use super::super::grammar::Python;

pub(super) const PYTHONIC: Python =
    Python { name: "pythonic", openers: &[Opener::Line("[")], ends: &[], is_last: true };
