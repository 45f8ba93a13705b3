//! Terminal output of running agents.
//!
//! `screen` decides what an event changes and `replies` finds the end of a model's text in the
//! program's output; neither knows a terminal. `display` renders the changes, with the bars of
//! `bars` or as the lines of `line`, and `writer` is the program's own output. Rendering takes a
//! moment in the task that emits the event. If that is too long, put the [`Terminal`] into a
//! [`Background`](tool_core::event::Background) observer.
//!
//! Running activities are drawn at the bottom of the screen and redrawn many times a second. A
//! program that prints there itself, above all one that prints text without a line ending, would
//! have it overwritten. The writer of [`Terminal::writer`] prints above the running activities:
//! whole lines are permanent, and an unfinished line is redrawn with the rest. On plain output, the
//! two alternate line by line.

mod approver;
mod bars;
mod display;
mod line;
mod replies;
mod screen;
mod writer;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use std::{env, fmt, thread};

use bars::Bars;
use display::{Display, Output};
use tool_core::Event;
use tool_core::event::Observer;
use writer::Writer;

pub use approver::TerminalApprover;
pub use indicatif::ProgressDrawTarget;

/// Interval at which elapsed times are redrawn.
const TICK: Duration = Duration::from_millis(100);

/// Observer that shows running agents on a terminal: running activities with their elapsed time and
/// progress, and one line for each reply, retry and result.
///
/// Draws on standard error. If standard error is not a terminal, or if `NO_COLOR` is set, writes
/// plain lines instead. Print the program's own output with a [`writer`](Self::writer) or within
/// [`suspend`](Self::suspend); otherwise the two overwrite each other. Text of models and tools can
/// neither move the cursor nor change a colour.
///
/// ```
/// use tool_runtime::terminal::Terminal;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let terminal = Terminal::new();
/// let agent = Agent::new(model, Tools::new()).observer(terminal.clone());
/// let answer = agent.run("Hello").await?;
/// terminal.suspend(|| println!("{answer}"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Terminal(Arc<TerminalState>);

type TerminalState = Mutex<Display>;

impl Terminal {
    /// Creates a display on standard error.
    ///
    /// ```
    /// use tool_runtime::terminal::Terminal;
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).observer(Terminal::new());
    /// ```
    pub fn new() -> Self {
        let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let has_own_output = !(io::stderr().is_terminal() && io::stdout().is_terminal());
        let target = ProgressDrawTarget::stderr();
        // Neither a file nor a dumb terminal can redraw lines.
        if no_colour || target.is_hidden() {
            Self::with_output(Output::Plain(Box::new(io::stderr())), has_own_output)
        } else {
            Self::ticking(Bars::new(target), has_own_output)
        }
    }

    /// Creates a display on another terminal. A [hidden](ProgressDrawTarget::is_hidden) target
    /// shows nothing.
    ///
    /// ```
    /// use tool_runtime::terminal::{ProgressDrawTarget, Terminal};
    ///
    /// let terminal = Terminal::with_target(ProgressDrawTarget::stdout());
    /// ```
    pub fn with_target(target: ProgressDrawTarget) -> Self {
        // With a hidden target, the program's output goes directly to standard output.
        let has_own_output = target.is_hidden();
        Self::ticking(Bars::new(target), has_own_output)
    }

    fn ticking(bars: Bars, has_own_output: bool) -> Self {
        let terminal = Self::with_output(Output::Bars(bars), has_own_output);
        let shared = Arc::downgrade(&terminal.0);
        // If no thread can be started, times are redrawn only with the next event.
        let _ = thread::Builder::new().name("terminal".into()).spawn(move || tick(&shared));
        terminal
    }

    /// Creates a display of plain lines, for a file or another writer.
    ///
    /// ```
    /// use tool_runtime::terminal::Terminal;
    ///
    /// let terminal = Terminal::plain(std::io::stdout());
    /// ```
    pub fn plain(writer: impl Write + Send + 'static) -> Self {
        Self::with_output(Output::Plain(Box::new(writer)), false)
    }

    fn with_output(output: Output, has_own_output: bool) -> Self {
        let aside = has_own_output.then(|| Box::new(io::stdout()) as Box<dyn Write + Send>);
        Self(Arc::new(Mutex::new(Display::new(output, aside))))
    }

    /// Returns a writer for the program's own output, such as the text of a reply while it is
    /// streamed.
    ///
    /// The writer prints to standard output or, if the display was created with
    /// [`with_target`](Self::with_target) or [`plain`](Self::plain), to the target of the display.
    /// If the output and the display are on the same terminal, the output appears above the running
    /// activities. On a terminal, all control characters except line endings are escaped.
    ///
    /// - The end of a model's reply ends the current line. The program's own line ending after a
    ///   reply is then skipped.
    /// - Dropping the writer ends the current line.
    /// - On plain output, events that occur while the text of a model is within a line are printed
    ///   after that line.
    /// - A reply that was printed here is not shown again: its line shows only its calls, and is
    ///   omitted if there are none.
    /// - If the output goes to a file while the display is on a terminal, the display shows the
    ///   whole reply.
    ///
    /// Do not write to it within [`suspend`](Self::suspend).
    ///
    /// ```
    /// use std::io::Write;
    /// use tool_runtime::agent::StreamItem;
    /// use tool_runtime::terminal::Terminal;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
    /// let terminal = Terminal::new();
    /// let agent = Agent::new(model, Tools::new()).observer(terminal.clone());
    /// let mut output = terminal.writer();
    /// let mut stream = agent.stream("Hello");
    /// while let Some(piece) = stream.next().await {
    ///     if let StreamItem::Text(text) = piece {
    ///         write!(output, "{text}")?;
    ///         output.flush()?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn writer(&self) -> impl Write + fmt::Debug + Send + use<> {
        Writer::new(Arc::clone(&self.0))
    }

    /// Runs a closure that may use the screen itself, for instance to print or to read a line.
    ///
    /// Events that are emitted meanwhile wait, so the closure must not emit events itself.
    ///
    /// An approver can ask a person like this. Print the arguments with a [`writer`](Self::writer),
    /// so that control characters in them are escaped, and without the secrets in them. Print the
    /// question and the choice on one line, so that both are
    /// visible together:
    ///
    /// ```
    /// use std::io::{self, BufRead, Write, stdin};
    ///
    /// use tokio::task::spawn_blocking;
    /// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
    /// use tool_runtime::terminal::Terminal;
    /// use tool_runtime::{
    ///     Agent, ChatReply, Policy, RunContext, ScriptedModel, async_trait, tool, tools,
    /// };
    ///
    /// /// Asks the person at the terminal.
    /// struct Person(Terminal);
    ///
    /// #[async_trait]
    /// impl Approver for Person {
    ///     async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
    ///         let arguments = request.redacted_arguments_json();
    ///         let question = format!("Allow {} {arguments}?", request.call.name);
    ///         let terminal = self.0.clone();
    ///         // Reading blocks its thread.
    ///         match spawn_blocking(move || ask(&terminal, &question)).await {
    ///             Ok(Ok(answer)) if answer.trim() == "y" => Approval::Once,
    ///             Ok(Ok(_)) => Approval::Deny("the user said no".into()),
    ///             _ => Approval::Deny("no person could be asked".into()),
    ///         }
    ///     }
    /// }
    ///
    /// fn ask(terminal: &Terminal, question: &str) -> io::Result<String> {
    ///     # struct Stdin;
    ///     # impl Stdin { fn lock(&self) -> &'static [u8] { b"y\n" } }
    ///     # let stdin = || Stdin;
    ///     // Locked until the answer arrives: calls of one reply are asked about concurrently.
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
    ///     format!("deleted {path}")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let call = ChatReply::default().call("delete", r#"{"path": "draft.txt"}"#);
    /// # let model = ScriptedModel::new([call, ChatReply::text("It is gone.")]);
    /// let terminal = Terminal::new();
    /// let agent = Agent::new(model, tools![delete]).observer(terminal.clone());
    /// let answer = agent.policy(Policy::new().approver(Person(terminal))).run("Tidy up.").await?;
    /// # let transcript = format!("{:?}", answer.transcript);
    /// # assert!(transcript.contains("deleted draft.txt"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        let bars = locked(&self.0).prepare_suspend();
        match bars {
            None => work(),
            Some(bars) => bars.suspend(work),
        }
    }
}

/// Redraws times until the terminal is dropped.
fn tick(shared: &Weak<TerminalState>) {
    loop {
        thread::sleep(TICK);
        let Some(shared) = shared.upgrade() else { return };
        if let Output::Bars(bars) = &locked(&shared).output {
            bars.tick();
        }
    }
}

fn locked(shared: &TerminalState) -> MutexGuard<'_, Display> {
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
        let is_plain = matches!(&locked(&self.0).output, Output::Plain(_));
        f.debug_struct("Terminal").field("is_plain", &is_plain).finish_non_exhaustive()
    }
}
