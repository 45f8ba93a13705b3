//! What is told of what was thought or what tools said, in tags of the model's own: `<tool_response>` (Qwen),
//! `<tool_result>`, `<function_results>` (Claude), `<reasoning>`, `<scratchpad>`, `<analysis>`, `<reflection>`. All of it
//! is text, and calls in it are none: what a tool said must not call the next one. Without an end tag it
//! is that to the end of the text where it begins a line.
//!
//! Source: the chat templates of Qwen 2.5 and 3, Anthropic's guide to its first function calls.

use memchr::memmem;

use super::super::{Format, Found, Miss, Offered, Opener, Rest};

#[derive(Debug)]
pub(super) struct Aside;

pub(super) const ASIDE: Aside = Aside;

const OPENERS: [Opener; 9] = [
    Opener::Marker("<tool_response"),
    Opener::Marker("<tool_result"),
    Opener::Marker("<tool_output"),
    Opener::Marker("<function_response"),
    Opener::Marker("<function_result"),
    Opener::Marker("<reasoning"),
    Opener::Marker("<scratchpad"),
    Opener::Marker("<analysis"),
    Opener::Marker("<reflection"),
];

impl Format for Aside {
    fn name(&self) -> &str {
        "aside"
    }

    fn openers(&self) -> &[Opener] {
        &OPENERS
    }

    fn read(&self, rest: Rest<'_>, _: &Offered<'_>) -> Result<Found, Miss> {
        let words = OPENERS.iter().map(Opener::word);
        let opener = words.filter(|word| rest.text.starts_with(word)).max().ok_or(Miss::Text)?;
        let behind = rest.text.get(opener.len()..).unwrap_or_default();
        // There may be more than one of it.
        let many = if behind.starts_with('s') { "s" } else { "" };
        match behind.get(many.len()..).and_then(|behind| behind.chars().next()) {
            Some('>' | ' ' | '\n') => {}
            None if !rest.is_end => return Err(Miss::More),
            _ => return Err(Miss::Text),
        }
        let closer = format!("</{}{many}>", opener.trim_start_matches('<'));
        match memmem::find(rest.text.as_bytes(), closer.as_bytes()) {
            Some(at) => Ok(Found::Text { end: at + closer.len() }),
            None if !rest.is_end => Err(Miss::More),
            None if rest.begins_line => Ok(Found::Text { end: rest.text.len() }),
            None => Err(Miss::Text),
        }
    }
}
