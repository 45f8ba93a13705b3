//! Finds markup of calls that no format could parse, so that it does not become the answer of a
//! run.

use super::fence::Fence;
use super::grammar::END_TOKENS;
use super::lead_in::LeadIn;
use super::marker_index::MarkerCandidate;
use super::quote_tracker::{Quotation, QuoteTracker};
use super::{Formats, StartMarker};

/// Formats whose markers begin no call.
const OTHER_FORMATS: [&str; 7] =
    ["think", "mistral_think", "gemma_think", "think_end", "aside", "stop", "command_response"];
/// The longest word after a marker, in bytes.
const MAX_WORD_LEN: usize = 512;

/// Returns true if the visible text of a reply without calls ends with the markup of a call: a line
/// that is not quoted begins with a marker, and the text with a bracket or a tag ends after it.
pub(super) fn ends_with_unreadable_call(formats: &Formats, text: &str) -> bool {
    let mut text = text.trim_end();
    while let Some(rest) = END_TOKENS.iter().find_map(|token| text.strip_suffix(token)) {
        text = rest.trim_end();
    }
    if !text.ends_with(['>', '}', ']', ')', '|', '`']) {
        return false;
    }
    let (mut quotes, mut fence) = (QuoteTracker::default(), None);
    let (mut at, mut from) = (0, 0);
    while let Some(candidate) = formats.markers.next_candidate(text, at, is_line_start(text, at)) {
        at = candidate.at;
        fence = Fence::open_after(fence, text.get(from..at).unwrap_or_default());
        from = at;
        let is_call = fence.is_none()
            && candidate.at_line_start
            && is_marker(formats, text, at)
            && quotes.quotation(text, candidate, true) == Ok(Quotation::None)
            && matches!(lead_in(text, at), LeadIn::Call | LeadIn::Doubtful);
        if is_call {
            return true;
        }
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
    false
}

fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n')
}

fn lead_in(text: &str, at: usize) -> LeadIn {
    LeadIn::of(text.get(..at).unwrap_or_default(), false)
}

/// Returns true if the marker of a call is at `at`, and a tag, a bracket or a name with a bracket
/// follows it, or nothing.
fn is_marker(formats: &Formats, text: &str, at: usize) -> bool {
    let candidate = MarkerCandidate { at, at_line_start: false };
    let rest = text.get(at..).unwrap_or_default();
    formats.markers.formats_at(text, candidate).any(|index| {
        let Some(format) = formats.get(index) else { return false };
        let markers = format.start_markers().iter().map(StartMarker::as_str);
        let longest = markers.filter(|marker| rest.starts_with(marker)).map(str::len).max();
        let after = longest.and_then(|longest| rest.get(longest..)).unwrap_or_default();
        !OTHER_FORMATS.contains(&format.name()) && !format.only_at_end() && is_body(after)
    })
}

fn is_body(after: &str) -> bool {
    let after = after.trim_start();
    let mut word = after.char_indices().take_while(|(at, _)| *at < MAX_WORD_LEN);
    let end = word.find(|(_, c)| c.is_whitespace() || "<{[(".contains(*c));
    after.is_empty() || after.contains(" to=") || end.is_some_and(|(_, c)| !" \t".contains(c))
}
