//! Finds markup of calls that no format could parse, so that it does not become the answer of a
//! run.

use crate::drivers::text::formats::react;
use crate::drivers::text::grammar::{END_TOKENS, beginning};
use crate::drivers::text::quotation::fence::Fence;
use crate::drivers::text::quotation::lead_in::LeadIn;
use crate::drivers::text::quotation::quote_tracker::{Quotation, QuoteTracker};
use crate::drivers::text::quotation::remark::doubts_call_before;
use crate::drivers::text::quotation::unknown_markup::{begins_unknown_call, element_end};
use crate::drivers::text::search::marker_index::MarkerCandidate;
use crate::drivers::text::{Formats, StartMarker, ToolLookup};
use crate::json::{self, ParseErrorKind};

/// A tag around calls that also is the tag of a list of tools in XML.
const TOOL_LIST: &str = "<tools>";
/// The longest text after a marker that is examined, in bytes.
const MAX_WORD_LEN: usize = 512;
/// The number of lines with tags in which an unknown format is searched.
const MAX_TAGS: usize = 1024;
/// The longest element whose end is searched, in bytes.
const MAX_ELEMENT_LEN: usize = 1 << 16;
/// The number of bytes in which the ends of elements are searched.
const MAX_SEARCHED_BYTES: usize = 1 << 23;
/// The longest markup that feedback quotes, in characters.
const MAX_QUOTED_LEN: usize = 200;

/// The markup of a call that no format could parse.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UnreadableCall<'t> {
    /// The names of the formats that begin like it; none if the format is not known.
    formats: Vec<String>,
    /// The text from the marker on.
    markup: &'t str,
    /// The JSON object that follows the marker, and what follows it.
    body: Option<&'t str>,
}

impl UnreadableCall<'_> {
    /// Returns the feedback for the model, which names the formats and quotes the markup.
    pub(crate) fn feedback(&self) -> String {
        let names: Vec<_> = self.formats.iter().map(|name| format!("`{name}`")).collect();
        let quoted: String = self.markup.chars().take(MAX_QUOTED_LEN).collect();
        let format = if names.is_empty() {
            String::new()
        } else {
            format!(" in the format {}", names.join(" or "))
        };
        let ellipsis = if quoted.len() < self.markup.len() { "…" } else { "" };
        let problem = self.problem().map(|problem| format!(": {problem}")).unwrap_or_default();
        format!(
            "Your tool call can't be read{format}: {quoted:?}{ellipsis}{problem}. Send it again, \
             with the name of an offered tool and all arguments with their values, or answer \
             without tool call markup."
        )
    }

    /// Returns what is wrong with the JSON of the call.
    fn problem(&self) -> Option<String> {
        let error = json::parse(self.body?).err()?;
        let is_known = error.kind() != ParseErrorKind::NoValue && !error.is_ambiguous();
        is_known.then(|| error.reason().to_owned())
    }
}

/// Returns true if a text would be read as a call, or is the markup of one.
pub(crate) fn is_call_markup(formats: &Formats, text: &str, tools: &ToolLookup<'_>) -> bool {
    !formats.extract(text, tools).calls.is_empty()
        || unreadable_call(formats, text, tools).is_some()
}

/// Returns the markup of a call in the visible text of a reply without calls: a line that is not
/// quoted begins with a marker, and the text ends with a bracket or a tag, or the line of the end
/// tag does. Or the lines of an action end the text.
pub(crate) fn unreadable_call<'t>(
    formats: &Formats,
    text: &'t str,
    tools: &ToolLookup<'_>,
) -> Option<UnreadableCall<'t>> {
    let mut text = text.trim_end();
    while let Some(rest) = END_TOKENS.iter().find_map(|token| text.strip_suffix(token)) {
        text = rest.trim_end();
    }
    let mut end = Ending {
        is_markup: text.ends_with(['>', '}', ']', ')', '|', '`']),
        answer_start: react::answer_start(text),
        searched_bytes: 0,
    };
    let (mut quotes, mut fence) = (QuoteTracker::default(), None);
    let (mut at, mut from) = (0, 0);
    while let Some(candidate) = formats.markers.next_candidate(text, at, is_line_start(text, at)) {
        at = candidate.at;
        fence = Fence::open_after(fence, text.get(from..at).unwrap_or_default());
        from = at;
        if fence.is_none()
            && candidate.at_line_start
            && quotes.quotation(text, candidate, true) == Ok(Quotation::None)
            && let lead_in @ (LeadIn::Call | LeadIn::Doubtful) = lead_in(text, at)
        {
            let found = marked_formats(formats, text, candidate, lead_in, &mut end, tools);
            if !found.is_empty() {
                let (names, bodies): (_, Vec<_>) = found.into_iter().unzip();
                let markup = text.get(at..).unwrap_or_default();
                let body = bodies.into_iter().flatten().next();
                return Some(UnreadableCall { formats: names, markup, body });
            }
        }
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
    unknown_call(text, &mut end, tools)
}

/// Returns the markup from a line on that is not quoted and begins a call in an unknown format.
fn unknown_call<'t>(
    text: &'t str,
    end: &mut Ending,
    tools: &ToolLookup<'_>,
) -> Option<UnreadableCall<'t>> {
    // A document, which may have elements of any name.
    if ["<?", "<!"].iter().any(|start| text.trim_start().starts_with(start)) {
        return None;
    }
    let (mut quotes, mut fence) = (QuoteTracker::default(), None);
    let (mut start, mut count) = (0, 0);
    for line in text.split_inclusive('\n') {
        let at = start + line.len() - line.trim_start().len();
        let candidate = MarkerCandidate { at, at_line_start: true };
        let markup = text.get(at..).unwrap_or_default();
        let is_tag = markup.starts_with(['<', '[']);
        count += usize::from(is_tag);
        if count > MAX_TAGS {
            return None;
        }
        if fence.is_none()
            && begins_unknown_call(markup, tools)
            && quotes.quotation(text, candidate, true) == Ok(Quotation::None)
            && let lead_in @ (LeadIn::Call | LeadIn::Doubtful) = lead_in(text, at)
            && end.ends_call(markup, lead_in)
        {
            return Some(UnreadableCall { formats: Vec::new(), markup, body: None });
        }
        fence = Fence::open_after(fence, line);
        start += line.len();
    }
    None
}

/// The end of a text.
#[derive(Debug)]
struct Ending {
    /// True if the text ends with a bracket or a tag.
    is_markup: bool,
    /// The start of the answer that follows the actions of the text.
    answer_start: Option<usize>,
    /// The number of bytes in which the ends of elements were searched.
    searched_bytes: usize,
}

impl Ending {
    /// Returns true if `markup` ends the text, or its line before text that takes nothing back and
    /// not after a sentence that may announce an example.
    fn ends_call(&mut self, markup: &str, lead_in: LeadIn) -> bool {
        self.is_markup || lead_in == LeadIn::Call && self.ends_line(markup)
    }

    fn ends_line(&mut self, markup: &str) -> bool {
        let markup = beginning(markup, MAX_ELEMENT_LEN);
        self.searched_bytes += markup.len();
        if self.searched_bytes > MAX_SEARCHED_BYTES {
            return false;
        }
        let after = element_end(markup).and_then(|end| markup.get(end..));
        after.is_some_and(|after| !doubts_call_before(after))
    }
}

fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n')
}

fn lead_in(text: &str, at: usize) -> LeadIn {
    LeadIn::of(text.get(..at).unwrap_or_default(), false)
}

/// Returns the names of the formats whose marker is at `at`, if a tag, a bracket or a name with a
/// bracket follows it, or nothing; and the text from the JSON object that follows the marker.
fn marked_formats<'t>(
    formats: &Formats,
    text: &'t str,
    candidate: MarkerCandidate,
    lead_in: LeadIn,
    end: &mut Ending,
    tools: &ToolLookup<'_>,
) -> Vec<(String, Option<&'t str>)> {
    let rest = text.get(candidate.at..).unwrap_or_default();
    let is_action = end.answer_start.is_none_or(|answer| answer < candidate.at);
    let (mut found, mut ends_call) = (Vec::<(String, _)>::new(), None);
    let candidates = formats.markers.formats_at(text, candidate);
    for format in candidates.filter_map(|index| formats.calls().get(index)) {
        let is_react = format.name() == react::NAME;
        let markers = format.start_markers().iter();
        let markers = markers.filter(|it| is_react || matches!(it, StartMarker::Anywhere(_)));
        let markers = markers.map(StartMarker::as_str);
        let longest = markers.filter(|marker| rest.starts_with(marker)).map(str::len).max();
        let Some((marker, after)) = longest.and_then(|longest| rest.split_at_checked(longest))
        else {
            continue;
        };
        let is_list = || marker == TOOL_LIST && begins_element(formats, after);
        let is_call = if is_react {
            is_action && react::is_action(after, tools)
        } else {
            !format.only_at_end()
                && is_body(after)
                && !is_list()
                && *ends_call.get_or_insert_with(|| end.ends_call(rest, lead_in))
        };
        if is_call && !found.iter().any(|(name, _)| name == format.name()) {
            found.push((format.name().to_owned(), json_body(after)));
        }
    }
    found
}

/// Returns the text from the JSON object on that follows a marker, perhaps behind a name.
fn json_body(after: &str) -> Option<&str> {
    let after = after.trim_start();
    let word = beginning(after, MAX_WORD_LEN);
    let at = word.find(|c: char| c.is_whitespace() || "<{(\"".contains(c))?;
    after.get(at..).filter(|body| body.starts_with('{'))
}

/// Returns true if an element of a document begins `after`, which is no markup of calls.
fn begins_element(formats: &Formats, after: &str) -> bool {
    let after = after.trim_start();
    let candidate = MarkerCandidate { at: 0, at_line_start: true };
    after.starts_with('<') && formats.markers.formats_at(after, candidate).next().is_none()
}

fn is_body(after: &str) -> bool {
    let (after, is_all) = (beginning(after, MAX_WORD_LEN), after.len() <= MAX_WORD_LEN);
    let after = after.trim_start();
    let mut end = after.char_indices().find(|(_, c)| c.is_whitespace() || "<{[(".contains(*c));
    // A name may have a blank.
    if let Some((at, ' ')) = end {
        let second = after.get(at + 1..).unwrap_or_default();
        end = second.char_indices().find(|(_, c)| c.is_whitespace() || "<{[(.".contains(*c));
        end = end.filter(|(at, c)| *at > 0 && "<{[(\n".contains(*c));
    }
    after.is_empty() && is_all
        || after.contains(" to=")
        || end.is_some_and(|(_, c)| !" \t".contains(c))
}
