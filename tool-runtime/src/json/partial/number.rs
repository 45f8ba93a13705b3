//! A number that arrives byte by byte.

/// How far JSON's grammar of numbers has come.
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
pub(super) struct Digits {
    text: String,
    stage: Stage,
    /// How much of it is a number as it stands: `1` of `1.`.
    whole: usize,
}

impl Digits {
    pub(super) const fn new() -> Self {
        Self { text: String::new(), stage: Stage::Start, whole: 0 }
    }

    /// Takes the next byte; false when the number doesn't go on with it.
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
            self.whole = self.text.len();
        }
        true
    }

    /// The longest number that it begins with.
    pub(super) fn so_far(&self) -> Option<serde_json::Number> {
        serde_json::from_str(self.text.get(..self.whole)?).ok()
    }

    /// The number, if it may end here.
    pub(super) fn end(&self) -> Option<serde_json::Number> {
        self.so_far().filter(|_| self.whole == self.text.len())
    }
}
