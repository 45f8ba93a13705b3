//! Lines: their endings, the limit, and independence of chunks.

use proptest::prelude::*;
use tool_runtime::http::LineDecoder;

/// Decodes a stream that arrives in these chunks. A line that is too long is `None`.
fn decode<'c>(limit: usize, chunks: impl IntoIterator<Item = &'c [u8]>) -> Vec<Option<Vec<u8>>> {
    let mut decoder = LineDecoder::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(line) = decoder.next_line().transpose() {
            lines.push(line.ok());
        }
    }
    lines.extend(decoder.finish().map(Some));
    lines
}

fn line(text: &str) -> Option<Vec<u8>> {
    Some(text.into())
}

#[test]
fn lines_end_with_line_feeds() {
    for (text, expected) in [
        ("", vec![]),
        ("a\nb\r\n", vec![line("a"), line("b")]),
        ("a\rb\n\r\r\n", vec![line("a\rb"), line("\r")]),
        ("\n\na", vec![line(""), line(""), line("a")]),
        ("a\r", vec![line("a")]),
        ("123456\n1234567\n1", vec![line("123456"), None, line("1")]),
        ("1234567890", vec![None]),
        ("1234567890\n\nok\n", vec![None, line(""), line("ok")]),
    ] {
        assert_eq!(decode(6, [text.as_bytes()]), expected, "{text:?}");
    }
}

proptest! {
    #[test]
    fn lines_do_not_depend_on_chunks(
        text in "[a\r\n]{0,60}",
        size in 1_usize..8,
        limit in 0_usize..9,
    ) {
        let chunks = decode(limit, text.as_bytes().chunks(size));
        prop_assert_eq!(chunks, decode(limit, [text.as_bytes()]));
    }

    /// Except for a carriage return at the end of the text, which `str::lines` keeps.
    #[test]
    fn lines_are_those_of_the_standard_library(text in "[a\r\n]{0,60}") {
        prop_assume!(!text.ends_with('\r'));
        let expected: Vec<_> = text.lines().map(line).collect();
        prop_assert_eq!(decode(100, [text.as_bytes()]), expected);
    }
}
