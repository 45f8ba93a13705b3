//! Display of events and of the program's own output, line by line or with progress bars.

use std::io::{self, Write};
use std::mem::take;

use indicatif::MultiProgress;

use super::bars::Bars;
use super::replies::{PrintedPart, Replies};
use super::screen::{Change, Screen};
use tool_core::Event;
use tool_core::event::{EventKind, ModelEvent};

/// Display of a terminal.
pub(super) struct Display {
    pub(super) output: Output,
    /// Destination of the program's output, if it is not the display.
    pub(super) aside: Option<Box<dyn Write + Send>>,
    /// The number of writers of the program.
    pub(super) writers: usize,
    screen: Screen,
    replies: Replies,
    /// Whether the program's output is within a line.
    is_open: bool,
    /// Whether the end of a reply has ended the line, so that the program's own line ending is
    /// skipped.
    was_ended: bool,
    /// Lines that wait for the end of a line of the model.
    pending_lines: Vec<String>,
}

/// Output of a display.
pub(super) enum Output {
    Plain(Box<dyn Write + Send>),
    Bars(Bars),
}

impl Display {
    pub(super) fn new(output: Output, aside: Option<Box<dyn Write + Send>>) -> Self {
        Self {
            output,
            aside,
            writers: 0,
            screen: Screen::default(),
            replies: Replies::default(),
            is_open: false,
            was_ended: false,
            pending_lines: Vec::new(),
        }
    }

    pub(super) fn observe(&mut self, event: &Event) {
        let written = self.replies.observe(event);
        if written == PrintedPart::All {
            self.end_reply();
        }
        let shows_text = self.shows_text(written, event);
        for change in self.screen.observe(event, shows_text) {
            self.change(change);
        }
    }

    /// Returns whether the text of the model is visible. Output that goes to a file is not on the
    /// terminal.
    fn shows_text(&self, written: PrintedPart, event: &Event) -> bool {
        let is_visible = self.aside.is_none() || matches!(self.output, Output::Plain(_));
        // A reply without text has nothing else to show.
        is_visible
            && (written != PrintedPart::Nothing || (self.writers > 0 && is_without_text(event)))
    }

    fn change(&mut self, change: Change) {
        match (&mut self.output, change) {
            (Output::Plain(_), Change::Print(line)) => {
                self.pending_lines.push(line.to_string());
                // A line is not printed within another one: a line of the model continues, any
                // other one ends.
                if !self.is_open {
                    self.release();
                } else if !self.replies.is_printing() {
                    let _ = self.end_line();
                }
            }
            (Output::Plain(_), Change::Show(..) | Change::Remove(_)) => {}
            (Output::Bars(bars), Change::Show(number, text)) => bars.show(number, text),
            (Output::Bars(bars), Change::Remove(number)) => bars.remove(number),
            (Output::Bars(bars), Change::Print(line)) => bars.print(&line.in_colour()),
        }
    }

    fn release(&mut self) {
        if let Output::Plain(writer) = &mut self.output {
            for line in take(&mut self.pending_lines) {
                // A closed terminal must not stop the program.
                let _ = writeln!(writer, "{line}");
            }
        }
    }

    /// Writes output of the program, as bytes and as visible text. It contains a line ending only
    /// at its end.
    pub(super) fn write<'w>(&mut self, mut bytes: &'w [u8], mut text: &'w str) -> io::Result<()> {
        if !text.is_empty() && take(&mut self.was_ended) && text.starts_with('\n') {
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
            // If the two differ, the bytes cannot be split at the end of the reply.
            if bytes != text.as_bytes() {
                break;
            }
            self.put(reply.as_bytes(), reply)?;
            self.end_reply();
            bytes = more.as_bytes();
            text = more;
        }
        self.put(bytes, text)
    }

    fn put(&mut self, bytes: &[u8], text: &str) -> io::Result<()> {
        match (&mut self.aside, &mut self.output) {
            (Some(aside), _) => aside.write_all(bytes)?,
            (None, Output::Plain(writer)) => writer.write_all(text.as_bytes())?,
            (None, Output::Bars(bars)) => bars.write(text),
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
        self.was_ended = self.is_open;
        // A program that needs to know about errors flushes the writer.
        let _ = self.end_line();
    }

    /// Ends the current line of the program's output.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if !take(&mut self.is_open) {
            return Ok(());
        }
        let result = match (&mut self.aside, &mut self.output) {
            (Some(aside), _) => writeln!(aside).and_then(|()| aside.flush()),
            (None, Output::Plain(writer)) => writeln!(writer),
            (None, Output::Bars(bars)) => {
                bars.write("\n");
                Ok(())
            }
        };
        self.release();
        result
    }

    /// Prepares for output of the program itself: ends the current line and returns the bars, which
    /// can be suspended.
    pub(super) fn prepare_suspend(&mut self) -> Option<MultiProgress> {
        match &self.output {
            Output::Bars(bars) => Some(bars.all.clone()),
            Output::Plain(_) => {
                // A program that needs to know about errors flushes the writer.
                let _ = self.end_line();
                None
            }
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match (&mut self.aside, &mut self.output) {
            (Some(aside), _) => aside.flush(),
            (None, Output::Plain(writer)) => writer.flush(),
            (None, Output::Bars(_)) => Ok(()),
        }
    }
}

/// Returns whether the event is a reply without text.
fn is_without_text(event: &Event) -> bool {
    matches!(&event.kind, EventKind::Model(ModelEvent::Replied { text, .. }) if text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::{Duration, SystemTime};

    use indicatif::ProgressDrawTarget;

    use super::*;
    use tool_core::FinishReason;
    use tool_core::event::{Origin, RunEvent};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn replied(text: &str) -> EventKind {
        ModelEvent::Replied {
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
        }
        .into()
    }

    #[test]
    fn text_in_a_file_is_not_visible_on_the_terminal() {
        let bars = || Output::Bars(Bars::new(ProgressDrawTarget::hidden()));
        let plain = || Output::Plain(Box::new(Buffer::default()));
        let aside = || Some(Box::new(Buffer::default()) as Box<dyn Write + Send>);
        for (output, aside, expected) in [
            (bars(), None, true),
            (bars(), aside(), false),
            (plain(), None, true),
            (plain(), aside(), true),
        ] {
            let display = Display { writers: 1, ..Display::new(output, aside) };
            for (written, text) in [(PrintedPart::Part, "Noon."), (PrintedPart::Nothing, "")] {
                let event = Event::new(Origin::default(), SystemTime::UNIX_EPOCH, replied(text));
                assert_eq!(display.shows_text(written, &event), expected);
            }
        }
    }

    /// Standard output and standard error may go to the same file.
    #[test]
    fn output_to_another_stream_keeps_its_lines() {
        let buffer = Buffer::default();
        let output = Output::Plain(Box::new(buffer.clone()));
        let mut display = Display::new(output, Some(Box::new(buffer.clone())));
        let emit = |display: &mut Display, kind: EventKind| {
            display.observe(&Event::new(Origin::default(), SystemTime::UNIX_EPOCH, kind));
        };
        let finished = RunEvent::Finished {
            code: None,
            error: None,
            usage: tool_core::Usage::default(),
            usage_by_model: Vec::new(),
            cost: None,
            duration: Duration::ZERO,
        };
        emit(&mut display, ModelEvent::Requested { message: None }.into());
        // The bytes stay unchanged.
        display.write(b"\xffNoo", "\u{fffd}Noo").unwrap();
        emit(&mut display, replied("Noon"));
        emit(&mut display, finished.into());
        display.write(b"n", "n").unwrap();
        display.write(b"\n", "\n").unwrap();
        display.write(b"and", "and").unwrap();
        display.end_line().unwrap();
        let written = buffer.0.lock().unwrap().clone();
        assert_eq!(written, b"\xffNoon\n\xe2\x9c\x93 run  0 \xc2\xb5s\nand\n");
    }
}
