//! Decisions drawn from bytes, so that proptest can shrink their result: 0 is the simplest.

use serde_json::{Value, json};

pub(crate) const KEYS: [&str; 6] = ["a", "b", "c", "kind", "x1", "odd key"];
pub(crate) const TEXTS: [&str; 12] =
    ["", "a", "b", "ab", "abc", "b a", "é", "😀x", "A1", "2024-05", "xyzxyz", "kind"];

pub(crate) struct Draws<'a> {
    bytes: &'a [u8],
    /// Continues once the bytes are used up; 0 if shrinking has emptied them.
    state: u64,
}

impl<'a> Draws<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let state = bytes.iter().fold(0, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(*byte));
        Self { bytes, state }
    }

    /// Draws a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let byte = match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                usize::from(*first)
            }
            None => {
                self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (self.state >> 40) as usize
            }
        };
        byte % end
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub(crate) fn from<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

pub(crate) fn number(draws: &mut Draws<'_>) -> Value {
    match draws.below(12) {
        0..=6 => json!(draws.below(9)),
        7 => json!(-1.0),
        8 => json!(2.5),
        9 => json!(0.1),
        10 => draws.from(&[json!(-3), json!(3.0), json!(0.3)]),
        _ => draws.from(&[
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992.0),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e300),
            json!(18_446_744_073_709_551_616.0),
        ]),
    }
}
