//! Rows of a report, as texts and numbers that the page only renders.

use serde::Serialize;

use super::excerpt::shorten_one;
use tool_core::Usage;

/// Row of the waterfall.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Row {
    pub kind: RowKind,
    pub name: String,
    /// Summary on one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Prompt of a run on one line. The summary of the run is the prompt, followed by the error, if
    /// there is one.
    #[serde(skip)]
    pub prompt: String,
    /// Parent row, which comes before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    pub turn: u32,
    /// The start, in microseconds.
    pub start: u64,
    /// End, in microseconds; of an unfinished row the time of the last event.
    pub end: u64,
    pub state: RowState,
    /// Error code, or the reason why the call was blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost, if it is known.
    #[serde(skip)]
    pub cost: Option<f64>,
    /// The time from the start of a call to its first attempt, in microseconds.
    #[serde(skip)]
    pub waited: u64,
    /// Whether the run has made a model request, which costs something.
    #[serde(skip)]
    pub has_model_requests: bool,
    /// Earlier row of the same run, before it was resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<usize>,
    /// Whether a later row continues the run, or the call that waited here; the later row is
    /// counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_continued: bool,
    /// Further properties, for the search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Events between start and end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The number of notes that were dropped before the last one.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_notes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
    /// The number of bytes of long texts that were left out.
    #[serde(skip)]
    pub left_out: u64,
    /// Lane in the overview, if the row has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RowKind {
    Run,
    Model,
    Tool,
    /// An event without a duration.
    #[default]
    Event,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RowState {
    #[default]
    Done,
    Failed,
    Blocked,
    /// Waits, or waited, for a decision.
    Waiting,
    /// Has no known end.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    Retried,
    Repaired,
    Cached,
    /// The reply did not pass extraction or validation.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Note {
    /// The time, in microseconds.
    pub at: u64,
    pub name: String,
    pub text: String,
}

impl Note {
    pub(super) fn new(at: u64, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { at, name: name.into(), text: text.into() }
    }
}

/// Part of the details of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Detail {
    Text { title: &'static str, text: String, form: Form },
    Table { title: &'static str, head: Vec<&'static str>, cells: Vec<Vec<String>> },
    Facts { facts: Vec<(&'static str, Fact)> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    Plain,
    /// JSON text, which the page may indent.
    Json,
    Error,
    /// Text that is collapsed at first.
    Folded,
}

/// A value with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Fact {
    Text(String),
    Count(u64),
    /// A time in microseconds since 1970.
    At {
        at: u64,
    },
    /// A duration in microseconds.
    Duration {
        duration: u64,
    },
}

/// The highest number of characters of a summary.
const MAX_SUMMARY: usize = 160;

/// Returns a text on one line, truncated to the length of a summary.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_ascii_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(MAX_SUMMARY) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}

impl Row {
    /// The highest number of notes; the first ones and the last one are kept.
    const MAX_NOTES: usize = 100;

    pub(super) fn note(&mut self, mut note: Note) {
        self.left_out += shorten_one(&mut note.text);
        if self.notes.len() >= Self::MAX_NOTES {
            self.notes.pop();
            self.more_notes += 1;
        }
        self.notes.push(note);
    }

    pub(super) fn text(&mut self, title: &'static str, text: impl Into<String>, form: Form) {
        let mut text = text.into();
        self.left_out += shorten_one(&mut text);
        self.details.push(Detail::Text { title, text, form });
    }

    pub(super) fn table(
        &mut self,
        title: &'static str,
        head: Vec<&'static str>,
        mut cells: Vec<Vec<String>>,
    ) {
        self.left_out += cells.iter_mut().flatten().map(shorten_one).sum::<u64>();
        self.details.push(Detail::Table { title, head, cells });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_one_short_line() {
        for (text, expected) in [
            ("", String::new()),
            ("  a\n\tb  ", "a b".to_owned()),
            (&"ä".repeat(160), "ä".repeat(160)),
            (&"ä".repeat(161), "ä".repeat(160) + "…"),
            (&"ä b ".repeat(1_000), "ä b ".repeat(40) + "…"),
        ] {
            assert_eq!(one_line(text), expected);
        }
    }

    #[test]
    fn first_and_last_notes_are_kept() {
        let mut row = Row::default();
        for at in 0..250 {
            row.note(Note::new(at, "progress", ""));
        }
        let times: Vec<_> = row.notes.iter().map(|note| note.at).collect();
        assert_eq!(times, (0..99).chain([249]).collect::<Vec<_>>());
        assert_eq!(row.more_notes, 150);
    }
}
