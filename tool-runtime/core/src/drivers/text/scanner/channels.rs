//! The part of the scanner that passes over channels, such as reasoning or a visible response.

use super::super::channel::ReplyChannel;
use super::super::{Formats, NoMatch, ToolLookup};
use super::{Mode, Scanner};
use crate::drivers::text::quotation::fence::Fence;
use crate::drivers::text::quotation::quote_tracker::Quotation;
use crate::drivers::text::search::marker_index::MarkerCandidate;

impl Scanner {
    /// Scans the content of a channel up to its end. Returns false if more text is needed.
    pub(crate) fn scan_channel(
        &mut self,
        formats: &Formats,
        tools: &ToolLookup<'_>,
        channel: ReplyChannel,
        text: &str,
        is_complete: bool,
    ) -> bool {
        if !is_complete && text.len() < self.retry_len {
            return false;
        }
        let rest = text.get(self.at..).unwrap_or_default();
        let (length, end_marker) = channel.content_end(rest, is_complete);
        let end = self.at + length;
        if let Some(end_len) = end_marker.filter(|_| channel.is_visible) {
            let is_quoted = match self.is_fenced(text, end, is_complete) {
                // The marker of another part, which may be quoted otherwise.
                Ok(false) if end_len == 0 => {
                    let marker = text.get(end..).unwrap_or_default();
                    if !is_complete && formats.markers.is_partial_marker(marker, false) {
                        self.move_to(end, false);
                        return false;
                    }
                    let at_line_start = self.quotes.is_line_start(text, end);
                    let candidate = MarkerCandidate { at: end, at_line_start };
                    return self.end_channel(formats, tools, channel, text, candidate, is_complete);
                }
                Ok(false) => self.is_quoted_end(text, end, end_len, is_complete),
                is_fenced => is_fenced,
            };
            match is_quoted {
                Ok(false) => {}
                // The marker is text.
                Ok(true) => {
                    let marker = text.get(end..).and_then(|rest| rest.find('>'));
                    self.move_to(end + marker.map_or(1, |at| at + 1), false);
                    return true;
                }
                Err(_) => {
                    self.move_to(end, false);
                    return false;
                }
            }
        }
        self.move_to(end, false);
        if !channel.is_visible {
            self.reasoning.push(rest.get(..length).unwrap_or_default());
            self.pending_from = self.at;
        }
        if let Some(end_marker) = end_marker {
            self.mode = Mode::Text;
            self.consume_markup(text, self.at + end_marker, true);
        }
        end_marker.is_some()
    }

    /// Parses the marker of the next part of the reply. A visible channel continues after it if it
    /// is text.
    fn end_channel(
        &mut self,
        formats: &Formats,
        tools: &ToolLookup<'_>,
        channel: ReplyChannel,
        text: &str,
        candidate: MarkerCandidate,
        is_complete: bool,
    ) -> bool {
        self.mode = Mode::Text;
        let made_progress = self.try_candidate(formats, tools, text, candidate, is_complete);
        let is_text = self.pending_from <= candidate.at;
        if is_text && matches!(self.mode, Mode::Text) {
            self.mode = Mode::Channel(channel);
        }
        made_progress
    }

    /// Returns true if a marker in a visible channel is in a fence that closes after it.
    fn is_fenced(&mut self, text: &str, at: usize, is_complete: bool) -> Result<bool, NoMatch> {
        let (from, fence) = self.channel_fence;
        let fence = Fence::open_after(fence, text.get(from..at).unwrap_or_default());
        self.channel_fence = (at, fence);
        let Some(fence) = fence else { return Ok(false) };
        match fence.closing_line(text, at) {
            Some(line) if is_complete || line.end < text.len() => Ok(true),
            _ if is_complete => Ok(false),
            _ => Err(NoMatch::Incomplete),
        }
    }

    /// Returns true if a marker that closes a channel is quoted there. A marker that nothing but
    /// other markers follow is none.
    fn is_quoted_end(
        &mut self,
        text: &str,
        at: usize,
        length: usize,
        is_complete: bool,
    ) -> Result<bool, NoMatch> {
        let rest = text.get(at + length..).unwrap_or_default().trim_start();
        if rest.is_empty() && !is_complete {
            return Err(NoMatch::Incomplete);
        }
        if rest.is_empty() || rest.starts_with("<|") {
            return Ok(false);
        }
        let at_line_start = self.quotes.is_line_start(text, at);
        let candidate = MarkerCandidate { at, at_line_start };
        Ok(self.quotes.quotation(text, candidate, is_complete)? == Quotation::Certain)
    }
}
