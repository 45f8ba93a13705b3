//! Kills a process that saves step after step, before each statement and at random times. Every
//! acknowledged step has to be in the file, possibly with the step in progress, and never a part of
//! it.
//!
//! `.ci/steps/full/kills-sessions` runs it for longer.

use std::env;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::park;

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use tokio::task::JoinSet;

use super::folder::Folder;
use crate::sqlite::Sqlite;
use tool_core::Message;
use tool_core::agent::session::{SessionStore, SessionWrite};

const FILE: &str = "TOOL_RUNTIME_KILLS_FILE";
const STEPS: &str = "TOOL_RUNTIME_KILLS_STEPS";
/// The number of the statement before which the child stops to be killed.
const STOP: &str = "TOOL_RUNTIME_KILLS_STOP";
const SESSION: &str = "story";
/// The number of steps that are killed before each of their statements, one of each kind: with one
/// and with two messages, one that replaces messages, and one without any.
const ALL: usize = 4;

/// The number of random kills: `KILLS`, or 20.
fn kills() -> usize {
    env::var("KILLS").ok().and_then(|value| value.parse().ok()).unwrap_or(20)
}

/// Returns the write of a step. Some steps replace earlier messages.
fn step(number: usize, saved: usize) -> (usize, Vec<Message>) {
    let from = match number {
        _ if number.is_multiple_of(16) => 0,
        _ if number.is_multiple_of(3) => saved.saturating_sub(2),
        _ => saved,
    };
    let text = |part| format!("{number}.{part} {}", "long enough ".repeat(number % 5 * 100));
    (from, (0..number % 4).map(|part| Message::user(text(part))).collect())
}

/// Returns the conversation after a number of steps.
fn after(steps: usize) -> Vec<Message> {
    let mut saved = Vec::new();
    // Every sixteenth step starts a new conversation.
    for number in steps / 16 * 16..=steps {
        let (from, messages) = step(number, saved.len());
        saved.truncate(from);
        saved.extend(messages);
    }
    saved
}

/// Returns the number of saved steps, and panics if the saved state is not the one after them.
async fn saved_steps(store: &Sqlite) -> usize {
    let Some(stored) = store.load(SESSION).await.unwrap() else { return 0 };
    let steps = stored.state.parse().unwrap();
    assert_eq!(stored.messages, after(steps), "after {steps} steps");
    steps
}

/// Saves steps up to `to`.
async fn save_steps(store: &Sqlite, to: usize, mut acknowledge: impl FnMut(usize)) {
    let saved = store.load(SESSION).await.unwrap();
    let (mut revision, last, mut saved) =
        saved.map_or((0, 0, 0), |it| (it.revision, it.state.parse().unwrap(), it.messages.len()));
    for number in last + 1..=to {
        let (from, messages) = step(number, saved);
        let state = number.to_string();
        let write = SessionWrite::update(revision).messages(from, &messages).state(&state);
        revision = store.save(SESSION, write).await.unwrap();
        saved = from + messages.len();
        acknowledge(number);
    }
}

/// Stops before the statement at which the parent kills this process. The trace is installed when
/// the connection is opened, so that it includes the statements that open the file.
pub(crate) fn stop_at_statement(connection: &mut Connection) {
    static STATEMENTS: AtomicUsize = AtomicUsize::new(0);
    let stop = env::var(STOP).ok().and_then(|stop| stop.parse::<usize>().ok());
    let Some(stop) = stop else { return };
    let before_each = move |_: TraceEvent<'_>| {
        if STATEMENTS.fetch_add(1, Ordering::Relaxed) + 1 == stop {
            report("stopped");
            loop {
                park();
            }
        }
    };
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(before_each)).unwrap();
}

/// Sends a line to the parent, on standard error because the test harness uses standard output.
fn report(line: &str) {
    let mut out = std::io::stderr().lock();
    writeln!(out, "{line}").unwrap();
}

/// The child process.
#[tokio::test]
async fn child_saves_until_it_is_killed() {
    let (Ok(file), Ok(steps)) = (env::var(FILE), env::var(STEPS)) else { return };
    let store = Sqlite::open(file).await.unwrap();
    save_steps(&store, steps.parse().unwrap(), |number| report(&format!("saved {number}"))).await;
}

/// A child process and its output.
struct ChildProcess {
    process: Child,
    output: BufReader<ChildStderr>,
    /// Last step that the child acknowledged.
    saved: usize,
}

impl ChildProcess {
    fn spawn(file: &Path, steps: usize, saved: usize, stop: Option<usize>) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([
            "--exact",
            "sqlite::tests::kills::child_saves_until_it_is_killed",
            "--nocapture",
        ]);
        command.env(FILE, file).env(STEPS, steps.to_string());
        command.envs(stop.map(|stop| (STOP, stop.to_string())));
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stderr.take().unwrap());
        Self { process, output, saved }
    }

    /// Reads up to `most` lines; returns whether the child still runs.
    fn read_lines(&mut self, most: usize) -> bool {
        let mut line = String::new();
        for _ in 0..most {
            line.clear();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return false;
            }
            match line.trim_end().strip_prefix("saved ") {
                Some(number) => self.saved = number.parse().unwrap(),
                None => {
                    assert_eq!(line, "stopped\n");
                    return true;
                }
            }
        }
        true
    }

    /// Kills the child and returns the last acknowledged step.
    fn kill(mut self) -> usize {
        // SIGKILL: nothing of the process runs any more.
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // Lines that were written before the kill.
        self.read_lines(usize::MAX);
        self.saved
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kill_before_any_statement_leaves_whole_steps() {
    // Mostly waits for the disk, so that several stops are tried at the same time.
    const AT_ONCE: usize = 8;
    let mut stop = 0;
    loop {
        let stops: JoinSet<_> = (stop + 1..=stop + AT_ONCE).map(is_killed_before).collect();
        let killed = stops.join_all().await;
        stop += killed.iter().filter(|is_killed| **is_killed).count();
        if killed.contains(&false) {
            break;
        }
    }
    assert!(stop > 5 * ALL, "only {stop} statements were seen");
}

/// Kills a child before a statement. Returns whether it has so many statements.
async fn is_killed_before(stop: usize) -> bool {
    let folder = Folder::new();
    let mut child = ChildProcess::spawn(&folder.file(), ALL, 0, Some(stop));
    if !child.read_lines(usize::MAX) {
        assert!(child.process.wait().unwrap().success());
        assert_eq!(child.saved, ALL);
        return false;
    }
    let acknowledged = child.kill();
    let store = Sqlite::open(folder.file()).await.unwrap();
    let saved = saved_steps(&store).await;
    // A step is committed by its last statement, before which the child stops.
    assert_eq!(saved, acknowledged, "killed before statement {stop}");
    save_steps(&store, ALL, |_| {}).await;
    assert_eq!(saved_steps(&store).await, ALL);
    true
}

#[tokio::test]
async fn kill_at_random_leaves_whole_steps() {
    let folder = Folder::new();
    let mut random = fastrand::Rng::with_seed(7);
    let (mut saved, mut in_flight) = (0, 0);
    for _ in 0..kills() {
        let mut child = ChildProcess::spawn(&folder.file(), usize::MAX - 1, saved, None);
        assert!(child.read_lines(random.usize(0..20)), "the child ended by itself");
        for _ in 0..random.u32(0..200_000) {
            std::hint::spin_loop();
        }
        let acknowledged = child.kill();
        let store = Sqlite::open(folder.file()).await.unwrap();
        saved = saved_steps(&store).await;
        assert!(
            (acknowledged..=acknowledged + 1).contains(&saved),
            "{saved} steps are saved and {acknowledged} were acknowledged"
        );
        in_flight += saved - acknowledged;
    }
    report(&format!(
        "{saved} steps, {} kills, {in_flight} steps saved that were not acknowledged",
        kills()
    ));
}
