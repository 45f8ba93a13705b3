//! Reasoning: `<think>` … `</think>`, `<seed:think>` … `</seed:think>`, `[THINK]` … `[/THINK]`,
//! `<|channel>thought` … `<channel|>`.
//!
//! The opening tag may be in the prompt, so that only the closing one is in the text.
//!
//! Models: `<think>` of Qwen 3, DeepSeek R1, GLM, MiniMax and Kimi; `<seed:think>` of Seed-OSS;
//! `[THINK]` of Magistral; `<|channel>thought` of Gemma 4.
//!
//! Source: PrimeIntellect-ai/renderers#80, vllm `seed_oss_tool_parser.py`, unslothai/unsloth#5704,
//! ollama `model/parsers/gemma4_test.go`.

use crate::drivers::text::grammar::find_first;
use crate::drivers::text::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};

/// A format of channels: start markers and the markers that close the channel.
#[derive(Debug)]
pub(crate) struct ChannelFormat {
    pub(crate) name: &'static str,
    pub(crate) start_markers: &'static [StartMarker],
    /// True for visible text, false for reasoning.
    pub(crate) is_visible: bool,
    pub(crate) in_line: InLine,
    pub(crate) end_markers: &'static [&'static str],
}

/// Whether a channel may begin inside a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InLine {
    Never,
    /// With a closing marker, and not in a sentence that only mentions both.
    Closed,
    Always,
}

pub(crate) const THINK: ChannelFormat = ChannelFormat {
    name: "think",
    start_markers: &[
        StartMarker::Anywhere("<think>"),
        StartMarker::Anywhere("<thinking>"),
        StartMarker::Anywhere("<thought>"),
        StartMarker::Anywhere("<seed:think>"),
        StartMarker::Anywhere("<THINK>"),
        StartMarker::Anywhere("<Think>"),
        StartMarker::Anywhere("<THINKING>"),
        StartMarker::Anywhere("<Thinking>"),
        StartMarker::Anywhere("<|START_THINKING|>"),
    ],
    is_visible: false,
    in_line: InLine::Closed,
    end_markers: &[
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

pub(crate) const MISTRAL: ChannelFormat = ChannelFormat {
    name: "mistral_think",
    start_markers: &[StartMarker::Anywhere("[THINK]")],
    is_visible: false,
    in_line: InLine::Closed,
    end_markers: &["[/THINK]"],
};

pub(crate) const GEMMA: ChannelFormat = ChannelFormat {
    name: "gemma_think",
    start_markers: &[StartMarker::LineStart("<|channel>thought")],
    is_visible: false,
    in_line: InLine::Never,
    end_markers: &["<channel|>"],
};

impl Format for ChannelFormat {
    fn name(&self) -> &str {
        self.name
    }

    fn start_markers(&self) -> &[StartMarker] {
        self.start_markers
    }

    fn parse(&self, input: Input<'_>, _: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let words = self.start_markers.iter().map(StartMarker::as_str);
        let start_marker = words.filter(|word| input.text.starts_with(word)).map(str::len).max();
        let end = start_marker.ok_or(NoMatch::Text)?;
        match self.in_line {
            _ if input.at_line_start => {}
            InLine::Never => return Err(NoMatch::Text),
            InLine::Closed => self.find_end_marker(input, end)?,
            InLine::Always => {}
        }
        Ok(Match::Channel {
            end,
            is_visible: self.is_visible,
            end_markers: self.end_markers,
            next_markers: &[],
        })
    }
}

impl ChannelFormat {
    /// Restricts the format to the start of a line.
    pub(crate) const fn at_line_start_only(self) -> Self {
        Self { in_line: InLine::Never, ..self }
    }

    /// Checks that a closing marker follows the start marker, which ends at `start`.
    fn find_end_marker(&self, input: Input<'_>, start: usize) -> Result<(), NoMatch> {
        let inner = input.text.get(start..).unwrap_or_default();
        let Some(end_marker) = find_first(inner, self.end_markers.iter().copied()) else {
            return Err(if input.is_complete { NoMatch::Text } else { NoMatch::Incomplete });
        };
        // A sentence may mention both tags.
        let inner = inner.get(..end_marker.start).unwrap_or_default();
        if inner.contains(['\n', '<', '[', '{']) { Ok(()) } else { Err(NoMatch::Text) }
    }
}

/// A closing marker of reasoning without a start marker.
#[derive(Debug)]
pub(crate) struct ReasoningEndFormat {
    start_markers: &'static [StartMarker],
}

pub(crate) const END: ReasoningEndFormat = ReasoningEndFormat {
    start_markers: &[
        StartMarker::Anywhere("</think>"),
        StartMarker::Anywhere("</seed:think>"),
        StartMarker::Anywhere("[/THINK]"),
        StartMarker::Anywhere("<|close|>think<|sep|>"),
    ],
};

/// The closing markers at the start of a line.
pub(crate) const END_AT_LINE_START: ReasoningEndFormat = ReasoningEndFormat {
    start_markers: &[
        StartMarker::LineStart("</think>"),
        StartMarker::LineStart("</seed:think>"),
        StartMarker::LineStart("[/THINK]"),
    ],
};

/// Each closing marker with its start marker.
const PAIRS: [(&str, &str); 4] = [
    ("</think>", "<think>"),
    ("</seed:think>", "<seed:think>"),
    ("[/THINK]", "[THINK]"),
    ("<|close|>think<|sep|>", "<|open|>think<|sep|>"),
];

impl Format for ReasoningEndFormat {
    fn name(&self) -> &str {
        "think_end"
    }

    fn start_markers(&self) -> &[StartMarker] {
        self.start_markers
    }

    fn parse(&self, input: Input<'_>, _: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let pair = PAIRS.iter().find(|(word, _)| input.text.starts_with(word));
        let (word, start_marker) = *pair.ok_or(NoMatch::Text)?;
        Ok(Match::ReasoningEnd { end: word.len(), start_marker })
    }
}
