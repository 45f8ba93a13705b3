//! Patterns, each compiled once in a walk, and what it costs to run one.

use std::collections::HashMap;

use regex_lite::{Regex, RegexBuilder};

/// Sizes in bytes up to which a pattern is compiled, tried in turn.
///
/// regex-lite takes up to (size of the pattern) × (length of the text) steps and doesn't tell the
/// size, so the step that suffices stands for it.
const SIZES: [usize; 3] = [2 << 10, 32 << 10, 512 << 10];

/// Bytes of a compiled pattern, times bytes of text, that one unit of fuel pays for.
const PER_UNIT: usize = 8 << 10;

/// The patterns that a walk has met.
#[derive(Debug, Default)]
pub(super) struct Patterns<'s> {
    compiled: HashMap<&'s str, Option<Pattern>>,
}

#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    size: usize,
}

impl<'s> Patterns<'s> {
    /// `None` for a pattern that can't be compiled: it adds no rule.
    pub(super) fn get(&mut self, pattern: &'s str) -> Option<&Pattern> {
        self.compiled.entry(pattern).or_insert_with(|| Pattern::compile(pattern)).as_ref()
    }
}

/// Whether values can be held to this pattern.
pub(in crate::schema) fn is_readable(pattern: &str) -> bool {
    Pattern::compile(pattern).is_some()
}

impl Pattern {
    fn compile(pattern: &str) -> Option<Self> {
        SIZES.into_iter().find_map(|size| {
            let regex = RegexBuilder::new(pattern).size_limit(size).build().ok()?;
            Some(Self { regex, size })
        })
    }

    /// The fuel that matching `text` takes.
    pub(super) fn cost(&self, text: &str) -> usize {
        (text.len() / 64).saturating_mul(self.size) / (PER_UNIT / 64)
    }

    /// True when it matches anywhere in `text`, as JSON Schema has it.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}
