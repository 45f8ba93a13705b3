//! Server-sent events: the cases of the web platform tests, a second implementation of the standard
//! over whole texts, and independence of chunks.

use std::time::Duration;

use proptest::prelude::*;
use tool_runtime::http::{SseDecoder, SseEvent};

/// Name, data and id of an event; `None` if it was too long.
type Found = Option<(String, String, String)>;

fn found(event: &SseEvent) -> Found {
    Some((event.name().into(), event.data().into(), event.id().into()))
}

/// Decodes a stream that arrives in these chunks, with the state for reconnecting.
fn decode<'c>(
    limit: usize,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> (Vec<Found>, String, Option<Duration>) {
    let mut decoder = SseDecoder::new(limit);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(event) = decoder.next_event().transpose() {
            events.push(event.ok().as_ref().and_then(found));
        }
    }
    (events, decoder.last_event_id().to_owned(), decoder.retry())
}

/// The interpretation of a whole stream, word for word as in the HTML standard.
fn reference(bytes: &[u8]) -> (Vec<Found>, String, Option<Duration>) {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut retry) = (Vec::new(), None);
    let (mut data, mut name, mut id_buffer) = (String::new(), String::new(), String::new());
    let mut last_id = String::new();
    let Some((lines, _incomplete)) = text.rsplit_once('\n') else {
        return (events, last_id, retry);
    };
    for line in lines.split('\n') {
        if line.is_empty() {
            last_id.clone_from(&id_buffer);
            if let Some(data) = data.strip_suffix('\n') {
                let name = if name.is_empty() { "message" } else { &name };
                events.push(Some((name.to_owned(), data.to_owned(), last_id.clone())));
            }
            (data, name) = (String::new(), String::new());
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data += &format!("{value}\n"),
            "event" => value.clone_into(&mut name),
            "id" if !value.contains('\0') => value.clone_into(&mut id_buffer),
            "retry" if !value.is_empty() && value.chars().all(|c| c.is_ascii_digit()) => {
                retry = value.parse().ok().map(Duration::from_millis).or(retry);
            }
            _ => {}
        }
    }
    (events, last_id, retry)
}

/// Texts of the web platform tests (`eventsource/format-*`) and the data of their events.
#[test]
fn web_platform_tests_pass() {
    let long = "x".repeat(2 * 1_024);
    let comments =
        format!("data:1\r:\0\n:\r\ndata:2\n:{long}\rdata:3\n:data:fail\r:{long}\ndata:4\n\n");
    for (name, text, expected) in [
        ("bom", "\u{feff}data:1\n\n\u{feff}data:2\n\ndata:3\n\n", &["1", "3"][..]),
        ("bom-2", "\u{feff}\u{feff}data:1\n\ndata:2\n\ndata:3\n\n", &["2", "3"]),
        ("comments", &comments, &["1\n2\n3\n4"]),
        (
            "data-before-final-empty-line",
            "retry:1000\ndata:test1\n\nid:test\ndata:test2",
            &["test1"],
        ),
        ("field-data", "data:\n\ndata\ndata\n\ndata:test\n\n", &["", "\n", "test"]),
        (
            "field-parsing",
            "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\r\
             data:\r\n data:32\ndata:4\n\n",
            &["\0\n 2\n1\n3\n\n4"],
        ),
        (
            "field-unknown",
            "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n",
            &["test\n\ntest"],
        ),
        ("leading-space", "data:\ttest\rdata: \ndata:test\n\n", &["\ttest\n\ntest"]),
        ("newlines", "data:test\r\ndata\ndata:test\r\n\r", &["test\n\ntest"]),
        ("null-character", "data:\0\n\n\n\n", &["\0"]),
        ("utf-8", "data:ok…\n\n", &["ok…"]),
    ] {
        let (events, ..) = decode(10_000, [text.as_bytes()]);
        let data: Vec<_> = events.into_iter().flatten().map(|(_, data, _)| data).collect();
        assert_eq!(data, expected, "{name}");
    }
}

#[test]
fn fields_set_name_id_and_retry() {
    for (text, names, id, retry) in [
        ("event:test\ndata:x\n\ndata:x\n\n", &["test", "message"][..], "", None),
        ("event: \ndata:data\n\n", &["message"], "", None),
        ("event:a\nevent:b\ndata\n\nevent:lost\n\ndata\n\n", &["b", "message"], "", None),
        ("id: 1\ndata: 1\n\nid\n\n", &["message"], "", None),
        ("id: 1\ndata\n\nid: 2\0\ndata\n\nid: 3\n", &["message", "message"], "1", None),
        ("id: 7\ndata:\n\n", &["message"], "7", None),
        ("id: 8\n\n", &[], "8", None),
        ("retry:3000\nretry:1000x\nretry\nretry:-1\n", &[], "", Some(3_000)),
        ("retry: 1\nretry: 99999999999999999999\n", &[], "", Some(1)),
    ] {
        let (events, last_id, wait) = decode(1_000, [text.as_bytes()]);
        let found: Vec<_> = events.into_iter().flatten().map(|(name, ..)| name).collect();
        assert_eq!(found, names, "{text:?}");
        assert_eq!((last_id.as_str(), wait), (id, retry.map(Duration::from_millis)), "{text:?}");
    }
}

#[test]
fn oversized_event_is_reported_once_and_skipped() {
    for (text, expected) in [
        ("data: 12345\n\n", &[Some("12345")][..]),
        ("data: 1234567\n\ndata: a\n\n", &[None, Some("a")]),
        ("data: 1\nid: 9\ndata: 1\ndata: 1\ndata: 1\n\ndata: a\n\n", &[None, Some("a")]),
        (": a long comment\ndata: lost\r\n\r\ndata: a\n\n", &[None, Some("a")]),
        ("event: abcdefgh\ndata: 1\n\n", &[None]),
    ] {
        for size in [1, 2, 3, text.len()] {
            let (events, last_id, _) = decode(12, text.as_bytes().chunks(size));
            let data: Vec<_> =
                events.iter().map(|it| it.as_ref().map(|it| it.1.as_str())).collect();
            assert_eq!((data.as_slice(), last_id.as_str()), (expected, ""), "{text:?} by {size}");
        }
    }
}

#[test]
fn event_at_the_end_is_returned_by_finish() {
    for (text, expected) in [
        ("data: a", Some("a")),
        ("data: a\n", Some("a")),
        ("data: a\n\n", None),
        ("id: 1", None),
        ("", None),
        ("data: 123456789012", None),
    ] {
        let mut decoder = SseDecoder::new(12);
        decoder.push(text.as_bytes());
        let last = decoder.finish();
        assert_eq!(last.as_ref().map(SseEvent::data), expected, "{text:?}");
    }
}

#[test]
fn invalid_utf8_is_replaced_and_reported() {
    for (bytes, data, is_invalid) in [
        (&b"data: \xff\n\n"[..], "\u{fffd}", true),
        (b"data: \xf0\x9f\ndata: \x99\x82\n\n", "\u{fffd}\n\u{fffd}\u{fffd}", true),
        ("data: \u{fffd}\n\n".as_bytes(), "\u{fffd}", false),
    ] {
        let mut decoder = SseDecoder::new(100);
        decoder.push(bytes);
        let event = decoder.next_event().unwrap().unwrap();
        assert_eq!((event.data(), event.has_invalid_utf8()), (data, is_invalid));
    }
}

/// A stream of fragments that are often fields, and line endings.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::sample::select(vec![
        &b"data"[..],
        b"data:",
        b"data: x",
        b"event:",
        b"event: a",
        b"id: 1",
        b"id:",
        b"id: \0",
        b"retry: 10",
        b"retry:",
        b":",
        b" ",
        b"x",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\0",
        "\u{feff}".as_bytes(),
        "é".as_bytes(),
        b"\xff",
        b"\xf0\x9f",
    ]);
    prop::collection::vec(fragments, 0..40).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn events_follow_the_standard_in_any_chunks(bytes in stream(), size in 1_usize..9) {
        let expected = reference(&bytes);
        prop_assert_eq!(&decode(10_000, [bytes.as_slice()]), &expected);
        prop_assert_eq!(&decode(10_000, bytes.chunks(size)), &expected);
    }

    #[test]
    fn limited_events_do_not_depend_on_chunks(bytes in stream(), size in 1_usize..9, limit in 0_usize..30) {
        let whole = decode(limit, [bytes.as_slice()]);
        prop_assert_eq!(&decode(limit, bytes.chunks(size)), &whole);
    }
}
