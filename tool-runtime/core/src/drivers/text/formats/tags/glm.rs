//! The format of GLM: `<tool_call>NAME`, then `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`
//! for each argument, and `</tool_call>`.
//!
//! GLM-4.5 and 4.6 write line breaks between the tags; later models write none. A call without
//! arguments is the bare name. Strings are raw text; other types are JSON.
//!
//! Models: GLM-4.5, 4.6, 4.7, 5.x.
//!
//! Source: vllm `glm4_moe_tool_parser.py`, `glm47_moe_tool_parser.py`, ollama
//! `model/parsers/glm46_test.go`.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{Style, TagSet, TaggedFormat};

pub(crate) const GLM: TaggedFormat = TaggedFormat {
    name: "glm",
    start_markers: &[StartMarker::Anywhere("<tool_call>")],
    style: Style::Elements,
    tags: TagSet {
        wrappers: &[],
        wrapper_ends: &[],
        before_call: &[],
        call: &["<tool_call>"],
        call_ends: &["</tool_call>"],
        argument: &["<arg_key>"],
        value: &["<arg_value>"],
        argument_ends: &["</arg_value>"],
    },
};
