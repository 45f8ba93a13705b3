//! Detection of the end of a model's reply in the program's output.
//!
//! A program that prints a reply while it is streamed does not mark its end, and may lag behind:
//! the reply event comes before its last text is printed. The output is therefore compared with the
//! text of the reply.

use std::collections::{HashSet, VecDeque};
use std::mem::take;

use super::line::sanitize_lines;
use tool_core::Event;
use tool_core::event::{EventKind, ModelEvent, RunEvent, RunId};

/// The number of bytes at the end of a text that are compared.
const MAX_COMPARED: usize = 64 * 1024;

/// The highest number of replies whose output is expected.
const MAX_REPLIES: usize = 16;

/// Code of a run whose stream was dropped.
const DROPPED: &str = "DROPPED";

/// Replies of outermost runs. Programs do not print the replies of sub-agents.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// Runs with a model request that has no reply yet.
    requested: HashSet<RunId>,
    /// Output that does not belong to a known reply.
    written: String,
    /// Text of replies that was not printed yet.
    pending: VecDeque<PendingText>,
}

#[derive(Debug)]
struct PendingText {
    run: RunId,
    text: String,
    is_started: bool,
}

/// How much of a reply was printed when its event was emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrintedPart {
    Nothing,
    /// A part; the rest will follow.
    Part,
    /// All of it; any further output starts a new line.
    All,
}

impl Replies {
    /// Handles an event and returns how much of its reply was printed.
    pub(super) fn observe(&mut self, event: &Event) -> PrintedPart {
        let run = event.origin.run;
        if event.origin.depth > 0 {
            return PrintedPart::Nothing;
        }
        match &event.kind {
            EventKind::Model(ModelEvent::Requested { .. }) => {
                self.requested.insert(run);
            }
            EventKind::Run(RunEvent::Finished { code, .. }) => {
                return self.end(run, code.as_deref() == Some(DROPPED));
            }
            EventKind::Model(ModelEvent::Replied { text, reasoning, .. }) => {
                self.requested.remove(&run);
                let reasoning = reasoning.as_deref().unwrap_or_default();
                return self.reply(run, if text.is_empty() { reasoning } else { text });
            }
            // The reply is void, and the model repeats it.
            EventKind::Model(
                ModelEvent::ExtractionFailed { .. } | ModelEvent::ValidationFailed { .. },
            ) if self.requested.contains(&run) => {
                self.written.clear();
                return PrintedPart::All;
            }
            _ => {}
        }
        PrintedPart::Nothing
    }

    /// Ends a run: a partial reply is not continued, and if the stream was dropped, no reply is.
    fn end(&mut self, run: RunId, is_dropped: bool) -> PrintedPart {
        let mut was_printing = self.requested.remove(&run) && !self.written.is_empty();
        self.pending.retain(|rest| {
            let is_open = !is_dropped || rest.run != run;
            was_printing |= !is_open && rest.is_started;
            is_open
        });
        // The line may belong to another run that is still printing.
        if !was_printing || self.is_printing() {
            return PrintedPart::Nothing;
        }
        self.written.clear();
        PrintedPart::All
    }

    fn reply(&mut self, run: RunId, text: &str) -> PrintedPart {
        let text = sanitize_lines(text);
        let (text, written) = (tail(&text), take(&mut self.written));
        let mut splits = (1..=text.len()).rev().filter_map(|count| text.split_at_checked(count));
        let rest = match splits.find(|(printed, _)| written.ends_with(printed)) {
            Some((_, rest)) => {
                // Earlier replies were not printed.
                self.pending.clear();
                rest
            }
            None => text,
        };
        let is_started = rest.len() < text.len();
        if !rest.is_empty() {
            self.pending.push_back(PendingText { run, text: rest.to_owned(), is_started });
        }
        if self.pending.len() > MAX_REPLIES {
            self.pending.pop_front();
        }
        match (is_started, rest.is_empty()) {
            (true, true) => PrintedPart::All,
            (true, false) => PrintedPart::Part,
            (false, _) => PrintedPart::Nothing,
        }
    }

    /// Handles output. If a reply ends in it, returns the number of bytes that belong to the reply.
    pub(super) fn write(&mut self, text: &str) -> Option<usize> {
        if text.is_empty() {
            return None;
        }
        let fits = |rest: &PendingText| rest.text.starts_with(text) || text.starts_with(&rest.text);
        let Some(index) = self.pending.iter().position(fits) else {
            // A reply that was partly printed does not continue like this.
            self.pending.retain(|rest| !rest.is_started);
            self.written.push_str(text);
            if self.written.len() > 2 * MAX_COMPARED {
                self.written = tail(&self.written).to_owned();
            }
            return None;
        };
        self.pending.drain(..index);
        let rest = self.pending.front_mut()?;
        match rest.text.strip_prefix(text) {
            Some(more) if !more.is_empty() => {
                rest.text = more.to_owned();
                rest.is_started = true;
                None
            }
            _ => self.pending.pop_front().map(|rest| rest.text.len()),
        }
    }

    /// Returns whether a model is generating, or its reply is being printed.
    pub(super) fn is_printing(&self) -> bool {
        !self.requested.is_empty() || self.pending.iter().any(|rest| rest.is_started)
    }
}

fn tail(text: &str) -> &str {
    let first = text.len().saturating_sub(MAX_COMPARED);
    (first..text.len()).find_map(|from| text.get(from..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use tool_core::event::Origin;
    use tool_core::{FinishReason, Usage};

    fn event(kind: impl Into<EventKind>) -> Event {
        Event::new(Origin::default(), SystemTime::UNIX_EPOCH, kind)
    }

    fn replied(text: &str) -> Event {
        event(ModelEvent::Replied {
            message: None,
            text: text.to_owned(),
            reasoning: None,
            calls: Vec::new(),
            sources: Vec::new(),
            attachments: Vec::new(),
            provider: None,
            model: None,
            requested_model: None,
            server_address: None,
            server_port: None,
            finish_reason: FinishReason::Stop,
            usage: None,
            context_tokens: None,
            first_delta: None,
            duration: Duration::ZERO,
        })
    }

    #[test]
    fn reply_ends_with_its_printed_text() {
        let text = "Grüße:\n}\n}";
        for late in text.char_indices().map(|(offset, _)| offset) {
            let mut replies = Replies::default();
            replies.observe(&event(ModelEvent::Requested { message: None }));
            assert!(replies.is_printing());
            let (before, remaining) = text.split_at(late);
            assert_eq!((replies.write("It says: "), replies.write(before)), (None, None));
            let expected = if late == 0 { PrintedPart::Nothing } else { PrintedPart::Part };
            assert_eq!(replies.observe(&replied(text)), expected, "{before:?}");
            assert_eq!(replies.is_printing(), late > 0);
            let ends: Vec<_> =
                remaining.split_inclusive(|_| true).map(|it| replies.write(it)).collect();
            let (last, others) = ends.split_last().unwrap();
            assert!(last.is_some() && others.iter().all(Option::is_none), "{before:?}: {ends:?}");
            assert!(!replies.is_printing());
        }
    }

    #[test]
    fn late_and_missing_replies_are_handled() {
        let mut replies = Replies::default();
        for text in ["I look.", "Hm.", "", "Noon."] {
            assert_eq!(replies.observe(&replied(text)), PrintedPart::Nothing);
        }
        assert_eq!(replies.write("I look.Hm."), Some(7));
        assert_eq!(replies.write("No"), None);
        assert!(replies.is_printing());
        assert_eq!(replies.write("on."), Some(3));
        assert_eq!(replies.write("> "), None);
        assert!(!replies.is_printing());
        // Text that continues differently is not the reply.
        replies.observe(&replied("Noon."));
        assert_eq!((replies.write("No"), replies.write("body")), (None, None));
        assert!(!replies.is_printing());
        // The first of too many replies are dropped.
        (0..100).for_each(|number| {
            assert_eq!(replies.observe(&replied(&format!("{number}."))), PrintedPart::Nothing)
        });
        assert_eq!((replies.pending.len(), replies.write("0.")), (MAX_REPLIES, None));
    }

    #[test]
    fn long_texts_are_compared_by_their_ends() {
        let text = "ä".repeat(MAX_COMPARED) + "b";
        let mut replies = Replies::default();
        (0..5).for_each(|_| assert_eq!(replies.write(&text), None));
        assert!(replies.written.len() <= 2 * MAX_COMPARED);
        assert_eq!(replies.observe(&replied(&text)), PrintedPart::All);
    }

    #[test]
    fn partial_reply_ends_with_its_run() {
        let event_of = |run: u128, kind: EventKind| {
            Event::new(Origin::new(run.into(), 1), SystemTime::UNIX_EPOCH, kind)
        };
        let requested = |run| event_of(run, ModelEvent::Requested { message: None }.into());
        let ended = |run, code: &str| {
            let (code, usage, duration) = (Some(code.to_owned()), Usage::default(), Duration::ZERO);
            event_of(
                run,
                RunEvent::Finished {
                    code,
                    error: None,
                    usage,
                    usage_by_model: Vec::new(),
                    cost: None,
                    duration,
                }
                .into(),
            )
        };
        let mut replies = Replies::default();
        replies.observe(&requested(1));
        assert_eq!(
            replies.observe(&ended(1, "MODEL_FAILED")),
            PrintedPart::Nothing,
            "nothing was printed"
        );
        [1, 2]
            .iter()
            .for_each(|run| assert_eq!(replies.observe(&requested(*run)), PrintedPart::Nothing));
        replies.write("No");
        assert_eq!(
            replies.observe(&ended(1, "MODEL_FAILED")),
            PrintedPart::Nothing,
            "the other run may be printing"
        );
        assert_eq!(replies.observe(&ended(2, "MODEL_FAILED")), PrintedPart::All);
        assert_eq!(replies.observe(&ended(2, "MODEL_FAILED")), PrintedPart::Nothing);

        // The last text of a reply follows, unless the stream was dropped.
        let ends = [("TRUNCATED_REPLY", PrintedPart::Nothing), ("DROPPED", PrintedPart::All)];
        for (code, expected) in ends {
            replies.write("No");
            assert_eq!(replies.observe(&replied("Noon.")), PrintedPart::Part);
            assert_eq!(replies.observe(&ended(7, code)), PrintedPart::Nothing, "another run");
            assert_eq!(replies.observe(&ended(0, code)), expected);
            assert_eq!(replies.write("on."), (code == "TRUNCATED_REPLY").then_some(3));
            replies.written.clear();
        }
    }

    #[test]
    fn void_reply_ends_at_once() {
        let (text, reason, attempt) = (String::new(), String::new(), 1);
        let void = event(ModelEvent::ExtractionFailed { text, reason, attempt });
        let mut replies = Replies::default();
        assert_eq!(replies.observe(&void), PrintedPart::Nothing);
        replies.observe(&event(ModelEvent::Requested { message: None }));
        assert_eq!(replies.observe(&void), PrintedPart::All);
        assert!(replies.is_printing());
    }
}
