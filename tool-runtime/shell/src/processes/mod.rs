//! Background processes. They belong to the session of the run that started them, or else to the
//! run, and end with the [`Shell`](crate::Shell) or the program. If the `Shell` observes the run,
//! processes that belong to the run end with it.

pub(crate) mod capture;
pub(crate) mod exec;
pub(crate) mod lines;
mod live;
pub(crate) mod spawner;
mod utf8;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::time::{Instant, timeout};
use tool_core::event::{EventKind, Observer, ProcessEnd, RunEvent, RunId};
use tool_core::process::Shutdown;
use tool_core::{BackgroundChange, Event, ToolContext, ToolError};

use crate::Shell;
use crate::command::sandbox_error;
use crate::confinement::Running;
use crate::error::failed;
use exec::read;
use lines::{End, Output};

/// The most processes of a run or session that are active at the same time.
const MAX_PROCESSES: usize = 16;

/// The most processes that have ended and not been stopped, of all runs and sessions. Their output
/// is kept; beyond that, the oldest are dropped.
const MAX_ENDED: usize = 32;

/// How long a process has to end after its input was closed, and then after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

/// How long the output is read after a process has ended.
const LINGER: Duration = Duration::from_millis(500);

/// How long input may wait for a process to read.
const INPUT_LIMIT: Duration = Duration::from_secs(10);

/// The runs that may use a process: those of a session, or else one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Session(String),
    Run(RunId),
}

impl Owner {
    pub(crate) fn of(ctx: &ToolContext) -> Self {
        match ctx.run_context().session() {
            Some(session) => Self::Session(session.to_owned()),
            None => Self::Run(ctx.run_id()),
        }
    }
}

/// A process in the background. Dropping the last reference kills it.
#[derive(Debug)]
pub(crate) struct Process {
    owner: Owner,
    pub(crate) command: String,
    pub(crate) pid: Option<u32>,
    pub(crate) started: Instant,
    pub(crate) output: Arc<Output>,
    stdin: AsyncMutex<Option<ChildStdin>>,
    /// The runs that know the process. What they read is not reused while it runs; `None` after it
    /// has ended.
    changes: Arc<Mutex<Option<Changes>>>,
    /// Ends the process gracefully when it is sent, and kills it when it is dropped.
    stop: Mutex<Option<oneshot::Sender<()>>>,
}

/// The change in the background that a process is for each run.
type Changes = BTreeMap<RunId, BackgroundChange>;

/// The processes of a [`Shell`], by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Processes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    processes: BTreeMap<u32, Arc<Process>>,
    last_number: u32,
}

impl State {
    /// Drops the oldest processes that have ended, beyond the limit.
    fn drop_ended(&mut self) {
        let ended = self.processes.iter().filter(|(_, process)| process.output.end().is_some());
        let ended: Vec<_> = ended.map(|(number, _)| *number).collect();
        for number in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
            self.processes.remove(number);
        }
    }
}

impl Processes {
    /// Returns an error if the owner has too many processes.
    pub(crate) fn check_room(&self, owner: &Owner) -> Result<(), ToolError> {
        let state = self.lock();
        let processes = state.processes.values();
        let count = processes.filter(|it| it.owner == *owner && it.output.end().is_none()).count();
        if count < MAX_PROCESSES {
            return Ok(());
        }
        Err(failed(format!("{count} processes run already: stop one by `shell_stop`.")))
    }

    /// Adds a process that has started, and returns its number.
    pub(crate) fn add(
        &self,
        mut running: Running,
        command: String,
        owner: Owner,
        ctx: &ToolContext,
    ) -> u32 {
        let output = Arc::new(Output::default());
        let changes = Arc::new(Mutex::new(Some(Changes::new())));
        let (stop, stopped) = oneshot::channel();
        let process = Process {
            owner,
            command,
            pid: running.child.id(),
            started: Instant::now(),
            output: Arc::clone(&output),
            stdin: AsyncMutex::new(running.child.take_stdin()),
            changes: Arc::clone(&changes),
            stop: Mutex::new(Some(stop)),
        };
        process.hold_reads(ctx);
        tokio::spawn(async move {
            drive(running, output, stopped).await;
            drop(changes.lock().unwrap_or_else(PoisonError::into_inner).take());
        });
        let mut state = self.lock();
        state.drop_ended();
        state.last_number += 1;
        let number = state.last_number;
        state.processes.insert(number, Arc::new(process));
        number
    }

    /// Returns a process of this owner.
    pub(crate) fn get(&self, number: u32, owner: &Owner) -> Result<Arc<Process>, ToolError> {
        let state = self.lock();
        let process = state.processes.get(&number).filter(|process| process.owner == *owner);
        process.cloned().ok_or_else(|| {
            let owned = state.processes.iter().filter(|(_, process)| process.owner == *owner);
            let known: Vec<_> = owned.map(|(number, _)| number.to_string()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            failed(format!("There is no process {number}. Processes: {known}."))
        })
    }

    /// Returns the command of a process of any owner.
    pub(crate) fn command(&self, number: u32) -> Option<String> {
        self.lock().processes.get(&number).map(|process| process.command.clone())
    }

    /// Forgets a process, which kills it if it still runs.
    pub(crate) fn remove(&self, number: u32) {
        self.lock().processes.remove(&number);
    }

    fn end_run(&self, run: RunId) {
        self.lock().processes.retain(|_, process| process.owner != Owner::Run(run));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Keeps the run from reusing what it has read, before now and as long as the process runs.
    pub(crate) fn hold_reads(&self, ctx: &ToolContext) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changes) = &mut *changes {
            changes.insert(ctx.run_id(), ctx.begin_background_change());
        }
    }

    /// Writes to the standard input, and closes it if asked.
    pub(crate) async fn write(&self, text: &str, closes: bool) -> Result<(), ToolError> {
        let mut stdin = self.stdin.lock().await;
        let Some(pipe) = &mut *stdin else {
            return Err(failed("The standard input of the process is closed."));
        };
        let write = async {
            pipe.write_all(text.as_bytes()).await?;
            pipe.flush().await
        };
        match timeout(INPUT_LIMIT, write).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                *stdin = None;
                return Err(failed("The process does not read its input.").with_source(error));
            }
            Err(_) => {
                return Err(failed(
                    "The process does not read its input. A part of it may have been written.",
                ));
            }
        }
        if closes {
            *stdin = None;
        }
        Ok(())
    }

    /// Ends the process: closes its input, then sends SIGTERM, then kills it. The signal does not
    /// reach into a sandbox of bubblewrap, but ends it.
    pub(crate) async fn stop(&self) {
        self.stdin.lock().await.take();
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(stop) = stop {
            // Fails if the process has ended.
            let _ = stop.send(());
        }
        self.output.wait().await;
    }
}

/// Reads the output of a process until it ends or is stopped.
async fn drive(mut running: Running, output: Arc<Output>, stopped: oneshot::Receiver<()>) {
    let child = &mut running.child;
    let sink = Arc::clone(&output);
    let mut reader = tokio::spawn(read(child.take_stdout(), move |bytes: &[u8]| sink.push(bytes)));
    let status = tokio::select! {
        status = child.wait() => status,
        stop = stopped => match stop {
            Ok(()) => {
                let steps = Shutdown::default().close_timeout(GRACE).terminate_timeout(GRACE);
                child.shutdown(steps).await
            }
            Err(_) => child.kill_group().await,
        },
    };
    if timeout(LINGER, &mut reader).await.is_err() {
        reader.abort();
    }
    if let Some(error) = sandbox_error(&child.stderr_tail()) {
        output.push(error.as_bytes());
    }
    for line in running.finish().await.into_lines() {
        output.push(format!("sandbox: {line}\n").as_bytes());
    }
    drop(running);
    let end = status.map(ProcessEnd::from).unwrap_or_default();
    output.finish(End { code: end.code, signal: end.signal });
}

/// The code of a run that is paused until decisions arrive. It goes on when it is resumed.
const PAUSED: &str = "AWAITING_APPROVAL";

/// Ends the background processes of a run that does not belong to a session when the run ends, but
/// not when it pauses.
impl Observer for Shell {
    fn observe(&self, event: &Event) {
        if let EventKind::Run(RunEvent::Finished { code, .. }) = &event.kind
            && code.as_deref() != Some(PAUSED)
        {
            self.0.processes.end_run(event.origin.run);
        }
    }
}
