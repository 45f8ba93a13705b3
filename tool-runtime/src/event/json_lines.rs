use std::fmt;
use std::io::{self, BufWriter, Write};

use super::background::CAPACITY;
use super::queue::{Queue, Sink};
use super::{Event, Observer};

/// Writes each event as one line: a flat JSON object, which reads back as an [`Event`].
///
/// A thread of its own writes, so that no run waits for a disk or a socket. Where that is too slow,
/// or fails, events are lost and counted: the next line that can be written says how many, as layer
/// `log` and action `lost`.
///
/// ```
/// use tool_runtime::event::JsonLines;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let log = JsonLines::new(std::io::stderr())?; // or a file, opened for append
/// Agent::new(model, Tools::new()).observer(log.clone()).run("Hello").await?;
/// log.flush()?; // before the program ends
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct JsonLines(Queue);

impl JsonLines {
    /// Up to 10,000 events may wait to be written.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn new(writer: impl Write + Send + 'static) -> io::Result<Self> {
        Self::with_capacity(CAPACITY, writer)
    }

    /// Up to this many events may wait to be written.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn with_capacity(capacity: usize, writer: impl Write + Send + 'static) -> io::Result<Self> {
        Queue::new(capacity, Lines(BufWriter::new(writer))).map(Self)
    }

    /// Waits, and holds this thread up meanwhile, until all that came before is written.
    ///
    /// # Errors
    /// What the writer said when something could not be written since the last time.
    pub fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

struct Lines<W: Write>(BufWriter<W>);

impl<W: Write + Send + 'static> Sink for Lines<W> {
    fn take(&mut self, event: &Event) -> io::Result<()> {
        // Written in one piece: half a line would spoil the next one as well.
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Observer for JsonLines {
    fn observe(&self, event: &Event) {
        self.0.push(event);
    }
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").finish_non_exhaustive()
    }
}
