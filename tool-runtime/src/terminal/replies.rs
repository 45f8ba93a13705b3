//! Which of the words that a program writes are a model's, and where its reply ends among them.
//!
//! Who prints a reply as it comes says nothing of its end, and may be behind: the reply is told of before its last
//! words are written. So what is written is held against what was replied.

use std::collections::{HashSet, VecDeque};
use std::mem::take;

use super::line::plain;
use crate::event::{Event, EventKind, ModelEvent, RunEvent, RunId};

/// So many bytes of a text are compared: its end.
const END: usize = 64 * 1024;

/// The words of so many replies are awaited.
const MOST: usize = 16;

/// The code of a run that nobody goes on with.
const DROPPED: &str = "DROPPED";

/// Replies of outermost runs. Those of agents that are tools are nothing that a program prints.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// Whose model was asked, and has not answered.
    asked: HashSet<RunId>,
    /// What was written since the last reply, or is none of it.
    written: String,
    /// What was replied, and is not written yet.
    to_come: VecDeque<Rest>,
}

#[derive(Debug)]
struct Rest {
    run: RunId,
    text: String,
    has_begun: bool,
}

/// How much of what a model said is written as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Nothing,
    /// The rest is on its way.
    Part,
    /// So that whatever comes is another line.
    All,
}

impl Replies {
    /// Something happened: how much of what a model said there is written.
    pub(super) fn hear(&mut self, event: &Event) -> Written {
        let run = event.origin.run;
        if event.origin.depth > 0 {
            return Written::Nothing;
        }
        match &event.kind {
            EventKind::Model(ModelEvent::Asked) => {
                self.asked.insert(run);
            }
            EventKind::Run(RunEvent::Finished { code, .. }) => {
                return self.end(run, code.as_deref() == Some(DROPPED));
            }
            EventKind::Model(ModelEvent::Replied { text, reasoning, .. }) => {
                self.asked.remove(&run);
                let thought = reasoning.as_deref().unwrap_or_default();
                return self.reply(run, if text.is_empty() { thought } else { text });
            }
            // What it said is void: it says it anew.
            EventKind::Model(
                ModelEvent::ExtractionFailed { .. } | ModelEvent::ValidationFailed { .. },
            ) if self.asked.contains(&run) => {
                self.written.clear();
                return Written::All;
            }
            _ => {}
        }
        Written::Nothing
    }

    /// A run is over: nothing more comes of a reply that isn't whole; nor of any, where nobody reads on.
    fn end(&mut self, run: RunId, is_dropped: bool) -> Written {
        let mut is_cut = self.asked.remove(&run) && !self.written.is_empty();
        self.to_come.retain(|rest| {
            let is_kept = !is_dropped || rest.run != run;
            is_cut |= !is_kept && rest.has_begun;
            is_kept
        });
        // The line may be another's, who is still speaking.
        if !is_cut || self.is_under_way() {
            return Written::Nothing;
        }
        self.written.clear();
        Written::All
    }

    fn reply(&mut self, run: RunId, text: &str) -> Written {
        let text = plain(text);
        let (text, written) = (end(&text), take(&mut self.written));
        let mut parted = (1..=text.len()).rev().filter_map(|count| text.split_at_checked(count));
        let rest = match parted.find(|(begun, _)| written.ends_with(begun)) {
            Some((_, rest)) => {
                // Whatever was to come before has been left out.
                self.to_come.clear();
                rest
            }
            None => text,
        };
        let has_begun = rest.len() < text.len();
        if !rest.is_empty() {
            self.to_come.push_back(Rest { run, text: rest.to_owned(), has_begun });
        }
        if self.to_come.len() > MOST {
            self.to_come.pop_front();
        }
        match (has_begun, rest.is_empty()) {
            (true, true) => Written::All,
            (true, false) => Written::Part,
            (false, _) => Written::Nothing,
        }
    }

    /// More is written. Where a reply ends in it, how many bytes belong to that.
    pub(super) fn write(&mut self, words: &str) -> Option<usize> {
        if words.is_empty() {
            return None;
        }
        let fits = |rest: &Rest| rest.text.starts_with(words) || words.starts_with(&rest.text);
        let Some(place) = self.to_come.iter().position(fits) else {
            // One that has begun does not go on like that.
            self.to_come.retain(|rest| !rest.has_begun);
            self.written.push_str(words);
            if self.written.len() > 2 * END {
                self.written = end(&self.written).to_owned();
            }
            return None;
        };
        self.to_come.drain(..place);
        let rest = self.to_come.front_mut()?;
        match rest.text.strip_prefix(words) {
            Some(more) if !more.is_empty() => {
                (rest.text, rest.has_begun) = (more.to_owned(), true);
                None
            }
            _ => self.to_come.pop_front().map(|rest| rest.text.len()),
        }
    }

    /// Whether a model is speaking, or what it said is being written.
    pub(super) fn is_under_way(&self) -> bool {
        !self.asked.is_empty() || self.to_come.iter().any(|rest| rest.has_begun)
    }
}

fn end(text: &str) -> &str {
    let first = text.len().saturating_sub(END);
    (first..text.len()).find_map(|from| text.get(from..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::Usage;
    use crate::event::Origin;

    fn told(kind: impl Into<EventKind>) -> Event {
        Event::new(Origin::default(), SystemTime::UNIX_EPOCH, kind)
    }

    fn replied(text: &str) -> Event {
        let (text, calls, took) = (text.into(), Vec::new(), Duration::ZERO);
        told(ModelEvent::Replied { text, reasoning: None, calls, usage: None, took })
    }

    #[test]
    fn a_reply_ends_where_its_words_do_however_late_they_are() {
        let text = "Grüße:\n}\n}";
        for late in text.char_indices().map(|(place, _)| place) {
            let mut replies = Replies::default();
            replies.hear(&told(ModelEvent::Asked));
            assert!(replies.is_under_way());
            let (before, behind) = text.split_at(late);
            assert_eq!((replies.write("It says: "), replies.write(before)), (None, None));
            let expected = if late == 0 { Written::Nothing } else { Written::Part };
            assert_eq!(replies.hear(&replied(text)), expected, "{before:?}");
            assert_eq!(replies.is_under_way(), late > 0);
            let ends: Vec<_> =
                behind.split_inclusive(|_| true).map(|it| replies.write(it)).collect();
            let (last, others) = ends.split_last().unwrap();
            assert!(last.is_some() && others.iter().all(Option::is_none), "{before:?}: {ends:?}");
            assert!(!replies.is_under_way());
        }
    }

    #[test]
    fn several_replies_may_be_late_and_some_never_come() {
        let mut replies = Replies::default();
        for text in ["I look.", "Hm.", "", "Noon."] {
            assert_eq!(replies.hear(&replied(text)), Written::Nothing);
        }
        assert_eq!(replies.write("I look.Hm."), Some(7));
        assert_eq!(replies.write("No"), None);
        assert!(replies.is_under_way());
        assert_eq!(replies.write("on."), Some(3));
        assert_eq!(replies.write("> "), None);
        assert!(!replies.is_under_way());
        // Words that go on otherwise are somebody else's.
        replies.hear(&replied("Noon."));
        assert_eq!((replies.write("No"), replies.write("body")), (None, None));
        assert!(!replies.is_under_way());
        // And of many that never come the first are forgotten.
        (0..100).for_each(|number| {
            assert_eq!(replies.hear(&replied(&format!("{number}."))), Written::Nothing)
        });
        assert_eq!((replies.to_come.len(), replies.write("0.")), (MOST, None));
    }

    #[test]
    fn long_texts_are_known_by_their_ends() {
        let text = "ä".repeat(END) + "b";
        let mut replies = Replies::default();
        (0..5).for_each(|_| assert_eq!(replies.write(&text), None));
        assert!(replies.written.len() <= 2 * END);
        assert_eq!(replies.hear(&replied(&text)), Written::All);
    }

    #[test]
    fn what_is_cut_ends_with_its_run() {
        let of = |run: u128, kind: EventKind| {
            Event::new(Origin::new(run.into(), 1), SystemTime::UNIX_EPOCH, kind)
        };
        let asked = |run| of(run, ModelEvent::Asked.into());
        let ended = |run, code: &str| {
            let (code, usage, took) = (Some(code.to_owned()), Usage::default(), Duration::ZERO);
            of(run, RunEvent::Finished { code, error: None, usage, cost: None, took }.into())
        };
        let mut replies = Replies::default();
        replies.hear(&asked(1));
        assert_eq!(replies.hear(&ended(1, "MODEL")), Written::Nothing, "it has said nothing");
        [1, 2].iter().for_each(|run| assert_eq!(replies.hear(&asked(*run)), Written::Nothing));
        replies.write("No");
        assert_eq!(replies.hear(&ended(1, "MODEL")), Written::Nothing, "the other may speak");
        assert_eq!(replies.hear(&ended(2, "MODEL")), Written::All);
        assert_eq!(replies.hear(&ended(2, "MODEL")), Written::Nothing);

        // Its last words are on their way, unless nobody reads them.
        for (code, expected) in [("CUT", Written::Nothing), ("DROPPED", Written::All)] {
            replies.write("No");
            assert_eq!(replies.hear(&replied("Noon.")), Written::Part);
            assert_eq!(replies.hear(&ended(7, code)), Written::Nothing, "another's");
            assert_eq!(replies.hear(&ended(0, code)), expected);
            assert_eq!(replies.write("on."), (code == "CUT").then_some(3));
            replies.written.clear();
        }
    }

    #[test]
    fn what_is_void_ends_at_once() {
        let (text, reason, attempt) = (String::new(), String::new(), 1);
        let void = told(ModelEvent::ExtractionFailed { text, reason, attempt });
        let mut replies = Replies::default();
        assert_eq!(replies.hear(&void), Written::Nothing);
        replies.hear(&told(ModelEvent::Asked));
        assert_eq!(replies.hear(&void), Written::All);
        assert!(replies.is_under_way());
    }
}
