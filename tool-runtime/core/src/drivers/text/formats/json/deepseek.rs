//! The format of DeepSeek V3:
//!
//! ```text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>OBJECT
//! <｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ```
//!
//! DeepSeek V3.1 writes this form. V3 and R1 write `function<｜tool▁sep｜>NAME` and the object in a
//! fence. The bars are U+FF5C; some servers write plain bars instead.
//!
//! Models: DeepSeek V3, V3.1, R1, R1-0528 and its Qwen3 distillate.
//!
//! Source: sgl-project/sglang#4379 and #9446, ollama `model/parsers/deepseek3_test.go`.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{NamedFormat, Section};

pub(crate) const DEEPSEEK: NamedFormat = NamedFormat {
    name: "deepseek",
    start_markers: &[
        StartMarker::Anywhere("<｜tool▁calls▁begin｜>"),
        StartMarker::Anywhere("<｜tool▁call▁begin｜>"),
        StartMarker::Anywhere("<|tool▁calls▁begin|>"),
        StartMarker::Anywhere("<|tool▁call▁begin|>"),
    ],
    begins: &[
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<|tool▁calls▁begin|>",
        "<|tool▁call▁begin|>",
        "function<｜tool▁sep｜>",
        "function<|tool▁sep|>",
    ],
    between: &["<｜tool▁sep｜>", "<|tool▁sep|>", ""],
    ends: &[
        "<｜tool▁call▁end｜>",
        "<｜tool▁calls▁end｜>",
        "<|tool▁call▁end|>",
        "<|tool▁calls▁end|>",
    ],
    section: Some(Section {
        begins: &["<｜tool▁calls▁begin｜>", "<|tool▁calls▁begin|>"],
        ends: &["<｜tool▁calls▁end｜>", "<|tool▁calls▁end|>"],
    }),
};
