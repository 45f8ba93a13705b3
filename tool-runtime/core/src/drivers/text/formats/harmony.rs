//! The Harmony format: `<|start|>assistant<|channel|>CHANNEL to=functions.NAME
//! <|constrain|>json<|message|>OBJECT<|call|>`.
//!
//! The recipient precedes or follows the channel. A message with a recipient is a call, on every
//! channel. Without a recipient, `analysis` is reasoning, and `commentary` and `final` are visible
//! text.
//!
//! Some servers remove the special tokens: `analysisWORDSassistantcommentary to=functions.NAME
//! json{…}` and `assistantfinalWORDS` remain.
//!
//! Models: gpt-oss 20B and 120B.
//!
//! Source: ollama `harmony/harmonyparser_test.go`, ggml-org/llama.cpp#15181, sglang
//! `gpt_oss_detector.py`.

use super::super::grammar::{Cursor, find_first, text_before, text_before_any, value_end};
use super::super::leftover::add_leftover;
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};

/// The longest header, in bytes.
const MAX_LEN: usize = 256;
const MESSAGE: &str = "<|message|>";
const ENDS: &[&str] = &["<|end|>", "<|call|>", "<|return|>"];
const BEGINS: &[&str] = &["<|start|>", "<|channel|>"];

/// The words of a header beside the recipient.
const HEADER_WORDS: [&str; 13] = [
    "start",
    "channel",
    "constrain",
    "message",
    "assistant",
    "analysis",
    "commentary",
    "final",
    "assistantanalysis",
    "assistantcommentary",
    "json",
    "code",
    "end",
];

/// The words that begin the parts of a reply once its special tokens are removed.
const ANALYSIS: &str = "analysis";
const PLAIN_FINAL: &str = "assistantfinal";
const PLAIN_COMMENTARY: &str = "assistantcommentary to=functions.";

#[derive(Debug)]
pub(crate) struct Harmony;

impl Format for Harmony {
    fn name(&self) -> &str {
        "harmony"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[
            StartMarker::Anywhere("<|start|>assistant"),
            StartMarker::Anywhere("<|channel|>"),
            StartMarker::LineStart("assistant<|channel|>"),
            StartMarker::LineStart("to=functions."),
            StartMarker::LineStart("commentary to=functions."),
            StartMarker::LineStart("analysis to=functions."),
            StartMarker::LineStart("assistantcommentary to=functions."),
            StartMarker::LineStart("assistantanalysis to=functions."),
            StartMarker::LineStart(ANALYSIS),
        ]
    }

    fn end_markers(&self) -> &[&str] {
        ENDS
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        if is_plain_analysis(input)? {
            return Ok(Match::Channel {
                end: ANALYSIS.len(),
                is_visible: false,
                end_markers: &[PLAIN_FINAL],
                next_markers: &[PLAIN_COMMENTARY],
            });
        }
        if let Some(length) = plain_header_len(input)? {
            return call(input, tools, length, length);
        }
        let Some(header) = text_before(input.text, MESSAGE, MAX_LEN) else {
            let may_come = !input.is_complete && input.text.len() < MAX_LEN + MESSAGE.len();
            return Err(if may_come { NoMatch::Incomplete } else { NoMatch::Text });
        };
        if header.contains('\n') {
            return Err(NoMatch::Text);
        }
        let end = header.len() + MESSAGE.len();
        if header.contains("to=") {
            return call(input, tools, header.len(), end);
        }
        let is_visible = !header.contains("analysis");
        Ok(Match::Channel { end, is_visible, end_markers: ENDS, next_markers: BEGINS })
    }
}

/// Parses the call whose header names a recipient and whose message begins at `start`.
fn call(
    input: Input<'_>,
    tools: &ToolLookup<'_>,
    header_len: usize,
    start: usize,
) -> Result<Match, NoMatch> {
    let header = input.text.get(..header_len).unwrap_or_default();
    let (_, to) = header.split_once("to=").ok_or(NoMatch::Text)?;
    let name = to.split([' ', '<', '{']).next().unwrap_or_default();
    let tool = tools.callee(name).ok_or(NoMatch::Text)?;
    let mut cursor = Cursor { at: start, ..Cursor::new(input) };
    cursor.skip_blanks();
    let body = cursor.rest();
    let closed = value_end(body, 0, input.is_complete);
    let length = match closed.filter(|_| body.starts_with(['{', '['])) {
        Some(length) => length,
        None if input.is_complete => text_before_any(body, ENDS).len(),
        None => return Err(NoMatch::Incomplete),
    };
    let arguments = match body.get(..length).unwrap_or_default() {
        "" if length == body.len() => "{",
        "" => "{}",
        arguments => arguments,
    };
    cursor.skip(length);
    let mut call = tool.call(arguments.to_owned()).ok_or(NoMatch::Malformed)?;
    add_leftover(&mut call, &other_words(header));
    let before = arguments.find(['{', '[']).and_then(|at| arguments.get(..at));
    add_leftover(&mut call, before.unwrap_or_default());
    let end = cursor.at;
    cursor.skip_blanks();
    // Without special tokens, the answer may follow.
    if cursor.is_done()? || !cursor.take(ENDS)? && !cursor.take(&[PLAIN_FINAL])? {
        cursor.at = end;
    }
    Ok(Match::Calls { calls: vec![call], end: cursor.at })
}

/// Returns the words of a header that are neither a role, a channel, the recipient nor a format.
fn other_words(header: &str) -> String {
    let words = header.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '|'));
    let is_known =
        |word: &&str| word.is_empty() || word.contains("to=") || HEADER_WORDS.contains(word);
    words.filter(|word| !is_known(word)).collect::<Vec<_>>().join(" ")
}

/// Returns the length of a header that lacks its last special token, up to the object after it.
fn plain_header_len(input: Input<'_>) -> Result<Option<usize>, NoMatch> {
    let window = input.text.char_indices().take_while(|(at, _)| *at < MAX_LEN);
    let mut is_after_break = false;
    let mut ends_header = |c: char| {
        let ends = c == '{' || is_after_break && !c.is_whitespace();
        is_after_break |= c == '\n';
        ends
    };
    let Some((at, _)) = window.clone().find(|(_, c)| ends_header(*c)) else {
        let may_come = !input.is_complete && input.text.len() < MAX_LEN;
        return if may_come { Err(NoMatch::Incomplete) } else { Ok(None) };
    };
    let header = input.text.get(..at).unwrap_or_default();
    let is_header =
        input.text.get(at..).is_some_and(|rest| rest.starts_with('{')) && !header.contains(MESSAGE);
    let words = header
        .split_once("to=functions.")
        .map(|(_, to)| to.split(['<', '>', '|', ' ', '\n', '\r']));
    let are_words = words.is_some_and(|mut words| {
        let is_name = words.next().is_some_and(|name| !name.is_empty());
        is_name && words.all(|word| ["", "json", "code", "constrain"].contains(&word))
    });
    Ok((is_header && are_words).then_some(at))
}

/// Returns true if the text is reasoning without special tokens, with a part after it.
fn is_plain_analysis(input: Input<'_>) -> Result<bool, NoMatch> {
    let Some(rest) = input.text.strip_prefix(ANALYSIS) else { return Ok(false) };
    match rest.chars().next() {
        None if !input.is_complete => return Err(NoMatch::Incomplete),
        Some(c) if c.is_uppercase() => {}
        _ => return Ok(false),
    }
    match find_first(rest, [PLAIN_FINAL, PLAIN_COMMENTARY].into_iter()) {
        None if !input.is_complete => Err(NoMatch::Incomplete),
        found => Ok(found.is_some()),
    }
}
