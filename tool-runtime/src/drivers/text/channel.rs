//! A part of the reply in which there are no calls: what the model thinks, or says to people.

use super::grammar::first_of;

#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) is_shown: bool,
    /// What ends it.
    pub(super) closers: &'static [&'static str],
    /// What ends it and begins something else.
    pub(super) stops: &'static [&'static str],
}

impl Channel {
    /// How much of `rest` belongs to it for sure, and how long what ends it there is, if something does.
    pub(super) fn part(self, rest: &str, is_end: bool) -> (usize, Option<usize>) {
        match first_of(rest, self.words()) {
            Some(end) => {
                let behind = rest.get(end.start..).unwrap_or_default();
                let closer = self.closers.iter().find(|closer| behind.starts_with(**closer));
                (end.start, Some(closer.map_or(0, |closer| closer.len())))
            }
            None if is_end => (rest.len(), None),
            None => (self.held(rest), None),
        }
    }

    /// From where on it may turn out to end.
    fn held(self, rest: &str) -> usize {
        let longest = self.words().map(str::len).max().unwrap_or(0);
        let mut places = rest.len().saturating_sub(longest)..rest.len();
        let is_begun = |tail: &str| self.words().any(|word| word.starts_with(tail));
        places.find(|at| rest.get(*at..).is_some_and(is_begun)).unwrap_or(rest.len())
    }

    fn words(self) -> impl Iterator<Item = &'static str> + Clone {
        self.closers.iter().chain(self.stops).copied()
    }
}
