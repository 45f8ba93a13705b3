use std::ops::Range;

use regex_lite::{Regex, RegexBuilder};

use super::{End, MAX_BYTES, OVERLAP, Output, Redact};

/// Replaces one secret.
struct Secret(&'static str);

impl Redact for Secret {
    fn redact(&self, text: &str, part: Range<usize>) -> String {
        let (mut redacted, mut at) = (String::new(), part.start);
        for (start, _) in text.match_indices(self.0) {
            let end = start + self.0.len();
            if start < part.end && end > at {
                redacted += text.get(at..start.max(at)).unwrap();
                redacted += "[redacted]";
                at = end;
            }
        }
        redacted + text.get(at..part.end).unwrap_or_default()
    }

    fn unfinished_secret(&self, text: &str) -> Option<usize> {
        let mut lengths = (1..self.0.len()).rev();
        let length = lengths.find(|length| text.ends_with(self.0.get(..*length).unwrap()))?;
        Some(text.len() - length)
    }
}

const SECRET: Secret = Secret("s3cr3t-k3y");

#[test]
fn each_line_is_returned_once() {
    let output = Output::default();
    for (written, lines, partial) in [
        (&b"one\ntw"[..], "one\n", "tw"),
        (b"", "", "tw"),
        (b"o", "", "two"),
        (b"\n", "two\n", ""),
        (b"\xe2\x82", "", ""),
        (b"\xac \xff\xff\n", "€ \u{fffd}\u{fffd}\n", ""),
        (b"$ ", "", "$ "),
    ] {
        output.push(written);
        let (news, end) = output.look(&SECRET);
        assert_eq!((&*news.lines, &*news.partial, end), (lines, partial, None));
    }
    let end = End { code: Some(0), signal: None };
    output.push(b"\xe2");
    output.finish(end);
    let (news, first) = output.look(&SECRET);
    assert_eq!((&*news.lines, &*news.partial), ("$ \u{fffd}", ""));
    assert_eq!((news.end, first), (Some(end), Some(end)));
    assert_eq!(output.look(&SECRET).1, None);
}

#[test]
fn oldest_output_is_dropped() {
    let output = Output::default();
    output.push(&vec![b'x'; MAX_BYTES]);
    output.push(b"12345\n");
    let (news, _) = output.look(&SECRET);
    assert_eq!(news.dropped, 6);
    assert!(news.lines.ends_with("x12345\n"));
    assert_eq!(output.look(&SECRET).0.dropped, 0);
}

#[test]
fn secret_is_not_shown_in_parts() {
    let text = "key: s3cr3t-k3y\nand s3cr3t-k3y.\n";
    for length in 1..text.len() {
        let output = Output::default();
        let mut lines = String::new();
        for piece in text.as_bytes().chunks(length) {
            output.push(piece);
            let (news, _) = output.look(&SECRET);
            lines += &news.lines;
            assert!(!format!("{lines}{}", news.partial).contains('3'), "{length}: {news:?}");
        }
        assert_eq!(lines, "key: [redacted]\nand [redacted].\n");
    }
}

#[test]
fn rest_of_a_dropped_secret_is_not_shown() {
    for cut in 0..SECRET.0.len() + 2 {
        let output = Output::default();
        output.push(b"--");
        output.push(SECRET.0.as_bytes());
        output.push(&vec![b'.'; MAX_BYTES - SECRET.0.len() - 2]);
        output.push(&vec![b'.'; cut]);
        output.finish(End { code: Some(0), signal: None });
        let (news, _) = output.look(&SECRET);
        assert_eq!(news.dropped, cut as u64);
        let start = news.lines.get(..40).unwrap();
        assert!(!start.contains('3'), "{cut}: {start}");
    }
}

fn pattern(text: &str) -> Regex {
    RegexBuilder::new(text).multi_line(true).build().unwrap()
}

/// Pushes the pieces one by one, and returns after how many of them the pattern was found.
async fn found_after(regex: &str, pieces: &[String]) -> Option<usize> {
    let output = Output::default();
    let wait = output.wait_for(pattern(regex));
    tokio::pin!(wait);
    for (index, piece) in pieces.iter().enumerate() {
        output.push(piece.as_bytes());
        let limit =
            std::time::Duration::from_millis(if index + 1 < pieces.len() { 20 } else { 5000 });
        if tokio::time::timeout(limit, &mut wait).await.is_ok() {
            return Some(index + 1);
        }
    }
    None
}

#[tokio::test]
async fn pattern_is_found_across_pieces() {
    let pieces = |pieces: &[&str]| pieces.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    for (regex, texts, expected) in [
        ("^ready$", pieces(&["rea", "dy\n"]), Some(2)),
        ("^ready$", pieces(&["not ", "ready\n", "ready\n"]), Some(3)),
        (r"\bup\b", pieces(&["start", "up ", "up "]), Some(3)),
        ("a\nb", pieces(&["a", "\n", "b"]), Some(3)),
        ("é+!", pieces(&["é", "é", "!"]), Some(3)),
    ] {
        assert_eq!(found_after(regex, &texts).await, expected, "{regex}");
    }
}

#[test]
fn searched_output_is_not_searched_again() {
    let output = Output::default();
    let mut searched = 0;
    for _ in 0..200 {
        output.push(&vec![b'x'; OVERLAP]);
        let (text, _, total, _) = output.unsearched(searched);
        assert!(text.len() <= 2 * OVERLAP + 4, "{}", text.len());
        searched = total;
    }
    assert_eq!(searched, 200 * OVERLAP as u64);
}
