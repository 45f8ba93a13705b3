//! Lists of calls such as models make, sound or with one kind of damage throughout.

use std::fmt::Write;

/// As many as make a document of about 1 MB.
const RECORDS: usize = 4_250;

/// How a document is written.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// What stands around keys.
    pub(crate) keys: &'static str,
    /// What stands around strings.
    pub(crate) texts: &'static str,
    /// What parts the lines of a string.
    pub(crate) newline: &'static str,
    /// Whether strings quote words.
    pub(crate) inner_quotes: bool,
    /// Whether such quotes are escaped.
    pub(crate) is_escaped: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { keys: "\"", texts: "\"", newline: "\\n", inner_quotes: false, is_escaped: false }
    }
}

impl Style {
    /// An array of records, the same ones in every style.
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
