//! `<｜DSML｜invoke name="NAME">` with `<｜DSML｜parameter name="KEY" string="true|false">VALUE</｜DSML｜parameter>`
//! in `<｜DSML｜function_calls>` (DeepSeek V3.2) or `<｜DSML｜tool_calls>` (V4 and later). The model says itself
//! what is text. GigaChat 3.5 writes the same with `GCML`. An `invoke` without what should be around it may be narration, and is none.
//!
//! Source: vllm `deepseekv32_tool_parser.py`, `gigachat35_tool_parser.py`, smg-project/smg#1030, ml-explore/mlx-lm#1337.

use super::super::Opener;
use super::super::grammar::{Nesting, Style, Tagged};

pub(super) const DSML: Tagged = Tagged {
    name: "dsml",
    openers: &[
        Opener::Marker("<｜DSML｜function_calls>"),
        Opener::Marker("<｜DSML｜tool_calls>"),
        Opener::Marker("<｜GCML｜tool_calls>"),
    ],
    style: Style::Attribute,
    tags: Nesting {
        around: &["<｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "<｜GCML｜tool_calls>"],
        around_ends: &[
            "</｜DSML｜function_calls>",
            "</｜DSML｜tool_calls>",
            "</｜GCML｜tool_calls>",
        ],
        call: &["<｜DSML｜invoke ", "<｜GCML｜invoke "],
        call_ends: &["</｜DSML｜invoke>", "</｜GCML｜invoke>"],
        argument: &["<｜DSML｜parameter ", "<｜GCML｜parameter "],
        argument_ends: &["</｜DSML｜parameter>", "</｜GCML｜parameter>"],
    },
};
