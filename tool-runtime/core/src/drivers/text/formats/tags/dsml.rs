//! The DSML format of DeepSeek: `<｜DSML｜invoke name="NAME">` with `<｜DSML｜parameter name="KEY"
//! string="true|false">VALUE</｜DSML｜parameter>`, inside `<｜DSML｜function_calls>` (V3.2) or
//! `<｜DSML｜tool_calls>` (V4 and later).
//!
//! `string="true"` marks raw text, `string="false"` JSON. An `invoke` without the tag around it
//! counts if it begins a line.
//!
//! The bars may be doubled, or plain ASCII bars.
//!
//! Models: DeepSeek V3.2, V4, V4.1. GigaChat 3.5 writes the same with `GCML`.
//!
//! Source: vllm `deepseekv32_tool_parser.py`, `gigachat35_tool_parser.py`, smg-project/smg#1030,
//! ml-explore/mlx-lm#1337.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{Style, TagSet, TaggedFormat};

pub(crate) const DSML: TaggedFormat = TaggedFormat {
    name: "dsml",
    start_markers: &[
        StartMarker::Anywhere("<｜DSML｜function_calls>"),
        StartMarker::Anywhere("<｜｜DSML｜｜function_calls>"),
        StartMarker::Anywhere("<|DSML|function_calls>"),
        StartMarker::Anywhere("<||DSML||function_calls>"),
        StartMarker::Anywhere("<｜DSML｜tool_calls>"),
        StartMarker::Anywhere("<｜GCML｜tool_calls>"),
        StartMarker::Anywhere("<｜GCML｜function_calls>"),
        StartMarker::Anywhere("<｜｜DSML｜｜tool_calls>"),
        StartMarker::Anywhere("<|DSML|tool_calls>"),
        StartMarker::Anywhere("<||DSML||tool_calls>"),
        StartMarker::LineStart("<｜DSML｜invoke "),
        StartMarker::LineStart("<｜GCML｜invoke "),
        StartMarker::LineStart("<｜｜DSML｜｜invoke "),
        StartMarker::LineStart("<|DSML|invoke "),
        StartMarker::LineStart("<||DSML||invoke "),
    ],
    style: Style::Attribute,
    tags: TagSet {
        wrappers: &[
            "<｜DSML｜function_calls>",
            "<｜｜DSML｜｜function_calls>",
            "<|DSML|function_calls>",
            "<||DSML||function_calls>",
            "<｜DSML｜tool_calls>",
            "<｜GCML｜tool_calls>",
            "<｜GCML｜function_calls>",
            "<｜｜DSML｜｜tool_calls>",
            "<|DSML|tool_calls>",
            "<||DSML||tool_calls>",
        ],
        wrapper_ends: &[
            "</｜DSML｜function_calls>",
            "</｜｜DSML｜｜function_calls>",
            "</|DSML|function_calls>",
            "</||DSML||function_calls>",
            "</｜DSML｜tool_calls>",
            "</｜GCML｜tool_calls>",
            "</｜GCML｜function_calls>",
            "</｜｜DSML｜｜tool_calls>",
            "</|DSML|tool_calls>",
            "</||DSML||tool_calls>",
        ],
        before_call: &[],
        call: &[
            "<｜DSML｜invoke ",
            "<｜GCML｜invoke ",
            "<｜｜DSML｜｜invoke ",
            "<|DSML|invoke ",
            "<||DSML||invoke ",
        ],
        call_ends: &[
            "</｜DSML｜invoke>",
            "</｜GCML｜invoke>",
            "</｜｜DSML｜｜invoke>",
            "</|DSML|invoke>",
            "</||DSML||invoke>",
        ],
        argument: &[
            "<｜DSML｜parameter ",
            "<｜GCML｜parameter ",
            "<｜｜DSML｜｜parameter ",
            "<|DSML|parameter ",
            "<||DSML||parameter ",
        ],
        value: &[],
        argument_ends: &[
            "</｜DSML｜parameter>",
            "</｜GCML｜parameter>",
            "</｜｜DSML｜｜parameter>",
            "</|DSML|parameter>",
            "</||DSML||parameter>",
        ],
    },
};
