//! Strings and numbers that arrive byte by byte.

/// The position within an escape.
#[derive(Clone, Copy, Debug, Default)]
enum Escape {
    #[default]
    None,
    Backslash,
    /// `\u`, with the digits so far and their number.
    Code {
        code: u16,
        digits: u8,
    },
}

/// The effect of the next bytes on a string.
pub(super) enum PushResult {
    /// This many bytes were consumed.
    Consumed(usize),
    /// The closing quote was reached.
    Closed,
    /// The escape is invalid.
    Invalid,
}

/// The string so far, in complete characters only.
#[derive(Clone, Debug, Default)]
pub(super) struct StringBuffer {
    content: String,
    escape: Escape,
    /// The first half of a surrogate pair.
    high_surrogate: Option<u16>,
}

impl StringBuffer {
    pub(super) fn content(&self) -> &str {
        &self.content
    }

    pub(super) fn into_content(self) -> String {
        self.content
    }

    /// Consumes some bytes of `rest`, which is not empty.
    pub(super) fn push(&mut self, rest: &str) -> PushResult {
        let Some(&byte) = rest.as_bytes().first() else { return PushResult::Consumed(0) };
        match (self.escape, byte) {
            (Escape::None, b'\\') => self.escape = Escape::Backslash,
            // The second half of the surrogate pair must follow.
            (Escape::None, _) if self.high_surrogate.is_some() => return PushResult::Invalid,
            (Escape::None, b'"') => return PushResult::Closed,
            (Escape::None, _) => {
                let plain = rest.split(['"', '\\']).next().unwrap_or_default();
                self.content.push_str(plain);
                return PushResult::Consumed(plain.len());
            }
            (Escape::Backslash, b'u') => self.escape = Escape::Code { code: 0, digits: 0 },
            (Escape::Backslash, _) => {
                let Some(character) = simple_escape(byte).filter(|_| self.high_surrogate.is_none())
                else {
                    return PushResult::Invalid;
                };
                self.content.push(character);
                self.escape = Escape::None;
            }
            (Escape::Code { code, digits }, _) => {
                let Some(digit) = char::from(byte).to_digit(16) else { return PushResult::Invalid };
                let code = code << 4 | u16::try_from(digit).unwrap_or_default();
                self.escape = Escape::Code { code, digits: digits + 1 };
                if digits == 3 {
                    self.escape = Escape::None;
                    if !self.push_code_unit(code) {
                        return PushResult::Invalid;
                    }
                }
            }
        }
        PushResult::Consumed(1)
    }

    /// Adds a UTF-16 code unit; returns false if it is invalid here.
    fn push_code_unit(&mut self, unit: u16) -> bool {
        if self.high_surrogate.is_none() && (0xd800..0xdc00).contains(&unit) {
            self.high_surrogate = Some(unit);
            return true;
        }
        let units = self.high_surrogate.take().into_iter().chain([unit]);
        for character in char::decode_utf16(units) {
            let Ok(character) = character else { return false };
            self.content.push(character);
        }
        true
    }
}

const fn simple_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

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
