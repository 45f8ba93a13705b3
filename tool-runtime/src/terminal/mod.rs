//! What happens, on a terminal, as it happens.
//!
//! `screen` decides what an event changes, and knows no terminal; what is here does it, by indicatif or line
//! by line. Drawing takes a moment in the task that an event is told in: where that is too long, put the
//! [`Terminal`] into a [`Background`](crate::event::Background).
//!
//! What goes on is drawn at the bottom of the screen and drawn over again and again. A program that prints there
//! itself, and above all one that prints words as they come, without the end of a line, has them wiped away. So it
//! writes into the [`Writer`] that [`Terminal::writer`] gives, which puts them above what goes on: whole lines stay
//! there, and the line that has no end yet is drawn with the rest.

mod bars;
mod line;
mod screen;
mod words;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use std::{env, fmt, thread};

use crate::event::{Event, Observer};
use bars::Bars;
use screen::{Change, Screen};
use words::Words;

pub use indicatif::ProgressDrawTarget;
pub use words::Writer;

/// How often the time of what goes on is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// Shows a person what happens: what goes on, for how long and how far it is, and one line for each reply
/// of the model, each further attempt and each result.
///
/// It draws on the terminal that is the program's standard error, and writes plain lines, one for each thing
/// that is over, where that is none or `NO_COLOR` is set. What the program prints itself meanwhile belongs into
/// its [`writer`](Self::writer), or into [`suspend`](Self::suspend): else the two wipe each other. Nothing that a model or a tool says can move the cursor or change a colour.
///
/// ```
/// use tool_runtime::terminal::Terminal;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let terminal = Terminal::new();
/// let agent = Agent::new(model, Tools::new()).observer(terminal.clone());
/// let answer = agent.run("Hello").await?;
/// terminal.suspend(|| println!("{answer}"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Terminal(Arc<Shared>);

struct Shared {
    screen: Mutex<Screen>,
    drawn: Mutex<Drawn>,
    /// Whether what the program says is to be seen elsewhere, on its standard output.
    is_apart: bool,
}

/// What is drawn.
struct Drawn {
    on: On,
    /// What the program says.
    words: Words,
}

/// Where it is drawn.
enum On {
    Plain(Box<dyn Write + Send>),
    Bars(Bars),
}

impl Terminal {
    /// On standard error.
    pub fn new() -> Self {
        let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_apart = !(io::stderr().is_terminal() && io::stdout().is_terminal());
        let target = ProgressDrawTarget::stderr();
        // Nothing can be drawn over on what is no terminal, or a dumb one.
        if no_colour || target.is_hidden() {
            Self::drawn(On::Plain(Box::new(io::stderr())), is_apart)
        } else {
            Self::ticking(Bars::on(target), is_apart)
        }
    }

    /// On another terminal; nowhere, where that is [hidden](ProgressDrawTarget::is_hidden).
    ///
    /// ```
    /// use tool_runtime::terminal::{ProgressDrawTarget, Terminal};
    ///
    /// let terminal = Terminal::on(ProgressDrawTarget::stdout());
    /// ```
    pub fn on(target: ProgressDrawTarget) -> Self {
        // What is drawn nowhere stands above nothing.
        let is_apart = target.is_hidden();
        Self::ticking(Bars::on(target), is_apart)
    }

    fn ticking(bars: Bars, is_apart: bool) -> Self {
        let terminal = Self::drawn(On::Bars(bars), is_apart);
        let shared = Arc::downgrade(&terminal.0);
        // Where there can be no more threads, times stand still until something happens.
        let _ = thread::Builder::new().name("terminal".into()).spawn(move || tick(&shared));
        terminal
    }

    /// Plain lines, into a file or wherever else.
    ///
    /// ```
    /// use tool_runtime::terminal::Terminal;
    ///
    /// let terminal = Terminal::plain(std::io::stdout());
    /// ```
    pub fn plain(writer: impl Write + Send + 'static) -> Self {
        Self::drawn(On::Plain(Box::new(writer)), false)
    }

    fn drawn(on: On, is_apart: bool) -> Self {
        let drawn = Mutex::new(Drawn { on, words: Words::default() });
        Self(Arc::new(Shared { screen: Mutex::default(), drawn, is_apart }))
    }

    /// For what the program says itself, such as words of a reply as they come. It is the program's standard output,
    /// but above what goes on where both are on one terminal; and beside what is shown, where that was
    /// put [elsewhere](Self::on). On a terminal, nothing in it is obeyed but the ends of lines.
    ///
    /// It ends the line that it is in when it is dropped. Not to be written to within [`suspend`](Self::suspend).
    ///
    /// ```
    /// use std::io::Write;
    /// use tool_runtime::agent::Piece;
    /// use tool_runtime::terminal::Terminal;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
    /// let terminal = Terminal::new();
    /// let agent = Agent::new(model, Tools::new()).observer(terminal.clone());
    /// let mut said = terminal.writer();
    /// let mut stream = agent.stream("Hello");
    /// while let Some(piece) = stream.next().await {
    ///     if let Piece::Text(text) = piece {
    ///         write!(said, "{text}")?;
    ///         said.flush()?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn writer(&self) -> Writer {
        Writer::new(Arc::clone(&self.0), self.0.is_apart.then(io::stdout))
    }

    /// Has the screen to oneself for as long as this takes, for instance to print. Whoever has something to
    /// tell meanwhile waits, so that nothing that tells of events itself belongs here.
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        let bars = match &locked(&self.0.drawn).on {
            On::Plain(_) => None,
            On::Bars(bars) => Some(bars.all.clone()),
        };
        match bars {
            None => work(),
            Some(bars) => bars.suspend(work),
        }
    }
}

/// Draws times anew, until nobody holds the terminal any more.
fn tick(shared: &Weak<Shared>) {
    loop {
        thread::sleep(TICK);
        let Some(shared) = shared.upgrade() else { return };
        if let On::Bars(bars) = &locked(&shared.drawn).on {
            bars.tick();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Terminal {
    fn observe(&self, event: &Event) {
        let mut drawn = locked(&self.0.drawn);
        for change in locked(&self.0.screen).take(event) {
            drawn.change(change);
        }
    }
}

impl Drawn {
    fn change(&mut self, change: Change) {
        match (&mut self.on, change) {
            (On::Plain(writer), Change::Said(line)) => {
                // It does not stand in the midst of another.
                let between = if self.words.end().is_some() { "\n" } else { "" };
                // A terminal that is gone is no reason to stop.
                let _ = writeln!(writer, "{between}{line}");
            }
            (On::Plain(_), Change::Shown(..) | Change::Gone(_)) => {}
            (On::Bars(bars), Change::Shown(number, text)) => bars.show(number, text),
            (On::Bars(bars), Change::Gone(number)) => bars.remove(number),
            (On::Bars(bars), Change::Said(line)) => bars.say(&line.in_colour()),
        }
    }

    /// The program says this.
    fn words(&mut self, text: &str) -> io::Result<()> {
        match &mut self.on {
            On::Plain(writer) => {
                self.words.push(text);
                writer.write_all(text.as_bytes())
            }
            On::Bars(bars) => {
                if let Some((whole, _)) = text.rsplit_once('\n') {
                    let before = self.words.end().unwrap_or_default();
                    bars.begin_line("");
                    // A line by itself, for one that is empty is a line all the same.
                    format!("{before}{whole}").split('\n').for_each(|line| bars.say(line));
                }
                self.words.push(text);
                bars.begin_line(self.words.line());
                Ok(())
            }
        }
    }

    /// The line that the program is in ends here.
    fn end_line(&mut self) -> io::Result<()> {
        match self.words.end() {
            None => Ok(()),
            Some(line) => match &mut self.on {
                On::Plain(writer) => writeln!(writer),
                On::Bars(bars) => {
                    bars.begin_line("");
                    bars.say(&line);
                    Ok(())
                }
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.on {
            On::Plain(writer) => writer.flush(),
            On::Bars(_) => Ok(()),
        }
    }
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = matches!(&locked(&self.0.drawn).on, On::Plain(_));
        f.debug_struct("Terminal").field("is_plain", &is_plain).finish_non_exhaustive()
    }
}
