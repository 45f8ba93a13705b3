//! Where the parser takes over from the strict pass, with what that has built.
//!
//! It must read as if it had begun at the start. Before the error the text is JSON, in which it
//! finds nothing to mend; but a quote there ends a string only if what follows fits, up to the
//! first sign of the next member's value. So it goes back to an element of which that much is JSON
//! as well: an open container that holds the error, or a whole element with its comma.

use serde::Deserialize;
use serde_json::Value;

use super::{
    build::Values,
    parser::{Frame, Kind, Mode, Parser, State},
    source::Source,
};
use crate::json::strict::{Open, Progress};

/// Of an escape that is cut, this much may stand before the place of the error.
const ESCAPE: usize = 12;

/// Where the parser takes over.
#[derive(Debug)]
pub(in crate::json) struct Resume {
    open: Vec<Open>,
    closed: usize,
    at: usize,
    /// The text is JSON up to here.
    stop: usize,
}

impl Resume {
    /// Where to go on after `error`; `None` if that would be the start, or is not known.
    pub(in crate::json) fn new(
        text: &str,
        error: &serde_json::Error,
        progress: Progress,
    ) -> Option<Self> {
        let Progress { mut open, mut closed, is_odd } = progress;
        let back = Back { text };
        let stop = back.stop(error).filter(|_| !is_odd)?;
        let last = back.element(stop, open.last()?)?;
        closed = closed.checked_sub(last.closed)?;
        let at = if last.is_first {
            open.pop()?;
            let outer = open.last_mut()?;
            let start = back.element(last.before, outer)?.start;
            outer.take_key();
            start
        } else {
            let frame = open.last_mut()?;
            if !frame.take_key() && last.start < stop {
                frame.take_last(text, last.start)?;
            }
            let whole = back.element(last.before, frame)?;
            closed = closed.checked_sub(whole.closed)?;
            frame.take_last(text, whole.start)?;
            whole.start
        };
        let (_, outer) = open.split_last()?;
        let is_new = |open: &Open| match open {
            Open::List(_) => true,
            Open::Object(members, key) => {
                key.as_ref().is_some_and(|key| !members.contains_key(key))
            }
        };
        outer.iter().all(is_new).then_some(Self { open, closed, at, stop })
    }

    /// How much of the text before the error is read again.
    pub(in crate::json) const fn start(&self) -> usize {
        self.at
    }

    /// Whether it holds when nothing behind `end` is seen.
    pub(in crate::json) const fn is_within(&self, end: usize) -> bool {
        self.stop <= end
    }
}

impl<'t, 's> Parser<'t, 's, Values> {
    /// The parser that has read, from `start` on, what `resume` holds.
    pub(super) fn resumed(
        source: Source<'t>,
        start: usize,
        mode: Mode<'s>,
        resume: Resume,
    ) -> (Self, State) {
        let mut parser = Self::new(source, start, mode);
        parser.at = resume.at;
        // One that was closed here is not the last before a bracket that comes yet.
        parser.closed = (resume.closed, start);
        for open in resume.open {
            let parts = parser.parts();
            let (kind, items, members, key) = match open {
                Open::List(items) => (Kind::List, items, serde_json::Map::new(), None),
                Open::Object(members, key) => (Kind::Object, Vec::new(), members, key),
            };
            // Such a key is new and its value has begun, so nobody asks where it stands.
            let key = key.map(|key| (key, start..start));
            parser.stack.push(Frame { kind, start, items, members, key, comma: None, parts });
        }
        (parser, State::Element)
    }
}

impl Open {
    const fn is_object(&self) -> bool {
        matches!(self, Self::Object(..))
    }

    /// Whether there was a key without its whole value.
    fn take_key(&mut self) -> bool {
        match self {
            Self::List(_) => false,
            Self::Object(_, key) => key.take().is_some(),
        }
    }

    /// Takes out the last element, which begins at `start` in `text`.
    fn take_last(&mut self, text: &str, start: usize) -> Option<Value> {
        match self {
            Self::List(items) => items.pop(),
            Self::Object(members, _) => {
                let mut input = serde_json::Deserializer::from_str(text.get(start..)?);
                members.remove(&String::deserialize(&mut input).ok()?)
            }
        }
    }
}

/// An element, or the beginning of one.
struct Element {
    start: usize,
    /// Where the comma or bracket is before it.
    before: usize,
    is_first: bool,
    /// How many objects in it were members of objects.
    closed: usize,
}

/// Text that is JSON, read backwards.
struct Back<'t> {
    text: &'t str,
}

impl Back<'_> {
    /// Where the token begins that is the error, as serde_json tells it.
    fn stop(&self, error: &serde_json::Error) -> Option<usize> {
        let lines = error.line().checked_sub(1)?;
        let mut breaks = memchr::memchr_iter(b'\n', self.text.as_bytes());
        let line = lines.checked_sub(1).map_or(Some(0), |last| Some(breaks.nth(last)? + 1))?;
        let end = line + error.column();
        let before = end.checked_sub(1)?;
        let message = error.to_string();
        let is = |starts: &[&str]| starts.iter().any(|start| message.starts_with(start));
        if is(&["EOF while parsing a string", "control character", "invalid escape"]) {
            let tail = self.text.as_bytes().get(end.saturating_sub(ESCAPE)..end)?;
            let is_sure = !tail.windows(2).any(|pair| pair == br"\u");
            is_sure.then(|| self.quote(end))?
        } else if is(&["EOF while parsing a value"]) {
            self.word(end)
        } else if is(&["EOF while parsing"]) {
            Some(end)
        } else if is(&["expected ident", "invalid number", "number out of range"]) {
            self.word(before)
        } else if is(&["expected", "trailing comma", "key must be a string"]) {
            Some(before)
        } else {
            None
        }
    }

    /// Where the number or literal begins that ends before `end`.
    fn word(&self, end: usize) -> Option<usize> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let head = self.text.as_bytes().get(..end)?;
        Some(head.iter().rposition(|byte| !is_word(byte)).map_or(0, |last| last + 1))
    }

    /// The last quote before `end` that is not escaped.
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
    fn element(&self, end: usize, open: &Open) -> Option<Element> {
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
                    return (!is_other).then_some(Element { start, before: at, is_first, closed });
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
    use crate::json::{Keys, Options, Reading, coerce::Roots, locate::locate, strict::read_strict};

    const SOUND: [&str; 9] = [
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

    /// Whatever the damage and wherever it is, with and without a schema.
    #[test]
    fn it_reads_as_if_from_the_start() {
        let schema = json!({"properties": {"a": {}, "b": {"type": "object"}, "n": {"properties":
            {"a": {}}}}, "items": {"properties": {"id": {}}}});
        let (mut resumed, mut all) = (0, 0);
        for sound in SOUND {
            let places = || (0..=sound.len()).filter(|&at| sound.is_char_boundary(at));
            for at in places() {
                let (before, after) = sound.split_at(at);
                let mut less = after.chars();
                less.next();
                let mut texts = vec![before.to_owned(), before.to_owned() + less.as_str()];
                for damage in DAMAGE {
                    texts.push(format!("{before}{damage}{after}"));
                    texts.push(format!("{before}{damage}{}", less.as_str()));
                    texts.push(format!("{before}{damage}"));
                }
                for text in texts {
                    for keys in [Keys::NONE, Keys::of_schema(&schema)] {
                        all += 1;
                        resumed += usize::from(check(&text, keys));
                    }
                }
            }
        }
        assert!(resumed * 3 > all, "only {resumed} of {all} are resumed");
    }

    /// Whether it was resumed at all.
    #[track_caller]
    fn check(text: &str, keys: Keys<'_>) -> bool {
        let Err((error, progress)) = read_strict(text) else { return false };
        let Some(resume) = Resume::new(text, &error, progress) else { return false };
        let at = resume.at;
        let reading = Reading { options: Options::default(), keys };
        let is_first = !error.to_string().starts_with("trailing characters");
        let read = |resume| {
            let read = locate(text, Roots::ANY, &reading, is_first, resume, &mut 0);
            read.map(|read| (read.value, read.span, read.fixes, read.truncated))
                .map_err(|error| error.to_string())
        };
        assert_eq!(read(Some(resume)), read(None), "{text:?} from {at}");
        true
    }

    #[test]
    fn it_goes_on_near_the_error() {
        for (text, rest) in [
            ("[{\"a\": 1}, {\"b\": 2},]", "{\"b\": 2},]"),
            ("[{\"a\": 1}, {\"b\": 2}, {\"c\": \"d", "{\"c\": \"d"),
            ("{\"a\": [1, 2, {\"b\": 3, \"c\": 4, d: 5}]}", "\"c\": 4, d: 5}]}"),
            ("[\"x, \\\"\", \"y\", z]", "\"y\", z]"),
            ("[1, [\"a\"", "[\"a\""),
        ] {
            let (error, progress) = read_strict(text).unwrap_err();
            let at = Resume::new(text, &error, progress).unwrap().start();
            assert_eq!(text.get(at..), Some(rest), "{text}");
        }
    }

    #[test]
    fn where_it_is_not_certain_it_does_not() {
        let long = "k".repeat(300);
        for text in [
            "{\"a\": 1, \"a\": 2, \"b\": 3, c: 4}".to_owned(),
            "{\"a\": 1, \"a\": [1, 2, x]}".to_owned(),
            format!("{{\"{long}\": 1, \"b\": 3, c: 4}}"),
            "{a: 1}".to_owned(),
            "[".repeat(200),
        ] {
            let (error, progress) = read_strict(&text).unwrap_err();
            assert!(Resume::new(&text, &error, progress).is_none(), "{text}");
        }
    }
}
