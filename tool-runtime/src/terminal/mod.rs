//! What happens, on a terminal, as it happens.
//!
//! `screen` decides what an event changes, and knows no terminal; what is here does it, by indicatif or line
//! by line. Drawing takes a moment in the task that an event is told in: where that is too long, put the
//! [`Terminal`] into a [`Background`](crate::event::Background).

mod line;
mod screen;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{env, fmt, thread};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::event::{Event, Observer};
use line::Line;
use screen::{Change, Screen};

pub use indicatif::ProgressDrawTarget;

/// How much that goes on is seen at once; what began first comes first.
const MOST: usize = 12;

/// How often the time of what goes on is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// Shows a person what happens: what goes on, for how long and how far it is, and one line for each reply
/// of the model, each further attempt and each result.
///
/// It draws on the terminal that is the program's standard error, and writes plain lines, one for each thing
/// that is over, where that is none or `NO_COLOR` is set. What the program prints itself belongs into
/// [`suspend`](Self::suspend). Nothing that a model or a tool says can move the cursor or change a colour.
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
}

/// Where it is drawn.
enum Drawn {
    Plain(Box<dyn Write + Send>),
    Bars(Bars),
}

/// What is drawn of what goes on.
struct Bars {
    all: MultiProgress,
    shown: HashMap<u64, ProgressBar>,
    /// There is no room for these yet; and how many they are, drawn last.
    waiting: BTreeMap<u64, (String, Instant)>,
    more: Option<ProgressBar>,
}

impl Terminal {
    /// On standard error.
    pub fn new() -> Self {
        let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if io::stderr().is_terminal() && !no_colour {
            Self::on(ProgressDrawTarget::stderr())
        } else {
            Self::plain(io::stderr())
        }
    }

    /// On another terminal.
    ///
    /// ```
    /// use tool_runtime::terminal::{ProgressDrawTarget, Terminal};
    ///
    /// let terminal = Terminal::on(ProgressDrawTarget::stdout());
    /// ```
    pub fn on(target: ProgressDrawTarget) -> Self {
        let all = MultiProgress::with_draw_target(target);
        let (shown, waiting) = (HashMap::new(), BTreeMap::new());
        let terminal = Self::drawn(Drawn::Bars(Bars { all, shown, waiting, more: None }));
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
        Self::drawn(Drawn::Plain(Box::new(writer)))
    }

    fn drawn(drawn: Drawn) -> Self {
        Self(Arc::new(Shared { screen: Mutex::default(), drawn: Mutex::new(drawn) }))
    }

    /// Has the screen to oneself for as long as this takes, for instance to print. Whoever has something to
    /// tell meanwhile waits, so that nothing that tells of events itself belongs here.
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        let bars = match &*locked(&self.0.drawn) {
            Drawn::Plain(_) => None,
            Drawn::Bars(bars) => Some(bars.all.clone()),
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
        if let Drawn::Bars(bars) = &*locked(&shared.drawn) {
            bars.shown.values().for_each(ProgressBar::tick);
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
        match (self, change) {
            // A terminal that is gone is no reason to stop.
            (Self::Plain(writer), Change::Said(line)) => _ = writeln!(writer, "{line}"),
            (Self::Plain(_), Change::Shown(..) | Change::Gone(_)) => {}
            (Self::Bars(bars), Change::Shown(number, text)) => bars.show(number, text),
            (Self::Bars(bars), Change::Gone(number)) => bars.remove(number),
            (Self::Bars(bars), Change::Said(line)) => bars.say(&line),
        }
    }
}

impl Bars {
    fn show(&mut self, number: u64, text: String) {
        if let Some(bar) = self.shown.get(&number) {
            bar.set_message(text);
        } else if let Some((waiting, _)) = self.waiting.get_mut(&number) {
            *waiting = text;
        } else if self.shown.len() < MOST {
            self.add(number, text, Instant::now());
        } else {
            self.waiting.insert(number, (text, Instant::now()));
            self.count();
        }
    }

    fn add(&mut self, number: u64, text: String, since: Instant) {
        let style = ProgressStyle::with_template("{spinner:.cyan} {elapsed:>4} {wide_msg}");
        let bar = ProgressBar::new_spinner().with_elapsed(since.elapsed());
        let bar = match &self.more {
            Some(more) => self.all.insert_before(more, bar),
            None => self.all.add(bar),
        };
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(text);
        self.shown.insert(number, bar);
    }

    fn remove(&mut self, number: u64) {
        self.waiting.remove(&number);
        if let Some(bar) = self.shown.remove(&number) {
            bar.finish_and_clear();
            self.all.remove(&bar);
            if let Some((number, (text, since))) = self.waiting.pop_first() {
                self.add(number, text, since);
            }
        }
        self.count();
    }

    /// Says how many there is no room for.
    fn count(&mut self) {
        let count = self.waiting.len();
        if count == 0 {
            if let Some(more) = self.more.take() {
                more.finish_and_clear();
                self.all.remove(&more);
            }
            return;
        }
        let more = self.more.get_or_insert_with(|| {
            let bar = self.all.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("  {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        more.set_message(format!("and {count} more"));
    }

    fn say(&self, line: &Line) {
        // A terminal that is gone is no reason to stop.
        let _ = self.all.println(line.in_colour());
    }
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = matches!(&*locked(&self.0.drawn), Drawn::Plain(_));
        f.debug_struct("Terminal").field("is_plain", &is_plain).finish_non_exhaustive()
    }
}
