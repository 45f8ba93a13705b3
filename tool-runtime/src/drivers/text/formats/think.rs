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
    /// Whether it may begin within a line. What is thought has to have its end then.
    pub(super) is_within: bool,
    pub(super) closers: &'static [&'static str],
}

pub(super) const THINK: Think = Think {
    name: "think",
    openers: &[
        Opener::Marker("<think>"),
        Opener::Marker("<thinking>"),
        Opener::Marker("<thought>"),
        Opener::Marker("<seed:think>"),
        Opener::Marker("<THINK>"),
        Opener::Marker("<Think>"),
        Opener::Marker("<THINKING>"),
        Opener::Marker("<Thinking>"),
        Opener::Marker("<|START_THINKING|>"),
    ],
    is_shown: false,
    is_within: true,
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
    openers: &[Opener::Marker("[THINK]")],
    is_shown: false,
    is_within: true,
    closers: &["[/THINK]"],
};

pub(super) const GEMMA: Think = Think {
    name: "gemma_think",
    openers: &[Opener::Line("<|channel>thought")],
    is_shown: false,
    is_within: false,
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
        if !rest.begins_line && !self.is_within {
            return Err(Miss::Text);
        }
        if !rest.begins_line && !self.is_shown {
            self.closed(rest.text.get(end..).unwrap_or_default(), rest.is_end)?;
        }
        Ok(Found::Channel { end, is_shown: self.is_shown, closers: self.closers, stops: &[] })
    }
}

impl Think {
    /// The same, at the beginning of a line only.
    pub(super) const fn on_line(self) -> Self {
        Self { is_within: false, ..self }
    }

    /// Its end has to be there too.
    fn closed(&self, inner: &str, is_end: bool) -> Result<(), Miss> {
        let Some(closer) = first_of(inner, self.closers.iter().copied()) else {
            return Err(if is_end { Miss::Text } else { Miss::More });
        };
        // A sentence may tell of both tags.
        let inner = inner.get(..closer.start).unwrap_or_default();
        if inner.contains(['\n', '<', '[', '{']) { Ok(()) } else { Err(Miss::Text) }
    }
}

/// A closing tag without an opening one.
#[derive(Debug)]
pub(super) struct End {
    openers: &'static [Opener],
}

pub(super) const END: End = End {
    openers: &[
        Opener::Marker("</think>"),
        Opener::Marker("</seed:think>"),
        Opener::Marker("[/THINK]"),
        Opener::Marker("<|close|>think<|sep|>"),
    ],
};

/// The same, at the beginning of a line only.
pub(super) const END_ON_LINE: End = End {
    openers: &[Opener::Line("</think>"), Opener::Line("</seed:think>"), Opener::Line("[/THINK]")],
};

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
        self.openers
    }

    fn read(&self, rest: Rest<'_>, _: &Offered<'_>) -> Result<Found, Miss> {
        let pair = PAIRS.iter().find(|(word, _)| rest.text.starts_with(word));
        let (word, opener) = *pair.ok_or(Miss::Text)?;
        Ok(Found::Thought { end: word.len(), opener })
    }
}
