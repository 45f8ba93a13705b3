//! Continues after the strict pass, with the containers that it has built.
//!
//! The result must be the same as from the start. The text before the error is JSON, in which the
//! parser finds nothing to repair. But a quote there ends a string only if the text after it fits,
//! up to the first sign of the next member's value. So the parser goes back to an element for which
//! that text is JSON as well: an open container that contains the error, or a complete element with
//! its comma.

use serde::Deserialize;
use serde_json::{Map, Value, error::Category};

use super::RecoveryMode;
use super::builder::ValueBuilder;
use super::containers::ContainerKind;
use super::parser::Parser;
use super::source::SourceText;
use crate::strict::{ParsedPrefix, PartialContainer, is_json};

/// The maximum length of a truncated escape before the position of the error.
const ESCAPE: usize = 12;
/// The number of open containers at which serde_json refuses another one.
const MAX_DEPTH: usize = 127;

/// The position where the parser continues, and the containers open there.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    open: Vec<PartialContainer>,
    closed: usize,
    at: usize,
    /// The text is JSON up to here.
    stop: usize,
}

impl Checkpoint {
    /// Returns the checkpoint for `error`; `None` if it is unknown, or is the start of the text.
    pub(crate) fn new(
        text: &str,
        error: &serde_json::Error,
        progress: ParsedPrefix,
    ) -> Option<Self> {
        let ParsedPrefix { mut open, mut closed, is_uncertain, has_value } = progress;
        let is_certain = !is_uncertain && !has_value && open.len() < MAX_DEPTH;
        let scan = BackwardScan { text };
        let stop = scan.stop(error).filter(|_| is_certain)?;
        let last = scan.element(stop, open.last()?)?;
        closed = closed.checked_sub(last.closed)?;
        let at = if last.is_first {
            open.pop()?;
            let outer = open.last_mut()?;
            let start = scan.element(last.before, outer)?.start;
            outer.take_key();
            start
        } else {
            let frame = open.last_mut()?;
            if !frame.take_key() && last.start < stop {
                frame.pop_last(text, last.start)?;
            }
            let complete = scan.element(last.before, frame)?;
            closed = closed.checked_sub(complete.closed)?;
            frame.pop_last(text, complete.start)?;
            complete.start
        };
        let (_, outer) = open.split_last()?;
        let is_new = |open: &PartialContainer| match open {
            PartialContainer::Array(_) => true,
            PartialContainer::Object(members, key) => {
                key.as_ref().is_some_and(|key| !members.contains_key(key))
            }
        };
        outer.iter().all(is_new).then_some(Self { open, closed, at, stop })
    }

    /// The position from which the text is parsed again.
    pub(crate) const fn start(&self) -> usize {
        self.at
    }

    /// Returns whether the checkpoint is valid if nothing after `end` is seen.
    pub(crate) const fn is_valid_before(&self, end: usize) -> bool {
        self.stop <= end
    }
}

impl<'t, 's> Parser<'t, 's, ValueBuilder> {
    /// Creates the parser in the state of `checkpoint`, for a value that begins at `start`.
    pub(super) fn from_checkpoint(
        source: SourceText<'t>,
        start: usize,
        mode: RecoveryMode<'s>,
        checkpoint: Checkpoint,
    ) -> Self {
        let mut parser = Self::new(source, start, mode);
        parser.bump_to(checkpoint.at);
        // An object that was closed here is not the last one before a later bracket.
        parser.containers_mut().set_closed_objects(checkpoint.closed, start);
        for open in checkpoint.open {
            let subschemas = parser.next_subschemas();
            let (kind, items, members, key) = match open {
                PartialContainer::Array(items) => (ContainerKind::Array, items, Map::new(), None),
                PartialContainer::Object(members, key) => {
                    (ContainerKind::Object, Vec::new(), members, key)
                }
            };
            // The key is new and its value has begun, so the span is never used.
            let key = key.map(|key| (key, start..start));
            parser.containers_mut().reopen(kind, start, subschemas, items, members, key);
        }
        parser
    }
}

impl PartialContainer {
    const fn is_object(&self) -> bool {
        matches!(self, Self::Object(..))
    }

    /// Removes the key without a complete value, and returns whether there was one.
    fn take_key(&mut self) -> bool {
        match self {
            Self::Array(_) => false,
            Self::Object(_, key) => key.take().is_some(),
        }
    }

    /// Removes the last element, which begins at `start` in `text`.
    fn pop_last(&mut self, text: &str, start: usize) -> Option<Value> {
        match self {
            Self::Array(items) => items.pop(),
            Self::Object(members, _) => {
                let mut input = serde_json::Deserializer::from_str(text.get(start..)?);
                members.remove(&String::deserialize(&mut input).ok()?)
            }
        }
    }
}

/// An element, or the beginning of one.
struct ScannedElement {
    start: usize,
    /// The position of the comma or bracket before it.
    before: usize,
    is_first: bool,
    /// The number of objects in it that were members of objects.
    closed: usize,
}

/// Scans JSON text backwards.
struct BackwardScan<'t> {
    text: &'t str,
}

impl BackwardScan<'_> {
    /// The start of the token in which serde_json stopped. The category of the error, its position
    /// and the text before it decide; the wording of the error may change.
    fn stop(&self, error: &serde_json::Error) -> Option<usize> {
        let lines = error.line().checked_sub(1)?;
        let mut breaks = memchr::memchr_iter(b'\n', self.text.as_bytes());
        let line = lines.checked_sub(1).map_or(Some(0), |last| Some(breaks.nth(last)? + 1))?;
        let end = line + error.column();
        // The position of the byte that does not fit, or the end of the text.
        let stop = match error.classify() {
            Category::Eof => end,
            Category::Syntax => end.checked_sub(1)?,
            Category::Data | Category::Io => return None,
        };
        let bytes = self.text.as_bytes();
        let tail = bytes.get(end.saturating_sub(ESCAPE)..end)?;
        // An error in an escape may be reported after the end of its string.
        if tail.windows(2).any(|pair| pair == br"\u") {
            return None;
        }
        if self.is_in_string(stop) {
            return self.quote(end);
        }
        let start = self.word(stop)?;
        let word = self.text.get(start..stop)?;
        // A number that ends before another digit was refused, such as `01` and `1e999`.
        let is_number = word.ends_with(|c: char| c.is_ascii_digit());
        let is_refused = is_number && bytes.get(stop).is_some_and(u8::is_ascii_digit);
        Some(if is_json(word) && !is_refused { stop } else { start })
    }

    /// Returns whether a string is open at `at`, where the text before it is JSON.
    fn is_in_string(&self, at: usize) -> bool {
        let head = self.text.as_bytes().get(..at).unwrap_or_default();
        let (mut is_open, mut from) = (false, 0);
        while let Some(found) = head.get(from..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
        {
            let found = from + found;
            let is_quote = head.get(found) == Some(&b'"');
            is_open ^= is_quote;
            from = found + if is_quote { 1 } else { 2 };
        }
        is_open
    }

    /// The start of the number or literal that ends before `end`.
    fn word(&self, end: usize) -> Option<usize> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let head = self.text.as_bytes().get(..end)?;
        Some(head.iter().rposition(|byte| !is_word(byte)).map_or(0, |last| last + 1))
    }

    /// The last unescaped quote before `end`.
    fn quote(&self, mut end: usize) -> Option<usize> {
        loop {
            let head = self.text.as_bytes().get(..end)?;
            end = memchr::memrchr(b'"', head)?;
            let escapes = head.get(..end)?.iter().rev().take_while(|&&byte| byte == b'\\').count();
            if escapes % 2 == 0 {
                return Some(end);
            }
        }
    }

    /// The element of `open` that ends before `end`.
    fn element(&self, end: usize, open: &PartialContainer) -> Option<ScannedElement> {
        let bytes = self.text.as_bytes();
        let (mut at, mut start, mut closed) = (end, end, 0);
        let mut closers = Vec::new();
        loop {
            at = at.checked_sub(1)?;
            let byte = *bytes.get(at)?;
            match byte {
                b' ' | b'\n' | b'\t' | b'\r' => continue,
                b',' | b'{' | b'[' if closers.is_empty() => {
                    let is_first = byte != b',';
                    let is_other = is_first && (byte == b'{') != open.is_object();
                    return (!is_other).then_some(ScannedElement {
                        start,
                        before: at,
                        is_first,
                        closed,
                    });
                }
                b'"' => at = self.quote(at)?,
                b'}' | b']' => closers.push(byte),
                b'{' | b'[' => {
                    closers.pop();
                    let in_object =
                        closers.last().map_or_else(|| open.is_object(), |&closer| closer == b'}');
                    closed += usize::from(byte == b'{' && in_object);
                }
                _ => {}
            }
            start = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Options,
        coerce::TypeSet,
        locate::locate,
        recover::{ParseSettings, SchemaKeys},
        strict::parse_strict,
    };

    const VALID: [&str; 9] = [
        r#"{"a": [1, 2.50, "x"], "b": {"c": {"d": true}, "e": null}, "f": "g", "h": [{"i": "j"}]}"#,
        "[{\"id\": 1, \"tags\": [\"a\", \"b\"]},\n {\"id\": 2, \"tags\": []},\n\t{\"id\": 3}]\n",
        r#"["a", true, "b", false , "c", null, "d", -1.5e3, "", [], {}, "k"]"#,
        r#"{"a": "say \"hi\", \"b\": 1", "c": "C:\\new\\", "d": "\u00e5\ud83d\ude00\n", "e": "it's"}"#,
        r#"{"n": {"a": 1}, "a": {"n": 2, "l": [1, 2]}, "b": {}, "l": [[], [[1]], [{"a": "}"}]]}"#,
        r#"  [[["a", "b"], ["c", "d"]], [["e"], "f, \"g\": h"], "i: j", "// k", "l"]"#,
        r#"{"q": "<a href=\"b\">", "r": "{\"s\": [1, 2]}", "t": "], }", "u": "v"}"#,
        r#"{"name": "w", "arguments": {"a": "b", "n": 7, "m": {"x": "y"}}, "id": "1"}"#,
        r#"[12, 345, true, "a", {"1": 2, "3": [4, "5"], "6": "7, 8"}, "b", 0]"#,
    ];
    const DAMAGE: [&str; 36] = [
        ",",
        ":",
        "\"",
        "'",
        "{",
        "}",
        "[",
        "]",
        "(",
        "x",
        " x ",
        "1",
        "\n",
        "\\",
        "\t",
        "//",
        "/*",
        "#",
        "“",
        "，",
        "=",
        "+",
        " + \"",
        "...",
        "True",
        "\"a\"",
        ", \"a\": 1",
        ", a: 1",
        "\", ",
        "```",
        "}}",
        "]}",
        "\u{a0}",
        "\\u1",
        "\"x\": \"",
        "b\", ",
    ];

    /// Tries all kinds of damage at all positions, with and without a schema.
    #[test]
    fn checkpoint_gives_same_result_as_start() {
        let schema = json!({"properties": {"a": {}, "b": {"type": "object"}, "n": {"properties":
            {"a": {}}}}, "items": {"properties": {"id": {}}}});
        let (mut resumed, mut all) = (0, 0);
        for valid in VALID {
            let places = || (0..=valid.len()).filter(|&at| valid.is_char_boundary(at));
            for at in places() {
                let (before, after) = valid.split_at(at);
                let mut rest = after.chars();
                rest.next();
                let mut texts = vec![before.to_owned(), before.to_owned() + rest.as_str()];
                for damage in DAMAGE {
                    texts.push(format!("{before}{damage}{after}"));
                    texts.push(format!("{before}{damage}{}", rest.as_str()));
                    texts.push(format!("{before}{damage}"));
                }
                for text in texts {
                    for keys in [SchemaKeys::NONE, SchemaKeys::of_schema(&schema)] {
                        all += 1;
                        resumed += usize::from(check(&text, keys));
                    }
                }
            }
        }
        assert!(resumed * 3 > all, "only {resumed} of {all} are resumed");
    }

    /// Compares the results with and without the checkpoint; returns whether there was one.
    #[track_caller]
    fn check(text: &str, keys: SchemaKeys<'_>) -> bool {
        let Err((error, progress)) = parse_strict(text) else { return false };
        let is_first = !progress.has_value;
        let Some(checkpoint) = Checkpoint::new(text, &error, progress) else { return false };
        let at = checkpoint.at;
        let settings = ParseSettings { options: Options::default(), keys };
        let read = |checkpoint| {
            let read = locate(text, TypeSet::ANY, &settings, is_first, checkpoint, &mut 0);
            read.map(|read| {
                (read.parsed.value, read.span, read.parsed.fixes, read.parsed.truncated)
            })
            .map_err(|error| error.to_string())
        };
        assert_eq!(read(Some(checkpoint)), read(None), "{text:?} from {at}");
        true
    }

    #[test]
    fn checkpoint_is_near_the_error() {
        for (text, rest) in [
            ("[{\"a\": 1}, {\"b\": 2},]", "{\"b\": 2},]"),
            ("[{\"a\": 1}, {\"b\": 2}, {\"c\": \"d", "{\"c\": \"d"),
            ("{\"a\": [1, 2, {\"b\": 3, \"c\": 4, d: 5}]}", "\"c\": 4, d: 5}]}"),
            ("[\"x, \\\"\", \"y\", z]", "\"y\", z]"),
            ("[1, [\"a\"", "[\"a\""),
        ] {
            let (error, progress) = parse_strict(text).unwrap_err();
            let at = Checkpoint::new(text, &error, progress).unwrap().start();
            assert_eq!(text.get(at..), Some(rest), "{text}");
        }
    }

    /// `|` marks the start of the token in which serde_json stops.
    #[test]
    fn stop_is_start_of_the_token_with_the_error() {
        for marked in [
            "[1, |",
            "[1, 12|",
            "[1, |-",
            "[1, |1.",
            "[1, |1e",
            "[1, true|",
            "[1, |tru",
            "{\"a\"|",
            "{\"a\": |",
            "{\"a\": 1|",
            "{\"a\": 1, |\"b",
            "[\"a\", |\"b: 1",
            "[\"a\", |\"b\\\"",
            "[\"a\\\\\"|",
            "[\"a\", |\"b\nc\"]",
            "[\"a\", |\"\\x\"]",
            "[1|x]",
            "[1 |2]",
            "[1|-2]",
            "[true|1]",
            "[|trux]",
            "[|nul\n]",
            "[|01]",
            "[|-01]",
            "[|-x]",
            "[|1.x]",
            "[|1e999]",
            "[1.2|.3]",
            "[|+1]",
            "[1,|]",
            "{\"a\" |1}",
            "{|a: 1}",
            "{\"a\": 1 |\"b\": 2}",
            "{\"a\": \"x\" |y\"}",
            "[1,\n\n |x]",
        ] {
            let text = marked.replacen('|', "", 1);
            let (error, _) = parse_strict(&text).unwrap_err();
            let stop = BackwardScan { text: &text }.stop(&error);
            assert_eq!(stop, marked.find('|'), "{marked}");
        }
    }

    #[test]
    fn uncertain_text_has_no_checkpoint() {
        let long = "k".repeat(300);
        for text in [
            "{\"a\": 1, \"a\": 2, \"b\": 3, c: 4}".to_owned(),
            "{\"a\": 1, \"a\": [1, 2, x]}".to_owned(),
            format!("{{\"{long}\": 1, \"b\": 3, c: 4}}"),
            "{a: 1}".to_owned(),
            "[".repeat(200),
        ] {
            let (error, progress) = parse_strict(&text).unwrap_err();
            assert!(Checkpoint::new(&text, &error, progress).is_none(), "{text}");
        }
    }
}
