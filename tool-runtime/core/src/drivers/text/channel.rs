//! A channel: a part of a reply without calls, such as reasoning or a visible response.

use super::grammar::find_first;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyChannel {
    pub(crate) is_visible: bool,
    /// Markers that close the channel.
    pub(crate) end_markers: &'static [&'static str],
    /// Markers that end the channel and begin the next part of the reply.
    pub(crate) next_markers: &'static [&'static str],
}

impl ReplyChannel {
    /// Returns the length of the part of `rest` that certainly belongs to the channel, and the
    /// length of the closing marker after it if the channel ends there.
    pub(crate) fn content_end(self, rest: &str, is_complete: bool) -> (usize, Option<usize>) {
        match find_first(rest, self.all_markers()) {
            Some(end) => {
                let after = rest.get(end.start..).unwrap_or_default();
                let end_marker =
                    self.end_markers.iter().find(|end_marker| after.starts_with(**end_marker));
                (end.start, Some(end_marker.map_or(0, |end_marker| end_marker.len())))
            }
            None if is_complete => (rest.len(), None),
            None => (self.confirmed_len(rest), None),
        }
    }

    /// Returns the length of `rest` without a possible beginning of an end marker.
    fn confirmed_len(self, rest: &str) -> usize {
        let longest = self.all_markers().map(str::len).max().unwrap_or(0);
        let mut starts = rest.len().saturating_sub(longest)..rest.len();
        let is_partial_marker = |tail: &str| self.all_markers().any(|word| word.starts_with(tail));
        starts.find(|at| rest.get(*at..).is_some_and(is_partial_marker)).unwrap_or(rest.len())
    }

    fn all_markers(self) -> impl Iterator<Item = &'static str> + Clone {
        self.end_markers.iter().chain(self.next_markers).copied()
    }
}
