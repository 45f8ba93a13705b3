//! How openers begin: what tells nearly every place from one, without a look at any word.

/// The first four bytes of words, as a set that may hold a few that no word begins with.
#[derive(Clone, Debug)]
pub(super) struct Heads {
    /// First bytes of shorter words.
    short: Bytes,
    /// A bit for each of the rest.
    long: Box<[u64; 256]>,
}

impl Heads {
    pub(super) fn new() -> Self {
        Self { short: Bytes::new(), long: Box::new([0; 256]) }
    }

    pub(super) fn add(&mut self, word: &[u8]) {
        match word.first_chunk() {
            Some(head) => {
                let (place, bit) = place(*head);
                if let Some(bits) = self.long.get_mut(place) {
                    *bits |= bit;
                }
            }
            None => word.first().into_iter().for_each(|first| self.short.add(*first)),
        }
    }

    /// Whether a word may begin here.
    #[inline]
    pub(super) fn allow(&self, bytes: &[u8]) -> bool {
        let Some(head @ [first, ..]) = bytes.first_chunk::<4>() else { return true };
        let (place, bit) = place(*head);
        self.long.get(place).is_some_and(|bits| bits & bit != 0) || self.short.has(*first)
    }
}

/// Its bit, and which of all those words of bits that is in.
#[inline]
fn place(head: [u8; 4]) -> (usize, u64) {
    // Fibonacci hashing: the highest bits are those that all four bytes have a part in.
    let hash = u32::from_le_bytes(head).wrapping_mul(0x9E37_79B9) >> 18;
    ((hash / 64) as usize, 1 << (hash % 64))
}

/// A set of bytes.
#[derive(Clone, Debug)]
pub(super) struct Bytes(Box<[bool; 256]>);

impl Bytes {
    pub(super) fn new() -> Self {
        Self(Box::new([false; 256]))
    }

    pub(super) fn add(&mut self, byte: u8) {
        if let Some(has) = self.0.get_mut(usize::from(byte)) {
            *has = true;
        }
    }

    #[inline]
    pub(super) fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)) == Some(&true)
    }
}
