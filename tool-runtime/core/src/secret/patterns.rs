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
    /// Adds secrets, and each line of a secret of several lines. Many are added together, because
    /// the patterns that are known already are rebuilt each time.
    pub(super) fn insert_all<'s>(&mut self, secrets: impl IntoIterator<Item = &'s str>) {
        let (mut long, mut short) = (NewPatterns::default(), NewPatterns::default());
        for secret in secrets {
            // Environment variables contain a private key on one line, with escaped line breaks.
            let unescaped = secret.replace("\\r", "\r").replace("\\n", "\n");
            for text in std::iter::once(secret).chain(lines(&unescaped)) {
                let patterns = if text.len() < MIN_SECRET_LEN { &mut short } else { &mut long };
                patterns.add(text);
            }
        }
        self.long.insert_all(long);
        self.short.insert_all(short);
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

/// Returns the lines of a secret of several lines that are secrets themselves.
fn lines(secret: &str) -> impl Iterator<Item = &str> {
    let has_lines = secret.trim().contains(['\n', '\r']);
    let lines = secret.split(['\n', '\r']).filter(move |_| has_lines);
    let lines = lines.map(|line| line.trim().trim_end_matches('\\'));
    lines.filter(|line| line.len() >= MIN_LINE_LEN && !line.starts_with("-----"))
}

/// Patterns to be added together.
#[derive(Default)]
struct NewPatterns {
    verbatim: Vec<Pattern>,
    normal: Vec<Pattern>,
}

impl NewPatterns {
    fn add(&mut self, text: &str) {
        // Forms of web pages write a plus for a space.
        let plus = text.contains(' ').then(|| text.replace(' ', "+"));
        for spelled in [Some(text), plus.as_deref()].into_iter().flatten() {
            self.verbatim.push(Pattern::new(spelled.as_bytes()));
            self.normal.extend(forms(spelled).iter().map(|form| Pattern::new(form)));
        }
    }
}

impl Spellings {
    fn insert_all(&mut self, patterns: NewPatterns) {
        self.verbatim.insert_all(patterns.verbatim);
        self.normal.insert_all(patterns.normal);
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
    /// Adds the patterns that are new.
    fn insert_all(&mut self, mut patterns: Vec<Pattern>) {
        patterns.retain(|pattern| pattern.len() > 0 && !self.contains(pattern));
        let Some(shortest) = patterns.iter().map(Pattern::len).min() else { return };
        self.min_len = Some(self.min_len.map_or(shortest, |min| min.min(shortest)));
        while let Some(last) = self.tiers.pop_if(|it| it.patterns.len() <= patterns.len()) {
            patterns.extend(last.patterns.iter().cloned());
        }
        let automaton = Automaton::new(&mut patterns);
        self.tiers.push(Arc::new(Tier { patterns, automaton }));
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
