//! The XML format of Qwen3-Coder:
//! `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`.
//!
//! Strings are raw text without escaping; one line break next to each tag is markup.
//!
//! Models: Qwen3-Coder, Qwen 3.5 and later, Nemotron 3 Nano, Step 3.5; Seed-OSS with the tag
//! `<seed:tool_call>`.
//!
//! Source: vllm `qwen3coder_tool_parser.py`, `seed_oss_tool_parser.py`, ggml-org/llama.cpp#15162.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{Style, TagSet, TaggedFormat};

pub(crate) const QWEN_XML: TaggedFormat = TaggedFormat {
    name: "qwen_xml",
    start_markers: &[
        StartMarker::Anywhere("<tool_call>"),
        StartMarker::Anywhere("<seed:tool_call>"),
        StartMarker::Anywhere("<function="),
    ],
    style: Style::Equals,
    tags: TagSet {
        wrappers: &["<tool_call>", "<seed:tool_call>"],
        wrapper_ends: &["</tool_call>", "</seed:tool_call>"],
        before_call: &[],
        call: &["<function="],
        call_ends: &["</function>"],
        argument: &["<parameter="],
        value: &[],
        argument_ends: &["</parameter>"],
    },
};
