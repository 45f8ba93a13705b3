//! Patterns, each compiled once per validation, and the cost of matching them.

use std::collections::HashMap;

use regex_lite::{Regex, RegexBuilder};

/// Size limits in bytes with which a pattern is compiled, in ascending order.
///
/// regex-lite takes up to (size of the pattern) × (length of the text) steps and doesn't report the
/// size, so the first sufficient limit stands for it.
const SIZES: [usize; 3] = [2 << 10, 32 << 10, 512 << 10];

/// The product of pattern bytes and text bytes that one unit of fuel pays for.
const BYTES_PER_FUEL: usize = 8 << 10;

/// The patterns of one validation.
#[derive(Debug, Default)]
pub(in crate::check) struct Patterns<'s> {
    compiled: HashMap<&'s str, Option<Pattern>>,
}

#[derive(Debug, Clone)]
pub(in crate::check) struct Pattern {
    regex: Regex,
    size: usize,
}

impl<'s> Patterns<'s> {
    /// Returns the compiled pattern; `None` if it can't be compiled, in which case it adds no rule.
    pub(in crate::check) fn get(&mut self, pattern: &'s str) -> Option<&Pattern> {
        self.compiled.entry(pattern).or_insert_with(|| Pattern::compile(pattern)).as_ref()
    }
}

/// Returns true if the pattern can be compiled.
#[doc(hidden)]
pub fn is_supported(pattern: &str) -> bool {
    Pattern::compile(pattern).is_some()
}

impl Pattern {
    fn compile(pattern: &str) -> Option<Self> {
        SIZES.into_iter().find_map(|size| {
            let regex = RegexBuilder::new(pattern).size_limit(size).build().ok()?;
            Some(Self { regex, size })
        })
    }

    /// Returns the fuel for matching `text`.
    pub(in crate::check) fn cost(&self, text: &str) -> usize {
        (text.len() / 64).saturating_mul(self.size) / (BYTES_PER_FUEL / 64)
    }

    /// Returns true if the pattern matches anywhere in `text`, as in JSON Schema.
    pub(in crate::check) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}
