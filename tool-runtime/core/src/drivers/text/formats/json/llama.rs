//! The formats of Llama with markers. Without markers, Llama writes [bare JSON](super::bare) or
//! [Python calls](super::pythonic).
//!
//! - Llama 3.1 and later: `<|python_tag|>` before JSON, or before `NAME.call(KEY=VALUE)` for
//!   built-in tools.
//! - Llama 3.1 with a custom prompt, and Functionary v3.1: `<function=NAME>OBJECT</function>`.
//! - Llama 4: `<|python_start|>` … `<|python_end|>` around JSON or Python calls.
//!
//! Source: vllm `test_llama3_json_tool_parser.py`, vllm-project/vllm#13530, #16214,
//! unslothai/unsloth#5620, mudler/LocalAI#4671.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{JsonFormat, NamedFormat, PythonFormat};

const TAG: &[StartMarker] = &[StartMarker::Anywhere("<|python_tag|>")];
const START: &[StartMarker] = &[StartMarker::Anywhere("<|python_start|>")];

pub(crate) const TAGGED_JSON: JsonFormat =
    JsonFormat { name: "llama_json", start_markers: TAG, ends: &["<|eom_id|>", "<|eot_id|>"] };

pub(crate) const BUILT_IN: PythonFormat = PythonFormat {
    name: "llama_built_in",
    start_markers: TAG,
    ends: &["<|eom_id|>", "<|eot_id|>"],
    only_at_end: false,
};

pub(crate) const FUNCTION_TAG: NamedFormat = NamedFormat {
    name: "llama_function_tag",
    start_markers: &[StartMarker::Anywhere("<function=")],
    begins: &["<function="],
    between: &[">"],
    ends: &["</function>"],
    section: None,
};

pub(crate) const START_JSON: JsonFormat =
    JsonFormat { name: "llama4_json", start_markers: START, ends: &["<|python_end|>"] };

pub(crate) const START_PYTHON: PythonFormat = PythonFormat {
    name: "llama4_pythonic",
    start_markers: START,
    ends: &["<|python_end|>"],
    only_at_end: false,
};
