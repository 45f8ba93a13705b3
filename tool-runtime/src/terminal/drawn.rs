//! What is drawn of what happens and of what the program says, each where it belongs.

use std::io::{self, Write};
use std::mem::take;

use indicatif::MultiProgress;

use super::bars::Bars;
use super::replies::{Replies, Written};
use super::screen::{Change, Screen};
use crate::event::{Event, EventKind, ModelEvent};

/// What is drawn.
pub(super) struct Drawn {
    pub(super) on: On,
    /// Where the program's words go, if not there.
    pub(super) aside: Option<Box<dyn Write + Send>>,
    /// By how many writers the program speaks.
    pub(super) writers: usize,
    screen: Screen,
    replies: Replies,
    /// Whether the program is within a line.
    is_open: bool,
    /// Whether a reply's end has ended it, so that the program's own end of it is the same.
    is_over: bool,
    /// Lines that wait for the end of a model's.
    held: Vec<String>,
}

/// Where it is drawn.
pub(super) enum On {
    Plain(Box<dyn Write + Send>),
    Bars(Bars),
}

impl Drawn {
    pub(super) fn new(on: On, aside: Option<Box<dyn Write + Send>>) -> Self {
        Self {
            on,
            aside,
            writers: 0,
            screen: Screen::default(),
            replies: Replies::default(),
            is_open: false,
            is_over: false,
            held: Vec::new(),
        }
    }

    pub(super) fn observe(&mut self, event: &Event) {
        let written = self.replies.hear(event);
        if written == Written::All {
            self.end_reply();
        }
        let is_shown = self.is_shown(written, event);
        for change in self.screen.take(event, is_shown) {
            self.change(change);
        }
    }

    /// Whether what a model says is there to be read. Where it goes into a file, it is not on the terminal.
    fn is_shown(&self, written: Written, event: &Event) -> bool {
        let is_there = self.aside.is_none() || matches!(self.on, On::Plain(_));
        // Where nothing was said, a writer has shown all of it.
        is_there && (written != Written::Nothing || (self.writers > 0 && is_wordless(event)))
    }

    fn change(&mut self, change: Change) {
        match (&mut self.on, change) {
            (On::Plain(_), Change::Said(line)) => {
                self.held.push(line.to_string());
                // It does not stand in the midst of another: a model's goes on, any other ends.
                if !self.is_open {
                    self.release();
                } else if !self.replies.is_under_way() {
                    let _ = self.end_line();
                }
            }
            (On::Plain(_), Change::Shown(..) | Change::Gone(_)) => {}
            (On::Bars(bars), Change::Shown(number, text)) => bars.show(number, text),
            (On::Bars(bars), Change::Gone(number)) => bars.remove(number),
            (On::Bars(bars), Change::Said(line)) => bars.say(&line.in_colour()),
        }
    }

    fn release(&mut self) {
        if let On::Plain(writer) = &mut self.on {
            for line in take(&mut self.held) {
                // A terminal that is gone is no reason to stop.
                let _ = writeln!(writer, "{line}");
            }
        }
    }

    /// The program says this: its bytes, and the same as it is to be shown. A line ends in it at most at its end.
    pub(super) fn words<'w>(&mut self, mut bytes: &'w [u8], mut text: &'w str) -> io::Result<()> {
        if !text.is_empty() && take(&mut self.is_over) && text.starts_with('\n') {
            self.replies.write(text);
            return Ok(());
        }
        while let Some(count) = self.replies.write(text) {
            let (reply, more) = text.split_at(count);
            if more.is_empty() || more == "\n" {
                self.put(bytes, text)?;
                self.end_reply();
                return Ok(());
            }
            // Where they differ, what is written aside can't be parted.
            if bytes != text.as_bytes() {
                break;
            }
            self.put(reply.as_bytes(), reply)?;
            self.end_reply();
            (bytes, text) = (more.as_bytes(), more);
        }
        self.put(bytes, text)
    }

    fn put(&mut self, bytes: &[u8], text: &str) -> io::Result<()> {
        match (&mut self.aside, &mut self.on) {
            (Some(aside), _) => aside.write_all(bytes)?,
            (None, On::Plain(writer)) => writer.write_all(text.as_bytes())?,
            (None, On::Bars(bars)) => bars.words(text),
        }
        if !text.is_empty() {
            self.is_open = !text.ends_with('\n');
        }
        if !self.is_open {
            self.release();
        }
        Ok(())
    }

    fn end_reply(&mut self) {
        self.is_over = self.is_open;
        // Whoever wants to know whether it was written flushes it.
        let _ = self.end_line();
    }

    /// The line that the program is in ends here.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if !take(&mut self.is_open) {
            return Ok(());
        }
        let ended = match (&mut self.aside, &mut self.on) {
            (Some(aside), _) => writeln!(aside).and_then(|()| aside.flush()),
            (None, On::Plain(writer)) => writeln!(writer),
            (None, On::Bars(bars)) => {
                bars.words("\n");
                Ok(())
            }
        };
        self.release();
        ended
    }

    /// The program is about to print: it begins on a line of its own, and what is drawn is put aside by this.
    pub(super) fn make_room(&mut self) -> Option<MultiProgress> {
        match &self.on {
            On::Bars(bars) => Some(bars.all.clone()),
            On::Plain(_) => {
                // Whoever wants to know whether it was written flushes it.
                let _ = self.end_line();
                None
            }
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match (&mut self.aside, &mut self.on) {
            (Some(aside), _) => aside.flush(),
            (None, On::Plain(writer)) => writer.flush(),
            (None, On::Bars(_)) => Ok(()),
        }
    }
}

/// Whether it tells of a reply without words.
fn is_wordless(event: &Event) -> bool {
    matches!(&event.kind, EventKind::Model(ModelEvent::Replied { text, .. }) if text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::{Duration, SystemTime};

    use indicatif::ProgressDrawTarget;

    use super::*;
    use crate::event::{Origin, RunEvent};

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn replied(text: &str) -> EventKind {
        let (text, calls, took) = (text.to_owned(), Vec::new(), Duration::ZERO);
        ModelEvent::Replied { text, reasoning: None, calls, usage: None, took }.into()
    }

    #[test]
    fn words_in_a_file_are_not_to_be_read_on_a_terminal() {
        let bars = || On::Bars(Bars::on(ProgressDrawTarget::hidden()));
        let plain = || On::Plain(Box::new(Paper::default()));
        let aside = || Some(Box::new(Paper::default()) as Box<dyn Write + Send>);
        for (on, aside, expected) in [
            (bars(), None, true),
            (bars(), aside(), false),
            (plain(), None, true),
            (plain(), aside(), true),
        ] {
            let drawn = Drawn { writers: 1, ..Drawn::new(on, aside) };
            for (written, text) in [(Written::Part, "Noon."), (Written::Nothing, "")] {
                let event = Event::new(Origin::default(), SystemTime::UNIX_EPOCH, replied(text));
                assert_eq!(drawn.is_shown(written, &event), expected);
            }
        }
    }

    /// Standard output and standard error may end up in one file.
    #[test]
    fn words_that_go_elsewhere_are_not_mixed_with_what_is_told_either() {
        let paper = Paper::default();
        let on = On::Plain(Box::new(paper.clone()));
        let mut drawn = Drawn::new(on, Some(Box::new(paper.clone())));
        let tell = |drawn: &mut Drawn, kind: EventKind| {
            drawn.observe(&Event::new(Origin::default(), SystemTime::UNIX_EPOCH, kind));
        };
        let ended = RunEvent::Finished {
            code: None,
            error: None,
            usage: crate::Usage::default(),
            cost: None,
            took: Duration::ZERO,
        };
        tell(&mut drawn, ModelEvent::Asked.into());
        // Its bytes stay as they are.
        drawn.words(b"\xffNoo", "\u{fffd}Noo").unwrap();
        tell(&mut drawn, replied("Noon"));
        tell(&mut drawn, ended.into());
        drawn.words(b"n", "n").unwrap();
        drawn.words(b"\n", "\n").unwrap();
        drawn.words(b"and", "and").unwrap();
        drawn.end_line().unwrap();
        let written = paper.0.lock().unwrap().clone();
        assert_eq!(written, b"\xffNoon\n\xe2\x9c\x93 run  0 \xc2\xb5s\nand\n");
    }
}
