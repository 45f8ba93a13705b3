//! Searches a text for the positions of a few bytes.
//!
//! In texts with short lines or much markup, such a byte occurs every few words, and starting a new
//! search at each of them dominates the time. Where the bytes are dense, 64 bytes are compared at
//! once and each match becomes a bit of a mask.

use memchr::memchr3;

const BLOCK: usize = 64;

/// Iterates over the positions of the needles, in ascending order.
pub(crate) struct ByteSearch<'t> {
    needles: &'t [u8],
    /// The part that was not searched yet, and its position.
    rest: &'t [u8],
    at: usize,
    /// The remaining matches of the block before `at`; the first position is the lowest bit.
    bits: u64,
}

impl<'t> ByteSearch<'t> {
    /// Creates a search for `needles` in `bytes`, starting at `from`.
    pub(crate) fn new(needles: &'t [u8], bytes: &'t [u8], from: usize) -> Self {
        Self { needles, rest: bytes.get(from..).unwrap_or_default(), at: from, bits: 0 }
    }

    fn next_block(&mut self) -> Option<()> {
        if let Some((block, rest)) = self.rest.split_first_chunk() {
            self.bits = match_mask(self.needles, block);
            self.advance(rest);
            if self.bits == 0 {
                // If a whole block has no match, the next match may be far away.
                let next = first(self.needles, self.rest)?;
                self.advance(self.rest.get(next..)?);
            }
            return Some(());
        }
        if self.rest.is_empty() {
            return None;
        }
        let mut block = [0; BLOCK];
        block.iter_mut().zip(self.rest).for_each(|(to, byte)| *to = *byte);
        let valid_bits = u64::MAX >> (BLOCK - self.rest.len());
        self.bits = match_mask(self.needles, &block) & valid_bits;
        self.rest = &[];
        self.at += BLOCK;
        Some(())
    }

    fn advance(&mut self, rest: &'t [u8]) {
        self.at += self.rest.len() - rest.len();
        self.rest = rest;
    }
}

impl Iterator for ByteSearch<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.next_block()?;
        }
        let offset = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(self.at - BLOCK + offset)
    }
}

fn first(needles: &[u8], bytes: &[u8]) -> Option<usize> {
    match *needles {
        [a, b, c] => memchr3(a, b, c, bytes),
        _ => bytes.iter().position(|byte| needles.contains(byte)),
    }
}

/// Returns a bit for each byte that is one of `needles`. Written so that the compiler
/// vectorizes it.
fn match_mask(needles: &[u8], block: &[u8; BLOCK]) -> u64 {
    let mut found = [0; BLOCK];
    let pairs = found.iter_mut().zip(block);
    match *needles {
        [a, b, c] => {
            let is_needle = |byte| u8::from(byte == a) | u8::from(byte == b) | u8::from(byte == c);
            pairs.for_each(|(found, byte)| *found = is_needle(*byte));
        }
        _ => pairs.for_each(|(found, byte)| *found = u8::from(needles.contains(byte))),
    }
    if found.iter().fold(0, |all, bit| all | bit) == 0 {
        return 0;
    }
    let (eights, _) = found.as_chunks();
    let bits = eights.iter().map(|eight| pack_low_bits(*eight));
    bits.zip((0..).step_by(8)).fold(0, |all, (bits, offset)| all | bits << offset)
}

/// Packs the lowest bits of eight bytes, the first byte into the lowest bit.
fn pack_low_bits(eight: [u8; 8]) -> u64 {
    // The multiplication moves each bit into the highest byte, without collisions.
    u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::ByteSearch;

    #[test]
    fn search_finds_every_position_in_order() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..2_000 {
            let mut random_bytes = |limit: usize, kinds| -> Vec<u8> {
                (0..rng.usize(..limit)).map(|_| rng.u8(..kinds)).collect()
            };
            let (kinds, bytes) = (random_bytes(2, 255).len(), random_bytes(300, 255));
            let bytes: Vec<u8> = bytes.iter().map(|byte| byte % [8, 255][kinds]).collect();
            let (needles, from) = (random_bytes(5, 8), rng.usize(..320));
            let found: Vec<_> = ByteSearch::new(&needles, &bytes, from).collect();
            let expected = (from..bytes.len()).filter(|at| needles.contains(&bytes[*at]));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{needles:?} in {bytes:?} from {from}");
        }
    }
}
