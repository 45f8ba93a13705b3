//! The scanner: one pass over a text, which separates calls, reasoning and visible text.

mod channels;

use std::iter;

use memchr::memchr;

use super::channel::ReplyChannel;
use super::format::checked_parse;
use super::formats::parts::invented_message;
use super::grammar::{MESSAGE_ENDS, first_line};
use super::leftover::{CallMarkup, truncate_with_leftover};
use super::visible_text::VisibleText;
use super::wrapper;
use super::{Formats, Input, Match, NoMatch, ParsedText, ToolLookup};
use crate::drivers::text::quotation::call_line;
use crate::drivers::text::quotation::fence::{self, Fence};
use crate::drivers::text::quotation::lead_in::{LeadIn, describes_call_before};
use crate::drivers::text::quotation::quote_tracker::{Quotation, QuoteTracker};
use crate::drivers::text::quotation::remark::doubts_call_before;
use crate::drivers::text::quotation::trailing::{self, Trailing, TrailingCalls};
use crate::drivers::text::search::marker_index::MarkerCandidate;
use crate::message::ToolCall;

/// The maximum number of calls of a reply. After one more call, the rest is text, and the driver
/// rejects the reply.
pub(crate) const MAX_CALLS: usize = 10_000;
/// The number of malformed calls after which the rest is text.
const MAX_MALFORMED: usize = 32;
/// The number of bytes that may be read to the end of the text without being consumed. It bounds
/// the time of a text that begins many calls and ends none.
const MAX_RESCANNED_BYTES: usize = 1 << 20;
/// The largest distance from a quoted call to the mark that closes the quotation, in bytes.
const MAX_QUOTED_LEN: usize = 1024;
/// An incomplete call is parsed again when the text after it has grown by 1/16.
const RETRY_GROWTH: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
enum Mode {
    #[default]
    Text,
    /// Inside a fence that holds no calls.
    Fence(Fence),
    Channel(ReplyChannel),
}

/// The state of a scan.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    at: usize,
    /// The text from here to `at` is visible, but not written yet.
    pending_from: usize,
    /// True if only blanks precede `at` on its line.
    at_line_start: bool,
    mode: Mode,
    quotes: QuoteTracker,
    malformed: usize,
    rescanned_bytes: usize,
    /// Calls that begin at `at` and count only if the text ends with them.
    trailing: Option<TrailingCalls>,
    /// The length of text at which `at` is parsed again.
    retry_len: usize,
    has_reasoning: bool,
    /// True if no more text will arrive.
    is_whole: bool,
    /// True if the call at `at` may be quoted.
    is_doubtful: bool,
    /// The last examined position of a visible channel, and the fence that is open there.
    channel_fence: (usize, Option<Fence>),
    pub(crate) visible: VisibleText,
    /// How often all visible text turned out to be reasoning.
    pub(crate) retractions: usize,
    pub(crate) reasoning: VisibleText,
    calls: Vec<ToolCall>,
    /// The first of the last calls that no visible text separates, and the length of the visible
    /// text before them.
    last_calls: (usize, usize),
}

impl Scanner {
    pub(crate) fn new() -> Self {
        // Reasoning begins without whitespace.
        let mut reasoning = VisibleText::default();
        reasoning.mark_gap();
        Self {
            at: 0,
            pending_from: 0,
            at_line_start: true,
            mode: Mode::Text,
            quotes: QuoteTracker::default(),
            malformed: 0,
            rescanned_bytes: 0,
            trailing: None,
            retry_len: 0,
            has_reasoning: false,
            is_whole: false,
            is_doubtful: false,
            channel_fence: (0, None),
            visible: VisibleText::default(),
            retractions: 0,
            reasoning,
            calls: Vec::new(),
            last_calls: (0, 0),
        }
    }

    /// Scans on, in the same text or in one that has grown.
    pub(crate) fn advance(
        &mut self,
        formats: &Formats,
        tools: &ToolLookup<'_>,
        text: &str,
        is_complete: bool,
    ) {
        self.is_whole = is_complete;
        while self.at < text.len() {
            let made_progress = match self.mode {
                Mode::Text => self.scan_text(formats, tools, text, is_complete),
                Mode::Fence(fence) => self.scan_fence(fence, text, is_complete),
                Mode::Channel(channel) => {
                    self.scan_channel(formats, tools, channel, text, is_complete)
                }
            };
            if !made_progress {
                break;
            }
        }
        self.flush(text);
    }

    pub(crate) fn finish(mut self) -> ParsedText {
        self.reasoning.mark_gap();
        self.apply_remark();
        ParsedText {
            text: self.visible.finish(),
            reasoning: self.reasoning.finish(),
            calls: self.calls,
        }
    }

    /// Returns the calls found so far.
    pub(crate) fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Appends calls after the visible text, which is complete up to them.
    fn push_calls(&mut self, calls: Vec<ToolCall>) {
        if calls.is_empty() {
            return;
        }
        self.apply_remark();
        if self.visible.text.len() > self.last_calls.1 {
            self.last_calls = (self.calls.len(), self.visible.text.len());
        }
        self.calls.extend(calls);
    }

    /// Marks the last calls as doubtful if the visible text after them takes them back.
    fn apply_remark(&mut self) {
        let (first, before) = self.last_calls;
        let calls = self.calls.get_mut(first..).unwrap_or_default();
        if doubts_call_before(self.visible.text.get(before..).unwrap_or_default()) {
            calls.iter_mut().for_each(|call| call.is_doubtful = true);
        }
    }

    /// Writes the pending visible text.
    fn flush(&mut self, text: &str) {
        self.visible.push(text.get(self.pending_from..self.at).unwrap_or_default());
        self.pending_from = self.at;
    }

    /// Consumes visible text up to `end`.
    fn consume_text(&mut self, end: usize) {
        self.move_to(end, self.at_line_start && self.at == end);
    }

    /// Consumes markup up to `end`.
    fn consume_markup(&mut self, text: &str, end: usize, at_line_start: bool) {
        self.flush(text);
        self.visible.mark_gap();
        self.move_to(end, at_line_start);
        if at_line_start {
            self.quotes.restart(end);
        } else {
            self.quotes.skip(end);
        }
        self.pending_from = end;
    }

    /// Consumes a fence or another quoted part up to `end` as text.
    fn consume_part(&mut self, end: usize) {
        self.consume_text(end);
        self.quotes.skip_part(end);
    }

    fn move_to(&mut self, at: usize, at_line_start: bool) {
        self.at = at;
        self.at_line_start = at_line_start;
        self.retry_len = 0;
        self.trailing = None;
    }

    /// Scans visible text up to the next candidate. Returns false if more text is needed.
    fn scan_text(
        &mut self,
        formats: &Formats,
        tools: &ToolLookup<'_>,
        text: &str,
        is_complete: bool,
    ) -> bool {
        if !is_complete && text.len() < self.retry_len {
            return false;
        }
        let may_match = self.calls.len() <= MAX_CALLS
            && self.malformed < MAX_MALFORMED
            && self.rescanned_bytes < MAX_RESCANNED_BYTES;
        let next = || formats.markers.next_candidate(text, self.at, self.at_line_start);
        let candidate = may_match.then(next).flatten();
        let Some(candidate) = candidate else {
            self.consume_text(if !is_complete && may_match {
                formats.markers.confirmed_end(text, self.at, self.at_line_start)
            } else {
                text.len()
            });
            return false;
        };
        self.try_candidate(formats, tools, text, candidate, is_complete)
    }

    /// Parses a candidate, or consumes its beginning as text. Returns false if more text is needed.
    fn try_candidate(
        &mut self,
        formats: &Formats,
        tools: &ToolLookup<'_>,
        text: &str,
        candidate: MarkerCandidate,
        is_complete: bool,
    ) -> bool {
        if candidate.at > self.at {
            self.consume_text(candidate.at);
        }
        self.at_line_start = candidate.at_line_start;
        let mut found = self.parse_candidate(formats, tools, text, candidate, false);
        if found == Err(NoMatch::Incomplete) {
            if !is_complete {
                self.retry_len = text.len() + ((text.len() - candidate.at) / RETRY_GROWTH).max(1);
                return false;
            }
            found = self.parse_candidate(formats, tools, text, candidate, true);
            if self.at < text.len() {
                self.rescanned_bytes += text.len() - candidate.at;
            }
        }
        self.malformed += usize::from(found == Err(NoMatch::Malformed));
        found.is_ok() || self.skip_candidate(text, candidate)
    }

    /// Consumes the first character or mark of a candidate that is plain text.
    fn skip_candidate(&mut self, text: &str, candidate: MarkerCandidate) -> bool {
        let rest = text.get(candidate.at..).unwrap_or_default();
        let fence = Fence::of(rest).filter(|fence| candidate.at_line_start && fence.is_block());
        let length = match fence {
            Some(fence) => {
                if fence.is_opened_by(rest) {
                    self.mode = Mode::Fence(fence);
                }
                fence.len
            }
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        self.consume_text(candidate.at + length);
        true
    }

    /// Parses the candidate with the formats that may begin there.
    fn parse_candidate(
        &mut self,
        formats: &Formats,
        tools: &ToolLookup<'_>,
        text: &str,
        candidate: MarkerCandidate,
        is_complete: bool,
    ) -> Result<(), NoMatch> {
        if candidate.at_line_start
            && let Some(end) = fence::example_end(formats, text, candidate)
        {
            self.consume_part(end);
            return Ok(());
        }
        let input = Input::new(text.get(candidate.at..).unwrap_or_default(), is_complete);
        let input = input.with_line_start(candidate.at_line_start);
        // A fence is only recognized once its line is complete.
        let is_partial_fence = candidate.at_line_start
            && Fence::of(input.text).is_some()
            && !is_complete
            && memchr(b'\n', input.text.as_bytes()).is_none();
        let quotation = self.quotes.quotation(text, candidate, self.is_whole)?;
        if !matches!(quotation, Quotation::None | Quotation::Doubtful) {
            match self.skip_quoted(formats, tools, input, text, quotation) {
                Err(NoMatch::Text) if quotation != Quotation::Certain => {}
                Err(NoMatch::Text) if is_partial_fence => return Err(NoMatch::Incomplete),
                found => return found,
            }
        }
        self.is_doubtful = matches!(quotation, Quotation::Doubtful | Quotation::Continued(_));
        let mut no_match = NoMatch::Text;
        for format in formats.markers.formats_at(text, candidate) {
            let Some(format) = formats.get(format).filter(|format| !format.only_at_end()) else {
                continue;
            };
            match checked_parse(format, input, tools) {
                // What a model invents after a call is no part of its answer.
                Ok(Match::Text { end })
                    if format.name() == invented_message::NAME && !self.calls.is_empty() =>
                {
                    self.consume_markup(text, candidate.at + end, false);
                    return Ok(());
                }
                Ok(found) => {
                    let markup = CallMarkup { formats, tools, ends: format.end_markers() };
                    return self.accept(found, text, is_complete, markup);
                }
                Err(NoMatch::Incomplete) if !is_complete => return Err(NoMatch::Incomplete),
                Err(NoMatch::Malformed) => no_match = NoMatch::Malformed,
                Err(_) => {}
            }
        }
        match wrapper::parse(formats, tools, input) {
            Ok(found) => {
                let markup = CallMarkup { formats, tools, ends: &wrapper::end_tags() };
                return self.accept(found, text, is_complete, markup);
            }
            Err(NoMatch::Incomplete) if !is_complete => return Err(NoMatch::Incomplete),
            Err(_) => {}
        }
        if candidate.at_line_start {
            let trailing = self.trailing.get_or_insert_with(|| TrailingCalls::new(candidate.at));
            match trailing.parse(formats, tools, text, is_complete) {
                Ok(Trailing::Calls { calls, end }) => {
                    self.flush(text);
                    let Some(mut calls) = self.lead_in().unmarked(calls) else {
                        return Err(NoMatch::Text);
                    };
                    let before = self.visible.text.get(self.last_calls.1..).unwrap_or_default();
                    let markup = CallMarkup { formats, tools, ends: &[] };
                    markup.add_leftover_before(before, &mut calls);
                    truncate_with_leftover(&mut calls, tools);
                    self.push_calls(calls);
                    self.consume_markup(text, end, false);
                    return Ok(());
                }
                Ok(Trailing::Text { end }) => {
                    self.consume_part(end);
                    return Ok(());
                }
                Err(NoMatch::Incomplete) if !is_complete => return Err(NoMatch::Incomplete),
                Err(NoMatch::Malformed) => no_match = NoMatch::Malformed,
                Err(_) => {}
            }
            if is_partial_fence {
                return Err(NoMatch::Incomplete);
            }
        }
        Err(no_match)
    }

    /// Consumes a quoted call as text, so that no call inside it is found.
    fn skip_quoted(
        &mut self,
        formats: &Formats,
        tools: &ToolLookup<'_>,
        input: Input<'_>,
        text: &str,
        quotation: Quotation,
    ) -> Result<(), NoMatch> {
        let candidate = MarkerCandidate { at: self.at, at_line_start: input.at_line_start };
        let parsers = formats.markers.formats_at(text, candidate).filter_map(|at| formats.get(at));
        let parsers = parsers.filter(|format| !format.only_at_end());
        let found = parsers
            .map(|format| checked_parse(format, input, tools))
            .chain(iter::once_with(|| wrapper::parse(formats, tools, input)));
        for found in found {
            let length = match found {
                Ok(Match::Calls { calls, end }) if !calls.is_empty() => end,
                Err(NoMatch::Incomplete) if !input.is_complete => return Err(NoMatch::Incomplete),
                _ => continue,
            };
            if let Quotation::Until(marks) | Quotation::Continued(marks) = quotation {
                let after = input.text.get(length..).unwrap_or_default();
                let (line, is_ended) = first_line(after, MAX_QUOTED_LEN);
                if !line.contains(|c| marks.contains(c)) {
                    let is_open = !input.is_complete && !is_ended && after.len() < MAX_QUOTED_LEN;
                    return Err(if is_open { NoMatch::Incomplete } else { NoMatch::Text });
                }
            }
            let end = self.at + length;
            self.consume_text(end);
            self.quotes.skip_quoted(end);
            return Ok(());
        }
        Err(NoMatch::Text)
    }

    /// Returns the lead-in of a call after the visible text.
    fn lead_in(&self) -> LeadIn {
        // A part of the reply begins a line.
        let in_line = !self.visible.has_line_break() && !self.at_line_start;
        match LeadIn::of(&self.visible.text, in_line) {
            LeadIn::Call | LeadIn::Doubtful
                if self.is_doubtful || call_line::begins_block(self.visible.line_above()) =>
            {
                LeadIn::Enclosed
            }
            lead_in => lead_in,
        }
    }

    fn accept(
        &mut self,
        found: Match,
        text: &str,
        is_complete: bool,
        markup: CallMarkup<'_>,
    ) -> Result<(), NoMatch> {
        let start = self.at;
        match found {
            Match::Calls { mut calls, end } => {
                let end = if calls.is_empty() {
                    start + end
                } else {
                    wrapper::skip_end_tags(text, start + end, is_complete)?
                };
                let end = match trailing::skip_tokens(text, end, is_complete, MESSAGE_ENDS)? {
                    at if text.get(end..at).is_some_and(|passed| passed.trim().is_empty()) => end,
                    at => at,
                };
                let after = text.get(end..).unwrap_or_default();
                let matched = text.get(start..end).unwrap_or_default();
                markup.add_leftover_after(matched, after, is_complete, &mut calls)?;
                let is_described = !calls.is_empty() && describes_call_before(after, is_complete)?;
                let mut is_continued =
                    !calls.is_empty() && call_line::continues(after, is_complete)?;
                self.flush(text);
                if !calls.is_empty() {
                    let above = self.visible.line_above();
                    is_continued |= call_line::is_between_rules(above, after, is_complete)?;
                    let before = self.visible.text.get(self.last_calls.1..).unwrap_or_default();
                    markup.add_leftover_before(before, &mut calls);
                    truncate_with_leftover(&mut calls, markup.tools);
                }
                let lead_in = match self.lead_in() {
                    _ if is_described => LeadIn::Example,
                    LeadIn::Call | LeadIn::Doubtful if is_continued => LeadIn::Enclosed,
                    lead_in => lead_in,
                };
                self.push_calls(lead_in.marked(calls));
                self.consume_markup(text, end, false);
            }
            Match::Text { end } => self.consume_part(start + end),
            Match::Channel { end, is_visible, end_markers, next_markers } => {
                self.has_reasoning |= !is_visible;
                if !is_visible && !self.reasoning.text.is_empty() {
                    self.reasoning.push("\n");
                }
                self.consume_markup(text, start + end, true);
                self.channel_fence = (self.at, None);
                self.mode = Mode::Channel(ReplyChannel { is_visible, end_markers, next_markers });
            }
            Match::ReasoningEnd { end, start_marker } => {
                let before = text.get(..start).unwrap_or_default();
                // Checked once: if the first closing marker ended nothing, no later one does.
                if self.has_reasoning || before.contains(start_marker) {
                    self.has_reasoning = true;
                    return Err(NoMatch::Text);
                }
                self.has_reasoning = true;
                self.reasoning.push(before);
                self.visible = VisibleText::default();
                self.pending_from = start;
                self.retractions += 1;
                self.calls.clear();
                self.last_calls = (0, 0);
                self.consume_markup(text, start + end, true);
            }
        }
        Ok(())
    }

    fn scan_fence(&mut self, fence: Fence, text: &str, is_complete: bool) -> bool {
        let (end, is_closed) = fence.content_end(text, self.at, is_complete);
        if is_closed {
            self.mode = Mode::Text;
        }
        self.consume_part(end);
        is_closed
    }
}
