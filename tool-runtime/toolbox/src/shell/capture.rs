//! The head and the tail of the output of a command.

use std::collections::VecDeque;

/// The most bytes of the start of an output that the model receives.
const HEAD_BYTES: usize = 10_000;

/// The most bytes of the end of an output that the model receives. Errors are usually there.
const TAIL_BYTES: usize = 20_000;

/// The bytes that are kept beyond the cut, so that a secret across the cut is found as a whole.
const MARGIN: usize = 16 << 10;

/// The start and the end of an output.
#[derive(Debug, Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: usize,
}

impl Capture {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len());
        let free = (HEAD_BYTES + MARGIN).saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at_checked(free).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES + MARGIN);
        self.tail.drain(..excess);
    }

    /// Returns the text for the model, in which `redact` has replaced the secrets.
    pub(super) fn text(mut self, redact: impl Fn(&str) -> String) -> String {
        let tail: Vec<u8> = self.tail.into();
        let redacted = |bytes: &[u8]| redact(&String::from_utf8_lossy(bytes));
        if self.total == self.head.len() + tail.len() {
            self.head.extend(tail);
            return cut(&redacted(&self.head));
        }
        let (head, tail) = (redacted(&self.head), redacted(&tail));
        joined(&head, &tail, self.total.saturating_sub(HEAD_BYTES + TAIL_BYTES))
    }
}

/// Returns a text, or its head and tail if it is long.
pub(super) fn cut(text: &str) -> String {
    match text.len().checked_sub(HEAD_BYTES + TAIL_BYTES) {
        None | Some(0) => text.to_owned(),
        Some(omitted) => joined(text, text, omitted),
    }
}

fn joined(head: &str, tail: &str, omitted: usize) -> String {
    let end = (0..=HEAD_BYTES.min(head.len())).rev().find(|at| head.is_char_boundary(*at));
    let start = tail.len().saturating_sub(TAIL_BYTES);
    let start = (start..=tail.len()).find(|at| tail.is_char_boundary(*at));
    let head = end.and_then(|end| head.get(..end)).unwrap_or_default();
    let tail = start.and_then(|start| tail.get(start..)).unwrap_or_default();
    format!("{head}\n[… {omitted} bytes omitted …]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::{Capture, HEAD_BYTES, MARGIN, TAIL_BYTES};

    fn text_of(chunks: &[&[u8]]) -> String {
        let mut capture = Capture::default();
        chunks.iter().for_each(|chunk| capture.push(chunk));
        capture.text(|text| text.replace("s3cr3t", "[redacted]"))
    }

    #[test]
    fn short_output_is_complete() {
        assert_eq!(text_of(&[b"one\n", b"two \xff\n"]), "one\ntwo \u{fffd}\n");
        assert_eq!(text_of(&[]), "");
    }

    #[test]
    fn long_output_has_head_and_tail() {
        let middle = "é".repeat(HEAD_BYTES + TAIL_BYTES + 2 * MARGIN);
        let text = text_of(&[b"start ", middle.as_bytes(), b" end"]);
        let omitted = 10 + middle.len() - HEAD_BYTES - TAIL_BYTES;
        assert!(text.starts_with("start é") && text.ends_with("é end"));
        assert!(text.contains(&format!("é\n[… {omitted} bytes omitted …]\né")));
        assert!(text.len() <= HEAD_BYTES + TAIL_BYTES + 50);
    }

    #[test]
    fn secret_across_a_cut_is_redacted() {
        for before in HEAD_BYTES - 10..HEAD_BYTES + 10 {
            for after in TAIL_BYTES - 10..TAIL_BYTES + 10 {
                let (before, after) = ("-".repeat(before), "-".repeat(after));
                let between = ".".repeat(3 * MARGIN);
                let text = text_of(&[
                    before.as_bytes(),
                    b"s3cr3t",
                    between.as_bytes(),
                    b"s3cr3t",
                    after.as_bytes(),
                ]);
                let rest = text.replace("[redacted]", "").replace("bytes omitted", "");
                assert!(!rest.contains("3c") && !rest.contains("cr") && !rest.contains("3t"));
            }
        }
    }
}
