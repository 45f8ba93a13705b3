//! The secrets to search for, as sets of patterns that grow.

use std::sync::Arc;

use super::MIN_SECRET_LEN;
use super::automaton::{Automaton, Pattern};
use super::escapes::forms;

/// The minimum length of a line of a secret that is searched for alone, in bytes.
const MIN_LINE_LEN: usize = 8;

/// The secrets to search for. Clones share their patterns.
#[derive(Clone, Default)]
pub(super) struct Secrets {
    /// Secrets that are long enough to be searched for in every encoding.
    pub(super) long: Spellings,
    /// Configured secrets that are shorter: random bytes contain them.
    pub(super) short: Spellings,
}

/// The patterns of some secrets.
#[derive(Clone, Default)]
pub(super) struct Spellings {
    pub(super) verbatim: Patterns,
    /// The normal forms, see `escapes.rs`.
    pub(super) normal: Patterns,
}

impl Secrets {
    /// Adds a secret, and each line of a secret of several lines.
    pub(super) fn insert(&mut self, secret: &str) {
        self.insert_spellings(secret);
        if secret.trim().contains(['\n', '\r']) {
            let is_secret = |line: &&str| line.len() >= MIN_LINE_LEN && !line.starts_with("-----");
            let lines = secret.split(['\n', '\r']).map(str::trim).filter(is_secret);
            lines.for_each(|line| self.insert_spellings(line));
        }
    }

    fn insert_spellings(&mut self, secret: &str) {
        let spellings =
            if secret.len() < MIN_SECRET_LEN { &mut self.short } else { &mut self.long };
        // Forms of web pages write a plus for a space.
        let plus = secret.contains(' ').then(|| secret.replace(' ', "+"));
        for spelled in [Some(secret), plus.as_deref()].into_iter().flatten() {
            if spellings.verbatim.insert(spelled.as_bytes()) {
                forms(spelled).iter().for_each(|form| _ = spellings.normal.insert(form));
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.long.verbatim.tiers.is_empty() && self.short.verbatim.tiers.is_empty()
    }

    /// Whether a secret was added.
    pub(super) fn contains(&self, secret: &str) -> bool {
        let pattern = Pattern::new(secret.as_bytes());
        self.long.verbatim.contains(&pattern) || self.short.verbatim.contains(&pattern)
    }
}

/// A set of patterns. Patterns that were added together are searched together; sets of the same
/// size are united, so that there are few.
#[derive(Clone, Default)]
pub(super) struct Patterns {
    tiers: Vec<Arc<Tier>>,
    min_len: Option<usize>,
}

struct Tier {
    patterns: Vec<Pattern>,
    automaton: Automaton,
}

impl Patterns {
    /// Adds a pattern and returns whether it is new.
    fn insert(&mut self, pattern: &[u8]) -> bool {
        let pattern = Pattern::new(pattern);
        if pattern.len() == 0 || self.contains(&pattern) {
            return false;
        }
        self.min_len = Some(self.min_len.map_or(pattern.len(), |min| min.min(pattern.len())));
        let mut patterns = vec![pattern];
        while let Some(last) = self.tiers.pop_if(|it| it.patterns.len() <= patterns.len()) {
            patterns.extend(last.patterns.iter().cloned());
        }
        let automaton = Automaton::new(&mut patterns);
        self.tiers.push(Arc::new(Tier { patterns, automaton }));
        true
    }

    fn contains(&self, pattern: &Pattern) -> bool {
        self.tiers.iter().any(|tier| tier.automaton.contains(pattern))
    }

    /// Returns the length of the shortest pattern.
    pub(super) fn min_len(&self) -> Option<usize> {
        self.min_len
    }

    /// Calls `on_match` with the range of each match; it may exceed the text. Returns the number of
    /// bytes at the end of the text that begin a pattern.
    pub(super) fn search(
        &self,
        text: &[u8],
        mut on_match: impl FnMut(std::ops::Range<usize>),
    ) -> usize {
        let search = |tier: &Arc<Tier>| tier.automaton.search(text, &mut on_match);
        self.tiers.iter().map(search).max().unwrap_or_default()
    }
}
