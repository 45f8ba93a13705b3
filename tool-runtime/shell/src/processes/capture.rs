//! The head and the tail of the output of a command.

use std::collections::VecDeque;
use std::ops::Range;

/// The most bytes of the start of an output that the model receives.
const HEAD_BYTES: usize = 10_000;

/// The most bytes of the end of an output that the model receives. Errors are usually there.
const TAIL_BYTES: usize = 20_000;

/// The bytes beyond a cut that are searched for secrets, so that one across the cut is found as a
/// whole. They are never shown.
pub(crate) const MARGIN: usize = 16 << 10;

/// The start and the end of an output.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: usize,
}

impl Capture {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len());
        let free = (HEAD_BYTES + MARGIN).saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at_checked(free).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES + MARGIN);
        self.tail.drain(..excess);
    }

    /// Returns the text for the model. `redact` returns a part of a text without secrets.
    pub(crate) fn text(mut self, redact: impl Fn(&str, Range<usize>) -> String) -> String {
        let tail: Vec<u8> = self.tail.into();
        if self.total == self.head.len() + tail.len() {
            self.head.extend(tail);
            let text = String::from_utf8_lossy(&self.head);
            return excerpt(&text, 0..text.len(), redact);
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        let omitted = self.total.saturating_sub(HEAD_BYTES + TAIL_BYTES);
        let tail_start = ceil(&tail, tail.len().saturating_sub(TAIL_BYTES));
        joined(
            &redact(&head, 0..floor(&head, HEAD_BYTES)),
            &redact(&tail, tail_start..tail.len()),
            omitted,
        )
    }
}

/// Returns a part of a text, or the head and tail of the part if it is long. `redact` returns a
/// part of a text without secrets, also of those that reach into the part.
pub(crate) fn excerpt(
    text: &str,
    part: Range<usize>,
    redact: impl Fn(&str, Range<usize>) -> String,
) -> String {
    let redacted = |part: Range<usize>| {
        let start = floor(text, part.start.saturating_sub(MARGIN));
        let end = ceil(text, part.end.saturating_add(MARGIN));
        let window = text.get(start..end).unwrap_or_default();
        redact(window, part.start - start..part.end - start)
    };
    match part.len().checked_sub(HEAD_BYTES + TAIL_BYTES) {
        None | Some(0) => redacted(part),
        Some(omitted) => {
            let head = part.start..floor(text, part.start + HEAD_BYTES);
            let tail = ceil(text, part.end - TAIL_BYTES)..part.end;
            joined(&redacted(head), &redacted(tail), omitted)
        }
    }
}

fn joined(head: &str, tail: &str, omitted: usize) -> String {
    format!("{head}\n[… {omitted} bytes omitted …]\n{tail}")
}

/// Returns the boundary of a character at or before an offset.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Returns the boundary of a character at or after an offset.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::{Capture, HEAD_BYTES, MARGIN, TAIL_BYTES, excerpt};

    /// Returns a part of a text without the secret `<…>`, however long it is.
    fn redact(text: &str, part: Range<usize>) -> String {
        let (mut redacted, mut at) = (String::new(), part.start);
        for (start, _) in text.match_indices('<') {
            let end = text.get(start..).unwrap().find('>').map_or(start, |len| start + len + 1);
            if start < part.end && end > at {
                redacted += text.get(at..start.max(at)).unwrap();
                redacted += "[redacted]";
                at = end;
            }
        }
        redacted + text.get(at..part.end).unwrap_or_default()
    }

    fn text_of(chunks: &[&[u8]]) -> String {
        let mut capture = Capture::default();
        chunks.iter().for_each(|chunk| capture.push(chunk));
        capture.text(redact)
    }

    #[test]
    fn short_output_is_complete() {
        assert_eq!(text_of(&[b"one\n", b"two \xff\n"]), "one\ntwo \u{fffd}\n");
        assert_eq!(text_of(&[]), "");
    }

    #[test]
    fn long_output_has_head_and_tail() {
        for length in [HEAD_BYTES + TAIL_BYTES + 2 * MARGIN, HEAD_BYTES + TAIL_BYTES] {
            let middle = "é".repeat(length / 2);
            let text = text_of(&[b"start ", middle.as_bytes(), b" end"]);
            let omitted = 10 + middle.len() - HEAD_BYTES - TAIL_BYTES;
            assert!(text.starts_with("start é") && text.ends_with("é end"));
            assert!(text.contains(&format!("é\n[… {omitted} bytes omitted …]\né")));
            assert!(text.len() <= HEAD_BYTES + TAIL_BYTES + 50);
        }
    }

    #[test]
    fn secret_across_a_cut_is_redacted() {
        for before in HEAD_BYTES - 10..HEAD_BYTES + 10 {
            for after in TAIL_BYTES - 10..TAIL_BYTES + 10 {
                let (before, after) = ("-".repeat(before), "-".repeat(after));
                for between in [100, 3 * MARGIN].map(|length| ".".repeat(length)) {
                    let chunks = [&before, "<SECRET>", &between, "<SECRET>", &after];
                    let text = text_of(&chunks.map(str::as_bytes));
                    assert!(!text.contains(|c: char| "<SECRT>".contains(c)), "{text}");
                }
            }
        }
    }

    /// The text that is searched beyond a cut is not shown, however short the redacted text is.
    #[test]
    fn margin_is_never_shown() {
        for secret in [20, 80, 90] {
            let line = format!("{:-<20}<{}>\n", "", "SECRET".repeat(secret / 6));
            for count in [300, 600, 2000] {
                for shift in 0..40 {
                    let output = format!("{}{}", "+".repeat(shift), line.repeat(count));
                    let text = text_of(&[output.as_bytes()]);
                    assert!(!text.contains("SEC") && !text.contains("RET"), "{text}");
                    let part = shift..output.len() - shift;
                    let text = excerpt(&output, part, redact);
                    assert!(!text.contains("SEC") && !text.contains("RET"), "{text}");
                }
            }
        }
    }
}
