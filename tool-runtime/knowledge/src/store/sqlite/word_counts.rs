//! Numbers of chunks that contain a frequent word.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time for which numbers are kept. They decide which words a search leaves out, so those of a
/// minute ago are good enough.
const KEPT_FOR: Duration = Duration::from_secs(60);

/// The smallest number that is kept. A smaller one is counted again: that takes less than a search.
const FREQUENT: i64 = 10_000;

/// The numbers of chunks that contain each frequent word, counted within the last minute.
#[derive(Debug, Default)]
pub(super) struct WordCounts {
    /// The time of the oldest number.
    since: Option<Instant>,
    counts: HashMap<String, i64>,
}

impl WordCounts {
    pub(super) fn get(&mut self, word: &str, now: Instant) -> Option<i64> {
        if self.since.is_some_and(|since| now.saturating_duration_since(since) >= KEPT_FOR) {
            *self = Self::default();
        }
        self.counts.get(word).copied()
    }

    pub(super) fn insert(&mut self, word: &str, count: i64, now: Instant) {
        if count >= FREQUENT {
            self.since.get_or_insert(now);
            self.counts.insert(word.to_owned(), count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::WordCounts;

    #[test]
    fn counts_of_frequent_words_are_kept_for_a_minute() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut counts = WordCounts::default();
        counts.insert("the", 10_000, start);
        counts.insert("fox", 9_999, start);
        counts.insert("of", 20_000, after(59));
        let found = ["the", "fox", "of"].map(|word| counts.get(word, after(59)));
        assert_eq!(found, [Some(10_000), None, Some(20_000)]);
        assert_eq!(counts.get("of", after(60)), None);
        counts.insert("of", 30_000, after(60));
        assert_eq!(counts.get("of", after(119)), Some(30_000));
    }
}
