use std::fmt;
use std::io::{self, BufWriter, Write};

use super::background::DEFAULT_CAPACITY;
use crate::event::sink::queue::{Queue, Sink};
use crate::event::{Event, Observer};

/// Writes each event as one line: a flat JSON object that deserializes to an [`Event`].
///
/// A dedicated thread writes, so that no run waits for a disk or a socket. If writing is too slow,
/// or fails, events are dropped and counted: the next line that can be written is the event
/// `log.dropped` with their number.
///
/// ```
/// use tool_runtime::event::JsonLines;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    /// Starts a thread that writes events, with a queue of 10,000 events.
    ///
    /// # Errors
    /// Returns an error if the thread can't be spawned.
    ///
    /// ```
    /// use tool_runtime::event::JsonLines;
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// let log = JsonLines::new(std::io::stdout())?;
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).observer(log.clone());
    /// # log.flush()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(writer: impl Write + Send + 'static) -> io::Result<Self> {
        Self::with_capacity(DEFAULT_CAPACITY, writer)
    }

    /// Starts a thread that writes events, with a queue of `capacity` events, and of one at least.
    ///
    /// # Errors
    /// Returns an error if the thread can't be spawned.
    pub fn with_capacity(capacity: usize, writer: impl Write + Send + 'static) -> io::Result<Self> {
        Queue::new(capacity, Lines(BufWriter::new(writer))).map(Self)
    }

    /// Blocks the current thread until all earlier events are written.
    ///
    /// # Errors
    /// Returns the first error of the writer since the last flush.
    pub fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

struct Lines<W: Write>(BufWriter<W>);

impl<W: Write + Send + 'static> Sink for Lines<W> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        // One write for the whole line: half a line would corrupt the next one.
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
