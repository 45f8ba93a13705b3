//! What a program writes, as far as it is kept.

use std::collections::VecDeque;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// More than a secret takes, however it is spelled, in bytes.
const MARGIN: usize = 16 << 10;

/// The head and the tail of what is written, and a margin behind each: a secret that stands where the
/// text is cut has to be seen whole.
#[derive(Debug)]
pub(super) struct Capture {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// All that was written.
    total: usize,
}

impl Capture {
    pub(super) fn new(limit: usize) -> Self {
        Self { half: limit / 2, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) async fn read(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 8 << 10];
        // A pipe that breaks has said all that it will.
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            self.take(buffer.get(..read).unwrap_or_default());
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let most = self.half.saturating_add(MARGIN);
        let room = most.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let over = self.tail.len().saturating_sub(most);
        self.tail.drain(..over);
        self.total = self.total.saturating_add(bytes.len());
    }

    /// What is kept of it, as text. Where it is cut, none of the `secrets` in it is cut in two.
    pub(super) fn text(self, secrets: impl Fn(&str) -> Vec<Range<usize>>) -> String {
        let Self { half, mut head, tail, total } = self;
        let tail: Vec<u8> = tail.into();
        if total <= half.saturating_mul(2) {
            head.extend(tail);
            return String::from_utf8_lossy(&head).into_owned();
        }
        // Where nothing is lost between the two, the tail begins in the head.
        let missing = total.saturating_sub(head.len() + tail.len());
        let (before, after) = match missing {
            0 => {
                head.extend(tail);
                let whole = String::from_utf8_lossy(&head).into_owned();
                (whole.clone(), whole)
            }
            _ => [&head, &tail].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).into(),
        };
        let before =
            before.get(..end_of_head(&before, half, &secrets(&before))).unwrap_or_default();
        let after = after.get(start_of_tail(&after, half, &secrets(&after))..).unwrap_or_default();
        let left_out = total.saturating_sub(before.len() + after.len());
        format!("{before}\n[… {left_out} bytes left out …]\n{after}")
    }
}

/// At most `half` bytes from the start, and none of a secret that goes on behind them.
fn end_of_head(text: &str, half: usize, secrets: &[Range<usize>]) -> usize {
    let mut end =
        (0..=half.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    while let Some(cut) = secrets.iter().find(|place| place.start < end && end < place.end) {
        end = cut.start;
    }
    end
}

/// The same from the end.
fn start_of_tail(text: &str, half: usize, secrets: &[Range<usize>]) -> usize {
    let start = text.len().saturating_sub(half);
    let mut start =
        (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    while let Some(cut) = secrets.iter().find(|place| place.start < start && start < place.end) {
        start = cut.end;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::{Capture, MARGIN};

    #[test]
    fn head_and_tail_are_kept() {
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
            written.iter().for_each(|text| capture.take(text.as_bytes()));
            assert_eq!(capture.text(|_| Vec::new()), expected);
        }
    }

    #[test]
    fn no_secret_is_cut_in_two() {
        let secret = "s3cr3t";
        let places = |text: &str| {
            text.match_indices(secret).map(|(at, found)| at..at + found.len()).collect()
        };
        for between in [0, 20, 3 * MARGIN] {
            for before in 0..40 {
                let pad = ".".repeat(before);
                let text = format!("{pad}{secret}{}{secret}{pad}", "-".repeat(between));
                let mut capture = Capture::new(40);
                text.as_bytes().chunks(7).for_each(|bytes| capture.take(bytes));
                let kept = capture.text(places).replace(secret, "");
                let said = kept.lines().filter(|line| !line.contains("left out"));
                assert!(said.collect::<String>().chars().all(|c| ".-".contains(c)), "{kept}");
            }
        }
    }
}
