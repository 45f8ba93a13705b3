//! The places in a text at which one of a few bytes stands.
//!
//! Texts with short lines, or with much markup, have such a byte every few words; to search on from each
//! anew costs more than all else. So where they are dense sixty-four bytes are looked at together, and
//! what is found in them becomes a bit each.

use memchr::memchr3;

const BLOCK: usize = 64;

/// Those from some place on, in their order.
pub(super) struct Places<'t> {
    wanted: &'t [u8],
    /// What was not looked at yet, and where it begins.
    rest: &'t [u8],
    at: usize,
    /// What is left of the block before that, its first place the lowest bit.
    bits: u64,
}

impl<'t> Places<'t> {
    /// Those of `wanted` in `bytes` from `from` on.
    pub(super) fn new(wanted: &'t [u8], bytes: &'t [u8], from: usize) -> Self {
        Self { wanted, rest: bytes.get(from..).unwrap_or_default(), at: from, bits: 0 }
    }

    fn read(&mut self) -> Option<()> {
        if let Some((block, rest)) = self.rest.split_first_chunk() {
            self.bits = bits(self.wanted, block);
            self.go(rest);
            if self.bits == 0 {
                // Where there is one in none of so many, the next may be far.
                let next = first(self.wanted, self.rest)?;
                self.go(self.rest.get(next..)?);
            }
            return Some(());
        }
        if self.rest.is_empty() {
            return None;
        }
        let mut block = [0; BLOCK];
        block.iter_mut().zip(self.rest).for_each(|(to, byte)| *to = *byte);
        let is_there = u64::MAX >> (BLOCK - self.rest.len());
        self.bits = bits(self.wanted, &block) & is_there;
        (self.rest, self.at) = (&[], self.at + BLOCK);
        Some(())
    }

    fn go(&mut self, rest: &'t [u8]) {
        self.at += self.rest.len() - rest.len();
        self.rest = rest;
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.read()?;
        }
        let place = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(self.at - BLOCK + place)
    }
}

fn first(wanted: &[u8], bytes: &[u8]) -> Option<usize> {
    match *wanted {
        [a, b, c] => memchr3(a, b, c, bytes),
        _ => bytes.iter().position(|byte| wanted.contains(byte)),
    }
}

/// A bit for each byte that is one of `wanted`. Written so that a compiler looks at many at once.
fn bits(wanted: &[u8], block: &[u8; BLOCK]) -> u64 {
    let mut found = [0; BLOCK];
    let places = found.iter_mut().zip(block);
    match *wanted {
        [a, b, c] => {
            let is = |byte| u8::from(byte == a) | u8::from(byte == b) | u8::from(byte == c);
            places.for_each(|(found, byte)| *found = is(*byte));
        }
        _ => places.for_each(|(found, byte)| *found = u8::from(wanted.contains(byte))),
    }
    if found.iter().fold(0, |any, is| any | is) == 0 {
        return 0;
    }
    let (eights, _) = found.as_chunks();
    let bits = eights.iter().map(|eight| packed(*eight));
    bits.zip((0..).step_by(8)).fold(0, |all, (bits, place)| all | bits << place)
}

/// The lowest bits of eight bytes, the first the lowest.
fn packed(eight: [u8; 8]) -> u64 {
    // Each is moved to its place in the highest byte, and no two meet on the way.
    u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::Places;

    #[test]
    fn they_are_all_and_in_order() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..2_000 {
            let mut some = |most: usize, kinds| -> Vec<u8> {
                (0..rng.usize(..most)).map(|_| rng.u8(..kinds)).collect()
            };
            let (kinds, bytes) = (some(2, 255).len(), some(300, 255));
            let bytes: Vec<u8> = bytes.iter().map(|byte| byte % [8, 255][kinds]).collect();
            let (wanted, from) = (some(5, 8), rng.usize(..320));
            let found: Vec<_> = Places::new(&wanted, &bytes, from).collect();
            let are = (from..bytes.len()).filter(|at| wanted.contains(&bytes[*at]));
            assert_eq!(found, are.collect::<Vec<_>>(), "{wanted:?} in {bytes:?} from {from}");
        }
    }
}
