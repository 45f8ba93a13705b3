//! Positions in a text, described for messages, with a short quote of what is there.

/// The maximum number of characters quoted on each side of a position, or of the start of a text.
const MAX_QUOTED_CHARS: usize = 16;

/// Describes the position, and returns it moved back to a character boundary.
pub(super) fn describe_position(text: &str, offset: usize) -> (usize, String) {
    // serde_json may point into the middle of a character.
    let offset =
        (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let before = text.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    let near = quote_around(text, offset);
    (offset, format!("at line {line} column {column}, near `{near}`"))
}

/// Quotes the first characters of `text`.
pub(super) fn quote_start(text: &str) -> String {
    sanitized(text.chars().take(MAX_QUOTED_CHARS))
}

fn quote_around(text: &str, offset: usize) -> String {
    let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
    let start =
        before.char_indices().rev().take(MAX_QUOTED_CHARS).last().map_or(offset, |(at, _)| at);
    let before = before.get(start..).unwrap_or_default();
    sanitized(before.chars().chain(after.chars().take(MAX_QUOTED_CHARS)))
}

/// Replaces line breaks and control characters, which would break up the sentence.
fn sanitized(chars: impl Iterator<Item = char>) -> String {
    chars.map(|c| if c.is_control() { ' ' } else { c }).collect()
}
