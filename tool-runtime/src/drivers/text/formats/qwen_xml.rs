//! `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`: Qwen3-Coder,
//! Qwen 3.5 and later, Nemotron 3 Nano, Step 3.5; and Seed-OSS, in a tag of its own. Text stands between
//! the tags as it is; one line break next to each tag is markup.
//!
//! Source: vllm `qwen3coder_tool_parser.py`, `seed_oss_tool_parser.py`, ggml-org/llama.cpp#15162.

use super::super::Opener;
use super::super::grammar::{Nesting, Style, Tagged};

pub(super) const QWEN_XML: Tagged = Tagged {
    name: "qwen_xml",
    openers: &[
        Opener::Marker("<tool_call>"),
        Opener::Marker("<seed:tool_call>"),
        Opener::Marker("<function="),
    ],
    style: Style::Equals,
    tags: Nesting {
        around: &["<tool_call>", "<seed:tool_call>"],
        around_ends: &["</tool_call>", "</seed:tool_call>"],
        call: &["<function="],
        call_ends: &["</function>"],
        argument: &["<parameter="],
        argument_ends: &["</parameter>"],
    },
};
