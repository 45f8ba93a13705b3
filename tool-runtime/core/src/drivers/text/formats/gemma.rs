//! The formats of Gemma 4 and FunctionGemma: `<|tool_call>call:NAME{KEY:VALUE,…}<tool_call|>` with
//! strings in `<|"|>`, and `<start_function_call>call:NAME{KEY:VALUE,…}<end_function_call>` with
//! strings in `<escape>`.
//!
//! Keys are bare. Strings have no escapes. Models also write `call:NAME(KEY=VALUE)`, a stray colon
//! next to the name, and, where a server removed the special tokens, `call:NAME{…}` alone, which
//! counts at the end of the text.
//!
//! Models: Gemma 4; FunctionGemma 270M.
//!
//! Source: ollama `model/parsers/gemma4_test.go`, `functiongemma_test.go`, vllm
//! `functiongemma_tool_parser.py`.

use serde_json::Value;

use super::super::grammar::{Cursor, parse_python_arguments, value_end};
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use crate::message::ToolCall;

#[derive(Debug)]
pub(crate) struct Gemma {
    name: &'static str,
    start_markers: &'static [StartMarker],
    end: &'static str,
    quote: &'static str,
    only_at_end: bool,
}

pub(crate) const GEMMA4: Gemma = Gemma {
    name: "gemma4",
    start_markers: &[StartMarker::Anywhere("<|tool_call>")],
    end: "<tool_call|>",
    quote: "<|\"|>",
    only_at_end: false,
};

/// Gemma 4 without its special tokens.
pub(crate) const GEMMA_BARE: Gemma = Gemma {
    name: "gemma_bare",
    start_markers: &[StartMarker::LineStart("call:")],
    only_at_end: true,
    ..GEMMA4
};

pub(crate) const FUNCTION_GEMMA: Gemma = Gemma {
    name: "function_gemma",
    start_markers: &[StartMarker::Anywhere("<start_function_call>")],
    end: "<end_function_call>",
    quote: "<escape>",
    only_at_end: false,
};

impl Format for Gemma {
    fn name(&self) -> &str {
        self.name
    }

    fn start_markers(&self) -> &[StartMarker] {
        self.start_markers
    }

    fn end_markers(&self) -> &[&str] {
        std::slice::from_ref(&self.end)
    }

    fn only_at_end(&self) -> bool {
        self.only_at_end
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        let start_marker = self.start_markers.first().map_or("", StartMarker::as_str);
        cursor.take(&[start_marker])?;
        cursor.skip_blanks();
        if !self.only_at_end {
            cursor.take(&["call:"])?;
        }
        let mut calls = vec![self.call(&mut cursor, tools)?];
        loop {
            let end = cursor.at;
            cursor.skip_blanks();
            // Calls without tokens are parsed one by one, so that a stream parses each once.
            if !self.only_at_end && !cursor.is_done()? && cursor.take(&["call:"])? {
                match self.call(&mut cursor, tools) {
                    Ok(call) => {
                        calls.push(call);
                        continue;
                    }
                    Err(NoMatch::Incomplete) if !cursor.is_complete => {
                        return Err(NoMatch::Incomplete);
                    }
                    // The calls before it are kept.
                    Err(_) => cursor.at = end,
                }
            } else if cursor.is_done()? || !cursor.take(&[self.end])? {
                cursor.at = end;
            }
            return Ok(Match::Calls { calls, end: cursor.at });
        }
    }
}

impl Gemma {
    /// Parses `NAME{KEY:VALUE,…}`.
    fn call(&self, cursor: &mut Cursor<'_>, tools: &ToolLookup<'_>) -> Result<ToolCall, NoMatch> {
        cursor.take_all(&[":"])?;
        let name = cursor.name()?.trim_end_matches(':');
        let tool = tools.callee(name).filter(|tool| tool.is_offered || !self.only_at_end);
        let tool = tool.ok_or(NoMatch::Text)?;
        cursor.skip_blanks();
        if !cursor.is_done()? && cursor.take(&["("])? {
            let arguments = parse_python_arguments(cursor, &tool)?;
            return tool.call(arguments).ok_or(NoMatch::Malformed);
        }
        let arguments = if cursor.is_done()? { "{".to_owned() } else { self.object(cursor)? };
        tool.call(arguments).ok_or(NoMatch::Malformed)
    }

    /// Parses the next object, with its strings in delimiters.
    fn object(&self, cursor: &mut Cursor<'_>) -> Result<String, NoMatch> {
        let rest = cursor.rest();
        if !rest.starts_with('{') {
            return Err(NoMatch::Text);
        }
        let (mut json, mut depth, mut at) = (String::new(), 0_usize, 0);
        while let Some(c) = rest.get(at..).and_then(|rest| rest.chars().next()) {
            let remaining = rest.get(at..).unwrap_or_default();
            if let Some(text) = remaining.strip_prefix(self.quote) {
                let Some(end) = text.find(self.quote) else {
                    // Truncated inside a string.
                    let open = Value::from(text).to_string();
                    json.push_str(open.strip_suffix('"').unwrap_or(&open));
                    at = rest.len();
                    break;
                };
                json.push_str(&Value::from(text.get(..end).unwrap_or_default()).to_string());
                at += end + 2 * self.quote.len();
                continue;
            }
            // Plain quotes instead of the delimiter.
            if c == '"' && json.trim_end().ends_with([':', ',', '[', '{']) {
                match value_end(remaining, 0, cursor.is_complete) {
                    None if !cursor.is_complete => return Err(NoMatch::Incomplete),
                    None => {
                        json.push_str(remaining);
                        at = rest.len();
                        break;
                    }
                    Some(end) => {
                        json.push_str(remaining.get(..end).unwrap_or_default());
                        at += end;
                        continue;
                    }
                }
            }
            if !cursor.is_complete && c == '<' && self.quote.starts_with(remaining) {
                return Err(NoMatch::Incomplete);
            }
            if remaining.starts_with(self.end) {
                break;
            }
            at += c.len_utf8();
            json.push(c);
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        if depth > 0 && !cursor.is_complete {
            return Err(NoMatch::Incomplete);
        }
        cursor.skip(at);
        Ok(json)
    }
}
