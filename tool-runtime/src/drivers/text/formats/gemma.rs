//! `<|tool_call>call:NAME{KEY:VALUE,…}<tool_call|>`, with texts in `<|"|>`: Gemma 4; the same between
//! `<start_function_call>` and `<end_function_call>`, with texts in `<escape>`: FunctionGemma. Keys are bare, and
//! nothing is escaped in a text.
//!
//! Source: ollama `model/parsers/gemma4_test.go`, `functiongemma_test.go`, vllm `functiongemma_tool_parser.py`.

use serde_json::Value;

use super::super::grammar::{Cursor, closed};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use crate::message::ToolCall;

#[derive(Debug)]
pub(super) struct Gemma {
    name: &'static str,
    openers: &'static [Opener],
    end: &'static str,
    quote: &'static str,
}

pub(super) const GEMMA4: Gemma = Gemma {
    name: "gemma4",
    openers: &[Opener::Marker("<|tool_call>")],
    end: "<tool_call|>",
    quote: "<|\"|>",
};

pub(super) const FUNCTION_GEMMA: Gemma = Gemma {
    name: "function_gemma",
    openers: &[Opener::Marker("<start_function_call>")],
    end: "<end_function_call>",
    quote: "<escape>",
};

impl Format for Gemma {
    fn name(&self) -> &str {
        self.name
    }

    fn openers(&self) -> &[Opener] {
        self.openers
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        let opener = self.openers.first().map_or("", Opener::word);
        cursor.take(&[opener])?;
        cursor.skip_blanks();
        cursor.take(&["call:"])?;
        let mut calls = vec![self.call(&mut cursor, offered)?];
        loop {
            let end = cursor.at;
            cursor.skip_blanks();
            if !cursor.is_done()? && cursor.take(&["call:"])? {
                match self.call(&mut cursor, offered) {
                    Ok(call) => {
                        calls.push(call);
                        continue;
                    }
                    Err(Miss::More) if !cursor.is_end => return Err(Miss::More),
                    // What comes before it stands.
                    Err(_) => cursor.at = end,
                }
            } else if cursor.is_done()? || !cursor.take(&[self.end])? {
                cursor.at = end;
            }
            return Ok(Found::Calls { calls, end: cursor.at });
        }
    }
}

impl Gemma {
    /// `NAME{KEY:VALUE,…}`
    fn call(&self, cursor: &mut Cursor<'_>, offered: &Offered<'_>) -> Result<ToolCall, Miss> {
        let tool = offered.find(cursor.name()?).ok_or(Miss::Text)?;
        cursor.skip_blanks();
        let arguments = match cursor.is_done()? {
            true => "{".to_owned(),
            false => self.object(cursor)?,
        };
        offered.call(&tool.name, arguments).ok_or(Miss::Broken)
    }

    /// The object that is next, with its texts in quotes.
    fn object(&self, cursor: &mut Cursor<'_>) -> Result<String, Miss> {
        let rest = cursor.rest();
        if !rest.starts_with('{') {
            return Err(Miss::Text);
        }
        let (mut json, mut depth, mut at) = (String::new(), 0_usize, 0);
        while let Some(c) = rest.get(at..).and_then(|rest| rest.chars().next()) {
            let here = rest.get(at..).unwrap_or_default();
            if let Some(text) = here.strip_prefix(self.quote) {
                let Some(end) = text.find(self.quote) else {
                    // Cut within a text.
                    let open = Value::from(text).to_string();
                    json.push_str(open.strip_suffix('"').unwrap_or(&open));
                    at = rest.len();
                    break;
                };
                json.push_str(&Value::from(text.get(..end).unwrap_or_default()).to_string());
                at += end + 2 * self.quote.len();
                continue;
            }
            // Quotes of another kind than it was taught.
            if c == '"' && json.trim_end().ends_with([':', ',', '[', '{']) {
                match closed(here, 0, cursor.is_end) {
                    None if !cursor.is_end => return Err(Miss::More),
                    None => {
                        json.push_str(here);
                        at = rest.len();
                        break;
                    }
                    Some(end) => {
                        json.push_str(here.get(..end).unwrap_or_default());
                        at += end;
                        continue;
                    }
                }
            }
            if !cursor.is_end && c == '<' && self.quote.starts_with(here) {
                return Err(Miss::More);
            }
            if here.starts_with(self.end) {
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
        if depth > 0 && !cursor.is_end {
            return Err(Miss::More);
        }
        cursor.skip(at);
        Ok(json)
    }
}
