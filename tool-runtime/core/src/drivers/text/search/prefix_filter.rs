//! A filter of marker prefixes, which rejects nearly every position without comparing markers.

/// A set of the first four bytes of markers. Like a Bloom filter it may contain false positives.
#[derive(Clone, Debug)]
pub(crate) struct PrefixFilter {
    /// The first bytes of shorter markers.
    short: ByteSet,
    /// One bit for each hash of a longer prefix.
    long: Box<[u64; 256]>,
}

impl PrefixFilter {
    pub(crate) fn new() -> Self {
        Self { short: ByteSet::new(), long: Box::new([0; 256]) }
    }

    pub(crate) fn add(&mut self, marker: &[u8]) {
        match marker.first_chunk() {
            Some(prefix) => {
                let (index, bit) = index(*prefix);
                if let Some(bits) = self.long.get_mut(index) {
                    *bits |= bit;
                }
            }
            None => marker.first().into_iter().for_each(|first| self.short.add(*first)),
        }
    }

    /// Returns true if a marker may begin here.
    #[inline]
    pub(crate) fn may_match(&self, bytes: &[u8]) -> bool {
        let Some(prefix @ [first, ..]) = bytes.first_chunk::<4>() else { return true };
        let (index, bit) = index(*prefix);
        self.long.get(index).is_some_and(|bits| bits & bit != 0) || self.short.has(*first)
    }
}

/// Returns the index of the word and the bit in it for a prefix.
#[inline]
fn index(prefix: [u8; 4]) -> (usize, u64) {
    // Fibonacci hashing: all four bytes contribute to the highest bits.
    let hash = u32::from_le_bytes(prefix).wrapping_mul(0x9E37_79B9) >> 18;
    ((hash / 64) as usize, 1 << (hash % 64))
}

/// A set of bytes.
#[derive(Clone, Debug)]
pub(crate) struct ByteSet(Box<[bool; 256]>);

impl ByteSet {
    pub(crate) fn new() -> Self {
        Self(Box::new([false; 256]))
    }

    pub(crate) fn add(&mut self, byte: u8) {
        if let Some(has) = self.0.get_mut(usize::from(byte)) {
            *has = true;
        }
    }

    #[inline]
    pub(crate) fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)) == Some(&true)
    }
}
