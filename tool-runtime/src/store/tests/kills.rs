//! A process that saves step after step is killed, before each statement and at random: what it had
//! acknowledged is there, with the step that was under way or without it, and never half of that.
//!
//! `.ci/kills` does it for longer.

use std::env;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::park;

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::folder::Folder;
use crate::agent::session::{SessionStore, SessionWrite};
use crate::message::Message;
use crate::store::Sqlite;

const FILE: &str = "TOOL_RUNTIME_KILLS_FILE";
const STEPS: &str = "TOOL_RUNTIME_KILLS_STEPS";
/// Before which statement the child stops to be killed.
const STOP: &str = "TOOL_RUNTIME_KILLS_STOP";
const SESSION: &str = "story";

/// How often the child is killed at random: `KILLS`, else a few times.
fn kills() -> usize {
    env::var("KILLS").ok().and_then(|told| told.parse().ok()).unwrap_or(20)
}

/// What a step keeps: now and then less than what there was.
fn step(number: usize, kept: usize) -> (usize, Vec<Message>) {
    let from = match number {
        _ if number.is_multiple_of(16) => 0,
        _ if number.is_multiple_of(3) => kept.saturating_sub(2),
        _ => kept,
    };
    let text = |part| format!("{number}.{part} {}", "long enough ".repeat(number % 5 * 100));
    (from, (0..number % 4).map(|part| Message::user(text(part))).collect())
}

/// The conversation after so many steps.
fn after(steps: usize) -> Vec<Message> {
    let mut kept = Vec::new();
    // Every sixteenth begins anew.
    for number in steps / 16 * 16..=steps {
        let (from, messages) = step(number, kept.len());
        kept.truncate(from);
        kept.extend(messages);
    }
    kept
}

/// How many steps are kept. Panics where what is kept is not what they left.
async fn steps_kept(store: &Sqlite) -> usize {
    let Some(stored) = store.load(SESSION).await.unwrap() else { return 0 };
    let steps = stored.state.parse().unwrap();
    assert_eq!(stored.messages, after(steps), "after {steps} steps");
    steps
}

/// Goes on with the story to its end.
async fn tell(store: &Sqlite, to: usize, mut acknowledge: impl FnMut(usize)) {
    let kept = store.load(SESSION).await.unwrap();
    let (mut revision, begun, mut kept) =
        kept.map_or((0, 0, 0), |it| (it.revision, it.state.parse().unwrap(), it.messages.len()));
    for number in begun + 1..=to {
        let (from, messages) = step(number, kept);
        let state = number.to_string();
        let write = SessionWrite::update(revision).messages(from, &messages).state(&state);
        revision = store.save(SESSION, write).await.unwrap();
        kept = from + messages.len();
        acknowledge(number);
    }
}

/// Stops before the statement that the parent wants to kill this process at. The connection is asked to
/// when it is opened, so that this goes for what opens it as well.
pub(crate) fn stop_where_told(connection: &mut Connection) {
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let stop = env::var(STOP).ok().and_then(|stop| stop.parse::<usize>().ok());
    let Some(stop) = stop else { return };
    let before_each = move |_: TraceEvent<'_>| {
        if DONE.fetch_add(1, Ordering::Relaxed) + 1 == stop {
            say("stopped");
            loop {
                park();
            }
        }
    };
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(before_each)).unwrap();
}

/// To the parent: the harness writes to the other stream.
fn say(line: &str) {
    let mut out = std::io::stderr().lock();
    writeln!(out, "{line}").unwrap();
}

/// What the child does.
#[tokio::test]
async fn child() {
    let (Ok(file), Ok(steps)) = (env::var(FILE), env::var(STEPS)) else { return };
    let store = Sqlite::open(file).await.unwrap();
    tell(&store, steps.parse().unwrap(), |number| say(&format!("kept {number}"))).await;
}

/// A child, and what it says.
struct Victim {
    child: Child,
    said: BufReader<ChildStderr>,
    /// The last step that it acknowledged.
    kept: usize,
}

impl Victim {
    fn spawn(file: &Path, steps: usize, kept: usize, stop: Option<usize>) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "store::tests::kills::child", "--nocapture"]);
        command.env(FILE, file).env(STEPS, steps.to_string());
        command.envs(stop.map(|stop| (STOP, stop.to_string())));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said, kept }
    }

    /// Listens until it stops, or has acknowledged so many steps; whether it still runs.
    fn listen(&mut self, most: usize) -> bool {
        let mut line = String::new();
        for _ in 0..most {
            line.clear();
            if self.said.read_line(&mut line).unwrap() == 0 {
                return false;
            }
            match line.trim_end().strip_prefix("kept ") {
                Some(number) => self.kept = number.parse().unwrap(),
                None => {
                    assert_eq!(line, "stopped\n");
                    return true;
                }
            }
        }
        true
    }

    /// Kills it, and tells the last step that it acknowledged.
    fn kill(mut self) -> usize {
        // By SIGKILL: nothing of it runs any more.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        // What it had said by then.
        self.listen(usize::MAX);
        self.kept
    }
}

#[tokio::test]
async fn killed_before_any_statement_it_holds_whole_steps() {
    const ALL: usize = 9;
    let mut stop = 0;
    loop {
        stop += 1;
        let folder = Folder::new();
        let mut victim = Victim::spawn(&folder.file(), ALL, 0, Some(stop));
        if !victim.listen(usize::MAX) {
            assert!(victim.child.wait().unwrap().success());
            assert_eq!(victim.kept, ALL);
            break;
        }
        let acknowledged = victim.kill();
        let store = Sqlite::open(folder.file()).await.unwrap();
        let kept = steps_kept(&store).await;
        // A step that is under way is kept with its last statement, before which it is stopped.
        assert_eq!(kept, acknowledged, "killed before statement {stop}");
        tell(&store, ALL, |_| {}).await;
        assert_eq!(steps_kept(&store).await, ALL);
    }
    assert!(stop > 5 * ALL, "only {stop} statements were seen");
}

#[tokio::test]
async fn killed_at_random_it_holds_whole_steps() {
    let folder = Folder::new();
    let mut random = fastrand::Rng::with_seed(7);
    let (mut kept, mut in_flight) = (0, 0);
    for _ in 0..kills() {
        let mut victim = Victim::spawn(&folder.file(), usize::MAX - 1, kept, None);
        assert!(victim.listen(random.usize(0..20)), "it ended by itself");
        for _ in 0..random.u32(0..200_000) {
            std::hint::spin_loop();
        }
        let acknowledged = victim.kill();
        let store = Sqlite::open(folder.file()).await.unwrap();
        kept = steps_kept(&store).await;
        assert!(
            (acknowledged..=acknowledged + 1).contains(&kept),
            "{kept} steps are kept and {acknowledged} were acknowledged"
        );
        in_flight += kept - acknowledged;
    }
    say(&format!(
        "{kept} steps, {} kills, {in_flight} steps kept that were not acknowledged",
        kills()
    ));
}
