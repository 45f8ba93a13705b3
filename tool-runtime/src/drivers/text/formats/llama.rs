//! What Llama writes with markers; without them it is bare JSON, or Pythonic.
//!
//! `<|python_tag|>` before JSON, or before `NAME.call(KEY=VALUE)` for the tools that are built in: 3.1 and
//! later. `<function=NAME>OBJECT</function>`: 3.1 under a prompt of one's own, Functionary v3.1.
//! `<|python_start|>` … `<|python_end|>` around JSON or Python: 4.
//!
//! Source: vllm `test_llama3_json_tool_parser.py`, vllm-project/vllm#13530, #16214, unslothai/unsloth#5620,
//! mudler/LocalAI#4671.

use super::super::Opener;
use super::super::grammar::{Json, Named, Python};

const TAG: &[Opener] = &[Opener::Marker("<|python_tag|>")];
const START: &[Opener] = &[Opener::Marker("<|python_start|>")];

pub(super) const TAGGED_JSON: Json =
    Json { name: "llama_json", openers: TAG, ends: &["<|eom_id|>", "<|eot_id|>"] };

pub(super) const BUILT_IN: Python = Python {
    name: "llama_built_in",
    openers: TAG,
    ends: &["<|eom_id|>", "<|eot_id|>"],
    is_last: false,
};

pub(super) const FUNCTION_TAG: Named = Named {
    name: "llama_function_tag",
    openers: &[Opener::Marker("<function=")],
    begins: &["<function="],
    between: &[">"],
    ends: &["</function>"],
};

pub(super) const START_JSON: Json =
    Json { name: "llama4_json", openers: START, ends: &["<|python_end|>"] };

pub(super) const START_PYTHON: Python =
    Python { name: "llama4_pythonic", openers: START, ends: &["<|python_end|>"], is_last: false };
