//! Folders, clocks and tools of tests.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tool_runtime::records::MemoryRecords;
use tool_runtime::schedule::jiff::Timestamp;
use tool_runtime::schedule::{
    Action, Executor, PRINCIPAL, Schedule, ScheduleRecord, Scheduler, Schedules, Timing,
};
use tool_runtime::{Dispatcher, Registry, ToolContext, ToolError, tool, tools};

/// Reads a time such as `2027-01-01T09:00:00Z`.
pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A temporary folder, which is removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool-schedule-schedule-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Returns the path of the store in the folder.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("store.db")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns schedules in memory.
pub(crate) fn in_memory() -> Schedules {
    Schedules::new(MemoryRecords::new())
}

/// A clock that tests set.
#[derive(Clone, Debug)]
pub(crate) struct Clock(Arc<Mutex<Timestamp>>);

impl Clock {
    pub(crate) fn at(text: &str) -> Self {
        Self(Arc::new(Mutex::new(time(text))))
    }

    pub(crate) fn set(&self, text: &str) {
        self.set_time(time(text));
    }

    pub(crate) fn set_time(&self, time: Timestamp) {
        *self.0.lock().unwrap() = time;
    }

    pub(crate) fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    /// Returns a scheduler that reads this clock.
    pub(crate) fn scheduler(
        &self,
        store: &Schedules,
        executors: impl Fn(&str) -> Option<Executor> + Send + Sync + 'static,
    ) -> Scheduler {
        let clock = self.clone();
        Scheduler::new(store.clone(), executors).clock(move || clock.now())
    }
}

/// The occurrences that the tools below were called for, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Takes the entries of the log.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn push(&self, ctx: &ToolContext) {
        let metadata = ctx.metadata();
        assert_eq!(metadata[PRINCIPAL], "ada");
        self.0.lock().unwrap().push(metadata["occurrence"].as_str().unwrap().to_owned());
    }
}

/// Writes a note.
#[tool(effect = "write")]
async fn note(ctx: &ToolContext) -> Result<String, ToolError> {
    ctx.require::<Log>()?.push(ctx);
    Ok("noted".into())
}

/// Writes a note, and fails as if it had not.
#[tool(effect = "write")]
async fn fail(ctx: &ToolContext) -> Result<String, ToolError> {
    ctx.require::<Log>()?.push(ctx);
    Err(ToolError::transient("the desk is locked"))
}

/// Reads a note; the desk is locked for the first two times.
#[tool(effect = "read")]
async fn read(ctx: &ToolContext) -> Result<String, ToolError> {
    let log = ctx.require::<Log>()?;
    log.push(ctx);
    match log.0.lock().unwrap().len() {
        0..3 => Err(ToolError::transient("the desk is locked")),
        _ => Ok("read".into()),
    }
}

/// Reads without end.
#[tool(effect = "read")]
async fn read_on(ctx: &ToolContext) -> Result<String, ToolError> {
    ctx.require::<Log>()?.push(ctx);
    std::future::pending().await
}

/// Writes without end.
#[tool(effect = "write")]
async fn write_on(ctx: &ToolContext) -> Result<String, ToolError> {
    ctx.require::<Log>()?.push(ctx);
    std::future::pending().await
}

/// Writes for ten minutes.
#[tool(effect = "write")]
async fn write_long(ctx: &ToolContext) -> Result<String, ToolError> {
    ctx.require::<Log>()?.push(ctx);
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    Ok("written".into())
}

/// Returns executors by which the principal `ada` may call the tools above.
pub(crate) fn executors(
    log: &Log,
) -> impl Fn(&str) -> Option<Executor> + Send + Sync + Clone + 'static {
    let tools = tools![note, fail, read, read_on, write_on, write_long];
    let dispatcher = Dispatcher::new(Registry::try_from(tools).unwrap()).extension(log.clone());
    let executor = Executor::new().dispatcher(dispatcher);
    move |principal: &str| (principal == "ada").then(|| executor.clone())
}

/// Creates a schedule of `ada` that calls a tool, and saves it.
pub(crate) async fn create(
    store: &Schedules,
    now: Timestamp,
    timing: Timing,
    tool: &str,
    change: impl Fn(Schedule) -> Schedule,
) {
    let action = Action::call(tool, serde_json::json!({}));
    let schedule = change(Schedule::new("notes", timing, action, "ada"));
    store.save(&ScheduleRecord::new(schedule, now).unwrap()).await.unwrap();
}

/// Loads the schedule that [`create`] saves.
pub(crate) async fn load(store: &Schedules) -> ScheduleRecord {
    store.load("ada", "notes").await.unwrap().unwrap()
}
