//! Captures the head and the tail of a process's output.

use std::collections::VecDeque;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The size in bytes that no encoded secret exceeds.
const MARGIN: usize = 16 << 10;

/// The head and the tail of an output, each with a margin beyond the cut, so that a secret across
/// the cut is recognized as a whole.
#[derive(Debug)]
pub(crate) struct Capture {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The size of the whole output.
    total: usize,
}

impl Capture {
    pub(crate) fn new(limit: usize) -> Self {
        Self { half: limit / 2, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(crate) async fn read(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 8 << 10];
        // A broken pipe ends the output.
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            self.push(buffer.get(..read).unwrap_or_default());
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let max = self.half.saturating_add(MARGIN);
        let free = max.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at_checked(free).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let excess = self.tail.len().saturating_sub(max);
        self.tail.drain(..excess);
        self.total = self.total.saturating_add(bytes.len());
    }

    /// Returns the captured text. `secret_ranges` finds secrets in a text; none of them is cut in
    /// two.
    pub(crate) fn into_text(self, secret_ranges: impl Fn(&str) -> Vec<Range<usize>>) -> String {
        let Self { half, mut head, tail, total } = self;
        let tail: Vec<u8> = tail.into();
        if total <= half.saturating_mul(2) {
            head.extend(tail);
            return String::from_utf8_lossy(&head).into_owned();
        }
        // If nothing was dropped between the two, the tail of the text starts within the head.
        let dropped = total.saturating_sub(head.len() + tail.len());
        let (before, after) = match dropped {
            0 => {
                head.extend(tail);
                let whole = String::from_utf8_lossy(&head).into_owned();
                (whole.clone(), whole)
            }
            _ => [&head, &tail].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).into(),
        };
        let end = end_of_head(&before, half, &secret_ranges(&before));
        let before = before.get(..end).unwrap_or_default();
        let start = start_of_tail(&after, half, &secret_ranges(&after));
        let after = after.get(start..).unwrap_or_default();
        let left_out = total.saturating_sub(before.len() + after.len());
        format!("{before}\n[… {left_out} bytes left out …]\n{after}")
    }
}

/// Returns the end of at most `half` bytes from the start that do not end within a secret.
fn end_of_head(text: &str, half: usize, secrets: &[Range<usize>]) -> usize {
    let mut end =
        (0..=half.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    while let Some(secret) = secrets.iter().find(|range| range.start < end && end < range.end) {
        end = secret.start;
    }
    end
}

/// Returns the start of at most `half` bytes at the end that do not start within a secret.
fn start_of_tail(text: &str, half: usize, secrets: &[Range<usize>]) -> usize {
    let start = text.len().saturating_sub(half);
    let mut start =
        (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    while let Some(secret) = secrets.iter().find(|range| range.start < start && start < range.end) {
        start = secret.end;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::{Capture, MARGIN};

    #[test]
    fn long_output_keeps_head_and_tail() {
        let long = "x".repeat(3 * MARGIN);
        let left = 3 * MARGIN + 10 - 4;
        for (limit, written, expected) in [
            (10, &["01234", "56789"][..], "0123456789".to_owned()),
            (4, &["0", "1234567", "89"], "01\n[… 6 bytes left out …]\n89".to_owned()),
            (0, &["0"], "\n[… 1 bytes left out …]\n".to_owned()),
            (10, &[], String::new()),
            (4, &["01234", &long, "56789"], format!("01\n[… {left} bytes left out …]\n89")),
            (4, &["0é1", "é8"], "0\n[… 5 bytes left out …]\n8".to_owned()),
        ] {
            let mut capture = Capture::new(limit);
            written.iter().for_each(|text| capture.push(text.as_bytes()));
            assert_eq!(capture.into_text(|_| Vec::new()), expected);
        }
    }

    #[test]
    fn cut_never_splits_a_secret() {
        let secret = "s3cr3t";
        let secret_ranges = |text: &str| {
            text.match_indices(secret).map(|(at, found)| at..at + found.len()).collect()
        };
        for between in [0, 20, 3 * MARGIN] {
            for before in 0..40 {
                let pad = ".".repeat(before);
                let text = format!("{pad}{secret}{}{secret}{pad}", "-".repeat(between));
                let mut capture = Capture::new(40);
                text.as_bytes().chunks(7).for_each(|bytes| capture.push(bytes));
                let output = capture.into_text(secret_ranges).replace(secret, "");
                let visible = output.lines().filter(|line| !line.contains("left out"));
                assert!(visible.collect::<String>().chars().all(|c| ".-".contains(c)), "{output}");
            }
        }
    }
}
