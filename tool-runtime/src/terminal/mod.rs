//! What happens, on a terminal, as it happens.
//!
//! `screen` decides what an event changes and `replies` where a model's words end, and neither knows a terminal; `drawn`
//! does it, by indicatif or line by line. Drawing takes a moment in the task that an event is told in: where that is too long, put the
//! [`Terminal`] into a [`Background`](crate::event::Background).
//!
//! What goes on is drawn at the bottom of the screen and drawn over again and again. A program that prints there
//! itself, and above all one that prints words as they come, without the end of a line, has them wiped away. So it
//! writes into the [`Writer`] that [`Terminal::writer`] gives, which puts them above what goes on: whole lines stay
//! there, and the line that has no end yet is drawn with the rest. Where nothing can be drawn, the two take turns, line by
//! line.

mod bars;
mod drawn;
mod line;
mod replies;
mod screen;
mod words;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use std::{env, fmt, thread};

use crate::event::{Event, Observer};
use bars::Bars;
use drawn::{Drawn, On};

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

type Shared = Mutex<Drawn>;

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
        let aside = is_apart.then(|| Box::new(io::stdout()) as Box<dyn Write + Send>);
        Self(Arc::new(Mutex::new(Drawn::new(on, aside))))
    }

    /// For what the program says itself, such as words of a reply as they come. It is the program's standard output,
    /// but above what goes on where both are on one terminal; and beside what is shown, where that was
    /// put [elsewhere](Self::on). On a terminal, nothing in it is obeyed but the ends of lines.
    ///
    /// The line that it is in ends where the model's reply does, and when it is dropped; the program's own end of that line
    /// is then the same. On plain output, what happens while a model's words stand on a line is told behind that line. A
    /// reply that was written here is not shown again, unless that goes into a file and the terminal is looked at: its line
    /// tells the calls in it, and there is none without any.
    ///
    /// Not to be written to within [`suspend`](Self::suspend).
    ///
    /// ```
    /// use std::io::Write;
    /// use tool_runtime::agent::StreamItem;
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
    ///     if let StreamItem::Text(text) = piece {
    ///         write!(said, "{text}")?;
    ///         said.flush()?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn writer(&self) -> Writer {
        Writer::new(Arc::clone(&self.0))
    }

    /// Has the screen to oneself for as long as this takes, for instance to print. Whoever has something to
    /// tell meanwhile waits, so that nothing that tells of events itself belongs here.
    ///
    /// So a person is asked, for instance whether a call may run. What a model wants is shown by a
    /// [`writer`](Self::writer), for nothing in that is obeyed, and without what is secret in it. The question and the
    /// choice stand on one line, so that nobody who doesn't see the one is given the other:
    ///
    /// ```
    /// use std::io::{self, BufRead, Write, stdin};
    ///
    /// use tokio::task::spawn_blocking;
    /// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
    /// use tool_runtime::terminal::Terminal;
    /// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, async_trait, tool, tools};
    ///
    /// /// Whoever sits at the terminal.
    /// struct Person(Terminal);
    ///
    /// #[async_trait]
    /// impl Approver for Person {
    ///     async fn approve(&self, request: &ApprovalRequest) -> Approval {
    ///         let question = format!("May it {} {}?", request.call.name, request.redacted_arguments());
    ///         let terminal = self.0.clone();
    ///         // Reading holds its thread up.
    ///         match spawn_blocking(move || ask(&terminal, &question)).await {
    ///             Ok(Ok(answer)) if answer.trim() == "y" => Approval::Once,
    ///             Ok(Ok(_)) => Approval::Deny("the user said no".into()),
    ///             _ => Approval::Deny("nobody could be asked".into()),
    ///         }
    ///     }
    /// }
    ///
    /// fn ask(terminal: &Terminal, question: &str) -> io::Result<String> {
    ///     # struct Stdin;
    ///     # impl Stdin { fn lock(&self) -> &'static [u8] { b"y\n" } }
    ///     # let stdin = || Stdin;
    ///     // Held until the answer is there: calls of one reply are asked about at once.
    ///     let (stdin, mut answer) = (stdin(), String::new());
    ///     let mut answers = stdin.lock();
    ///     writeln!(terminal.writer(), "{question} [y/n]")?;
    ///     terminal.suspend(|| answers.read_line(&mut answer))?;
    ///     Ok(answer)
    /// }
    ///
    /// /// Deletes a file.
    /// #[tool(effect = "write", permission = "ask")]
    /// async fn delete(path: String) -> String {
    ///     format!("{path} is gone")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let call = ChatReply::default().call("delete", r#"{"path": "draft.txt"}"#);
    /// # let model = ScriptedModel::new([call, ChatReply::text("It is gone.")]);
    /// let terminal = Terminal::new();
    /// let agent = Agent::new(model, tools![delete]).observer(terminal.clone());
    /// let answer = agent.policy(Policy::new().approver(Person(terminal))).run("Tidy up.").await?;
    /// # assert!(answer.transcript.iter().any(|it| format!("{it:?}").contains("draft.txt is gone")));
    /// # Ok(())
    /// # }
    /// ```
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        let bars = locked(&self.0).make_room();
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
        if let On::Bars(bars) = &locked(&shared).on {
            bars.tick();
        }
    }
}

fn locked(shared: &Shared) -> MutexGuard<'_, Drawn> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Terminal {
    fn observe(&self, event: &Event) {
        locked(&self.0).observe(event);
    }
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = matches!(&locked(&self.0).on, On::Plain(_));
        f.debug_struct("Terminal").field("is_plain", &is_plain).finish_non_exhaustive()
    }
}
