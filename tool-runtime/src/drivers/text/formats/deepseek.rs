//! `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>`, then `NAME<｜tool▁sep｜>OBJECT`: DeepSeek V3.1; V3 and R1 write
//! `function<｜tool▁sep｜>NAME` and the object in a fence. The markers are at times spelled with plain bars.
//!
//! Source: sgl-project/sglang#4379 and #9446, ollama `model/parsers/deepseek3_test.go`.

use super::super::Opener;
use super::super::grammar::Named;

pub(super) const DEEPSEEK: Named = Named {
    name: "deepseek",
    openers: &[
        Opener::Marker("<｜tool▁calls▁begin｜>"),
        Opener::Marker("<｜tool▁call▁begin｜>"),
        Opener::Marker("<|tool▁calls▁begin|>"),
        Opener::Marker("<|tool▁call▁begin|>"),
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
};
