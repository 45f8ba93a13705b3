//! Words without quotes: literals, names and keys.

/// The literals of JSON and of other languages; `None` is null.
pub(super) const LITERALS: [(&str, Option<bool>); 12] = [
    ("true", Some(true)),
    ("false", Some(false)),
    ("null", None),
    ("True", Some(true)),
    ("False", Some(false)),
    ("None", None),
    ("TRUE", Some(true)),
    ("FALSE", Some(false)),
    ("NULL", None),
    ("Null", None),
    ("undefined", None),
    ("nil", None),
];

/// The maximum length of a key in bytes.
pub(super) const MAX_KEY_LEN: usize = 256;

/// Returns whether `text` begins with a literal.
pub(super) fn begins_literal(text: &str) -> bool {
    LITERALS.iter().any(|(word, _)| {
        text.strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// The length of the unquoted key at the start of `text`.
pub(super) fn bare_key_len(text: &str) -> usize {
    let len = ascii_key_len(text).or_else(|| text.find(|c: char| !is_bare_key(c)));
    len.unwrap_or(text.len())
}

/// The length of the unquoted key at the start of `text`, if it is short and all ASCII, as is the
/// next character.
pub(super) fn ascii_key_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let continues = |byte: &u8| IN_ASCII_KEY.get(usize::from(*byte)).copied().unwrap_or(false);
    let len = bytes.iter().take(MAX_KEY_LEN).position(|byte| !continues(byte))?;
    bytes.get(len)?.is_ascii().then_some(len)
}

/// Whether each byte may be in a key: most keys of damaged texts are read with this table.
const IN_ASCII_KEY: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        #[expect(clippy::indexing_slicing, reason = "checked when it is compiled")]
        {
            table[byte as usize] = byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-' | b'.' | b'$' | b'@' | b'/' | b' ');
        }
        byte += 1;
    }
    table
};

/// Returns whether `c` may be in a key without quotes.
pub(super) fn is_bare_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@' | '/' | ' ')
}

/// Returns whether `c` may be in a name.
pub(super) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$')
}

/// Returns whether `word` is a single word that may be a key without quotes.
pub(super) fn is_name(word: &str) -> bool {
    let word = word.trim_end();
    word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
        && word.chars().all(is_name_char)
}
