//! Recognizes a number that arrives byte by byte.

/// The state within JSON's grammar of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    Sign,
    Power,
}

/// The digits so far.
#[derive(Clone, Debug)]
pub(super) struct NumberBuffer {
    text: String,
    stage: Stage,
    /// The length of the longest prefix that is a number: 1 for `1.`.
    number_len: usize,
}

impl NumberBuffer {
    pub(super) const fn new() -> Self {
        Self { text: String::new(), stage: Stage::Start, number_len: 0 }
    }

    /// Adds the next byte; returns false if the number cannot continue with it.
    pub(super) fn push(&mut self, byte: u8) -> bool {
        use Stage::*;
        let next = match (self.stage, byte) {
            (Start, b'-') => Minus,
            (Start | Minus, b'0') => Zero,
            (Start | Minus, b'1'..=b'9') | (Whole, b'0'..=b'9') => Whole,
            (Zero | Whole, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Whole | Fraction, b'e' | b'E') => Exponent,
            (Exponent, b'+' | b'-') => Sign,
            (Exponent | Sign | Power, b'0'..=b'9') => Power,
            _ => return false,
        };
        self.stage = next;
        self.text.push(char::from(byte));
        if matches!(next, Zero | Whole | Fraction | Power) {
            self.number_len = self.text.len();
        }
        true
    }

    /// Parses the longest prefix that is a number.
    pub(super) fn longest_number(&self) -> Option<serde_json::Number> {
        serde_json::from_str(self.text.get(..self.number_len)?).ok()
    }

    /// Parses the number, if it may end here.
    pub(super) fn complete_number(&self) -> Option<serde_json::Number> {
        self.longest_number().filter(|_| self.number_len == self.text.len())
    }
}
