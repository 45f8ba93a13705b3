//! What a report shows of one thing that happened, in words and numbers: the page only draws it.

use serde::Serialize;

use crate::message::Usage;

/// One line of the waterfall.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Row {
    pub kind: Kind,
    pub name: String,
    /// What it was about, on one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What a run was asked, on one line; its summary, with what stopped it behind that.
    #[serde(skip)]
    pub asked: String,
    /// The row that it hangs below, which comes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    pub turn: u32,
    /// In microseconds.
    pub start: u64,
    /// Where it has no end, when it was last heard of.
    pub end: u64,
    pub state: State,
    /// Why it is not as it should be: a code, or what held it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What that cost, where it is known.
    #[serde(skip)]
    pub cost: Option<f64>,
    /// Whether it has asked a model, which costs something.
    #[serde(skip)]
    pub has_spent: bool,
    /// The row of the same run as it went on before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<usize>,
    /// Whether there is a later row of the same run, or of the call that waited here: it counts there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// What else can be said of it, for the search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// What happened to it between its start and its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// How many notes were left out before the last.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_notes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
    /// Where it is drawn in the overview, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Run,
    Model,
    Tool,
    /// It has no length.
    #[default]
    Event,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    #[default]
    Done,
    Failed,
    Blocked,
    /// Somebody has yet to decide on it, or had.
    Waiting,
    /// No end of it is known.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    Retried,
    Repaired,
    Remembered,
    /// What it said is not what was asked for.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Note {
    /// In microseconds.
    pub at: u64,
    pub name: String,
    pub text: String,
}

impl Note {
    pub(super) fn new(at: u64, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { at, name: name.into(), text: text.into() }
    }
}

/// A part of what a row opens to.
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
    /// May be indented.
    Json,
    Error,
    /// Shown to whoever opens it.
    Folded,
}

/// A value that stands beside its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Fact {
    Text(String),
    Count(u64),
    /// Microseconds since 1970.
    At {
        at: u64,
    },
    /// Microseconds.
    Took {
        took: u64,
    },
}

/// So many letters of a summary are kept.
const LETTERS: usize = 160;

/// A text on one line, and not more of it than a line holds.
pub(super) fn on_one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_ascii_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(LETTERS) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}

impl Row {
    /// So many notes are kept, the first ones and the last.
    const NOTES: usize = 100;

    pub(super) fn note(&mut self, note: Note) {
        if self.notes.len() >= Self::NOTES {
            self.notes.pop();
            self.more_notes += 1;
        }
        self.notes.push(note);
    }

    pub(super) fn text(&mut self, title: &'static str, text: impl Into<String>, form: Form) {
        self.details.push(Detail::Text { title, text: text.into(), form });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_short_line() {
        for (text, expected) in [
            ("", String::new()),
            ("  a\n\tb  ", "a b".to_owned()),
            (&"ä".repeat(160), "ä".repeat(160)),
            (&"ä".repeat(161), "ä".repeat(160) + "…"),
            (&"ä b ".repeat(1_000), "ä b ".repeat(40) + "…"),
        ] {
            assert_eq!(on_one_line(text), expected);
        }
    }

    #[test]
    fn of_many_notes_the_first_and_the_last_are_kept() {
        let mut row = Row::default();
        for at in 0..250 {
            row.note(Note::new(at, "progress", ""));
        }
        let kept: Vec<_> = row.notes.iter().map(|note| note.at).collect();
        assert_eq!(kept, (0..99).chain([249]).collect::<Vec<_>>());
        assert_eq!(row.more_notes, 150);
    }
}
