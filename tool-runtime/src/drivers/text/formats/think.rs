//! What a model thinks: `<think>` … `</think>` (Qwen 3, DeepSeek R1, GLM, MiniMax, Kimi), of which the first
//! may be in the prompt; `<seed:think>` (Seed-OSS); `[THINK]` … `[/THINK]` (Magistral); `<|channel>thought` … `<channel|>` (Gemma 4).
//!
//! Source: PrimeIntellect-ai/renderers#80, vllm `seed_oss_tool_parser.py`, unslothai/unsloth#5704, ollama `model/parsers/gemma4_test.go`.

use super::super::grammar::first_of;
use super::super::{Format, Found, Miss, Offered, Opener, Rest};

/// Openers, and what ends what they begin.
#[derive(Debug)]
pub(super) struct Think {
    pub(super) name: &'static str,
    pub(super) openers: &'static [Opener],
    /// Whether it is for people to read.
    pub(super) is_shown: bool,
    pub(super) closers: &'static [&'static str],
}

pub(super) const THINK: Think = Think {
    name: "think",
    openers: &[
        Opener::Line("<think>"),
        Opener::Line("<thinking>"),
        Opener::Line("<thought>"),
        Opener::Line("<seed:think>"),
        Opener::Line("<THINK>"),
        Opener::Line("<Think>"),
        Opener::Line("<THINKING>"),
        Opener::Line("<Thinking>"),
        Opener::Line("<|START_THINKING|>"),
    ],
    is_shown: false,
    closers: &[
        "</think>",
        "</thinking>",
        "</thought>",
        "</seed:think>",
        "</THINK>",
        "</Think>",
        "</THINKING>",
        "</Thinking>",
        "<|END_THINKING|>",
    ],
};

pub(super) const MISTRAL: Think = Think {
    name: "mistral_think",
    openers: &[Opener::Line("[THINK]")],
    is_shown: false,
    closers: &["[/THINK]"],
};

pub(super) const GEMMA: Think = Think {
    name: "gemma_think",
    openers: &[Opener::Line("<|channel>thought")],
    is_shown: false,
    closers: &["<channel|>"],
};

impl Format for Think {
    fn name(&self) -> &str {
        self.name
    }

    fn openers(&self) -> &[Opener] {
        self.openers
    }

    fn read(&self, rest: Rest<'_>, _: &Offered<'_>) -> Result<Found, Miss> {
        let words = self.openers.iter().map(Opener::word);
        let opener = words.filter(|word| rest.text.starts_with(word)).map(str::len).max();
        let end = opener.ok_or(Miss::Text)?;
        Ok(Found::Channel { end, is_shown: self.is_shown, closers: self.closers, stops: &[] })
    }
}

/// The same within a line, where its end is there too.
#[derive(Debug)]
pub(super) struct Within;

impl Format for Within {
    fn name(&self) -> &str {
        "think_within"
    }

    fn openers(&self) -> &[Opener] {
        &[
            Opener::Marker("<think>"),
            Opener::Marker("<thinking>"),
            Opener::Marker("<thought>"),
            Opener::Marker("<seed:think>"),
            Opener::Marker("<THINK>"),
            Opener::Marker("<Think>"),
            Opener::Marker("<THINKING>"),
            Opener::Marker("<Thinking>"),
            Opener::Marker("<|START_THINKING|>"),
            Opener::Marker("[THINK]"),
        ]
    }

    fn read(&self, rest: Rest<'_>, _: &Offered<'_>) -> Result<Found, Miss> {
        let format = if rest.text.starts_with('[') { &MISTRAL } else { &THINK };
        let words = self.openers().iter().map(Opener::word);
        let opener = words.filter(|word| rest.text.starts_with(word)).map(str::len).max();
        let end = opener.ok_or(Miss::Text)?;
        let inner = rest.text.get(end..).unwrap_or_default();
        let closer = first_of(inner, format.closers.iter().copied());
        let Some(closer) = closer else {
            return Err(if rest.is_end { Miss::Text } else { Miss::More });
        };
        // A sentence may tell of both tags.
        let inner = inner.get(..closer.start).unwrap_or_default();
        if !inner.contains(['\n', '<', '[', '{']) {
            return Err(Miss::Text);
        }
        Ok(Found::Channel { end, is_shown: false, closers: format.closers, stops: &[] })
    }
}

/// A closing tag without an opening one.
#[derive(Debug)]
pub(super) struct End;

pub(super) const END: End = End;

/// Each with what should have begun it.
const PAIRS: [(&str, &str); 4] = [
    ("</think>", "<think>"),
    ("</seed:think>", "<seed:think>"),
    ("[/THINK]", "[THINK]"),
    ("<|close|>think<|sep|>", "<|open|>think<|sep|>"),
];

impl Format for End {
    fn name(&self) -> &str {
        "think_end"
    }

    fn openers(&self) -> &[Opener] {
        &[
            Opener::Marker("</think>"),
            Opener::Marker("</seed:think>"),
            Opener::Marker("[/THINK]"),
            Opener::Marker("<|close|>think<|sep|>"),
        ]
    }

    fn read(&self, rest: Rest<'_>, _: &Offered<'_>) -> Result<Found, Miss> {
        let pair = PAIRS.iter().find(|(word, _)| rest.text.starts_with(word));
        let (word, opener) = *pair.ok_or(Miss::Text)?;
        Ok(Found::Thought { end: word.len(), opener })
    }
}
