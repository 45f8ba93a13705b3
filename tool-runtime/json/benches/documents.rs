//! Generates JSON documents: lists of calls like those that models write.
//!
//! A document is valid, or has one kind of damage throughout.

use std::fmt::Write;

/// Number of records in a document of about 1 MB.
const RECORDS: usize = 4_250;

/// Syntax of a document.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// The quote character around keys.
    pub(crate) keys: &'static str,
    /// The quote character around strings.
    pub(crate) texts: &'static str,
    /// The line separator within strings.
    pub(crate) newline: &'static str,
    /// Whether strings contain quoted words.
    pub(crate) inner_quotes: bool,
    /// Whether the quotes within strings are escaped.
    pub(crate) is_escaped: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { keys: "\"", texts: "\"", newline: "\\n", inner_quotes: false, is_escaped: false }
    }
}

impl Style {
    /// Returns an array of records; the records are the same in every style.
    pub(crate) fn document(self) -> String {
        let mut out = String::from("[");
        for count in 0..RECORDS {
            if count > 0 {
                out.push(',');
            }
            self.record(&mut out, count);
        }
        out.push(']');
        out
    }

    fn record(self, out: &mut String, count: usize) {
        let Self { keys: k, texts: t, newline, .. } = self;
        let quote = match (self.inner_quotes, self.is_escaped) {
            (false, _) => "",
            (true, false) => "\"",
            (true, true) => "\\\"",
        };
        let ratio = count as f64 / 64.0;
        let even = count.is_multiple_of(2);
        write!(
            out,
            "\n  {{{k}id{k}: {count}, {k}tool{k}: {t}write_file{t}, {k}arguments{k}: \
             {{{k}path{k}: {t}src/module_{count}/lib.rs{t}, \
             {k}content{k}: {t}The {quote}first{quote} line{newline}and another of {count} \
             lines{newline}{t}, {k}ratio{k}: {ratio:?}, {k}overwrite{k}: {even}, \
             {k}tags{k}: [{t}draft{t}, {t}größe{t}, {t}v{count}{t}], {k}mode{k}: null}}}}"
        )
        .unwrap();
    }
}
