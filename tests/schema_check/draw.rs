//! Decisions read from bytes, so that proptest can shrink what they led to: 0 is the simplest.

pub(crate) struct Draws<'a> {
    bytes: &'a [u8],
    /// Carries on once the bytes are used up; 0 while shrinking has emptied them.
    state: u64,
}

impl<'a> Draws<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let state = bytes.iter().fold(0, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(*byte));
        Self { bytes, state }
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let drawn = match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                usize::from(*first)
            }
            None => {
                self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (self.state >> 40) as usize
            }
        };
        drawn % end
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub(crate) fn from<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}
