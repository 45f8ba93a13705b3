//! A string that arrives byte by byte.

/// Where in an escape the text has come to.
#[derive(Clone, Copy, Debug, Default)]
enum Escape {
    #[default]
    None,
    Backslash,
    /// `\u` and how many digits of its code are there.
    Code {
        code: u16,
        digits: u8,
    },
}

/// What the next bytes did to a string.
pub(super) enum Step {
    /// It took so many bytes.
    Took(usize),
    /// It took the closing quote.
    Ended,
    /// JSON has no such escape.
    Damage,
}

/// The string so far: whole characters only.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    content: String,
    escape: Escape,
    /// The first half of a character that takes two escapes.
    half: Option<u16>,
}

impl Text {
    pub(super) fn content(&self) -> &str {
        &self.content
    }

    pub(super) fn into_content(self) -> String {
        self.content
    }

    /// Takes some of `rest`, which isn't empty.
    pub(super) fn push(&mut self, rest: &str) -> Step {
        let Some(&byte) = rest.as_bytes().first() else { return Step::Took(0) };
        match (self.escape, byte) {
            (Escape::None, b'\\') => self.escape = Escape::Backslash,
            // The other half must follow.
            (Escape::None, _) if self.half.is_some() => return Step::Damage,
            (Escape::None, b'"') => return Step::Ended,
            (Escape::None, _) => {
                let plain = rest.split(['"', '\\']).next().unwrap_or_default();
                self.content.push_str(plain);
                return Step::Took(plain.len());
            }
            (Escape::Backslash, b'u') => self.escape = Escape::Code { code: 0, digits: 0 },
            (Escape::Backslash, _) => {
                let Some(character) = short(byte).filter(|_| self.half.is_none()) else {
                    return Step::Damage;
                };
                self.content.push(character);
                self.escape = Escape::None;
            }
            (Escape::Code { code, digits }, _) => {
                let Some(digit) = char::from(byte).to_digit(16) else { return Step::Damage };
                let code = code << 4 | u16::try_from(digit).unwrap_or_default();
                self.escape = Escape::Code { code, digits: digits + 1 };
                if digits == 3 {
                    self.escape = Escape::None;
                    if !self.unit(code) {
                        return Step::Damage;
                    }
                }
            }
        }
        Step::Took(1)
    }

    /// A unit of UTF-16; false where it can't stand.
    fn unit(&mut self, unit: u16) -> bool {
        if self.half.is_none() && (0xd800..0xdc00).contains(&unit) {
            self.half = Some(unit);
            return true;
        }
        let units = self.half.take().into_iter().chain([unit]);
        for character in char::decode_utf16(units) {
            let Ok(character) = character else { return false };
            self.content.push(character);
        }
        true
    }
}

const fn short(byte: u8) -> Option<char> {
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
