//! Quoted reasoning and tool output: `<tool_response>` (Qwen), `<tool_result>`,
//! `<function_results>` (Claude), `<reasoning>`, `<scratchpad>`, `<analysis>`, `<reflection>`.
//!
//! The content of these tags is text without calls, because the output of one tool must not call
//! the next. Comments and tags of code and examples (`<!--`, `<code>`, `<pre>`, `<example>`) quote
//! calls. If the end tag is missing and the start tag begins a line, the content reaches to the
//! end of the text.
//!
//! Source: the chat templates of Qwen 2.5 and 3, Anthropic's guide to its first function calls.

use memchr::memmem;

use crate::drivers::text::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};

#[derive(Debug)]
pub(crate) struct Aside;

pub(crate) const ASIDE: Aside = Aside;

const COMMENT: &str = "<!--";
const COMMENT_END: &str = "-->";

const START_MARKERS: [StartMarker; 13] = [
    StartMarker::Anywhere(COMMENT),
    StartMarker::Anywhere("<code"),
    StartMarker::Anywhere("<pre"),
    StartMarker::Anywhere("<example"),
    StartMarker::Anywhere("<tool_response"),
    StartMarker::Anywhere("<tool_result"),
    StartMarker::Anywhere("<tool_output"),
    StartMarker::Anywhere("<function_response"),
    StartMarker::Anywhere("<function_result"),
    StartMarker::Anywhere("<reasoning"),
    StartMarker::Anywhere("<scratchpad"),
    StartMarker::Anywhere("<analysis"),
    StartMarker::Anywhere("<reflection"),
];

impl Format for Aside {
    fn name(&self) -> &str {
        "aside"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &START_MARKERS
    }

    fn parse(&self, input: Input<'_>, _: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let markers = START_MARKERS.iter().map(StartMarker::as_str);
        let marker =
            markers.filter(|marker| input.text.starts_with(marker)).max().ok_or(NoMatch::Text)?;
        if marker == COMMENT {
            return match_until(COMMENT_END, input);
        }
        let after = input.text.get(marker.len()..).unwrap_or_default();
        // The tag may be in the plural.
        let plural = if after.starts_with('s') { "s" } else { "" };
        match after.get(plural.len()..).and_then(|after| after.chars().next()) {
            Some('>' | ' ' | '\n') => {}
            None if !input.is_complete => return Err(NoMatch::Incomplete),
            _ => return Err(NoMatch::Text),
        }
        let end_marker = format!("</{}{plural}>", marker.trim_start_matches('<'));
        match_until(&end_marker, input)
    }
}

/// Returns the text up to and including its end marker.
fn match_until(end_marker: &str, input: Input<'_>) -> Result<Match, NoMatch> {
    match memmem::find(input.text.as_bytes(), end_marker.as_bytes()) {
        Some(at) => Ok(Match::Text { end: at + end_marker.len() }),
        None if !input.is_complete => Err(NoMatch::Incomplete),
        None if input.at_line_start => Ok(Match::Text { end: input.text.len() }),
        None => Err(NoMatch::Malformed),
    }
}
