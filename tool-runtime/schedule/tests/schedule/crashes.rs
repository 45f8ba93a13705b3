//! Two processes fire schedules of one store and are killed again and again: each occurrence is
//! fired once, or reported as missed.
//!
//! The parent module opens the store: an SQLite file, or a schema of PostgreSQL.

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tool_runtime::schedule::jiff::{SignedDuration, Timestamp};
use tool_runtime::schedule::{
    Action, Executor, MissedPolicy, Outcome, Schedule, ScheduleQuery, ScheduleRecord, Scheduler,
    Schedules, Timing,
};
use tool_runtime::{Dispatcher, Registry, ToolContext, ToolError, tool, tools};

use super::{Folder, open_store};

const FOLDER: &str = "TOOL_TOOLBOX_SCHEDULE_FOLDER";
const START: &str = "TOOL_TOOLBOX_SCHEDULE_START";

/// The clock of the processes is faster than that of the system.
const SPEED: i32 = 20;

/// The schedules of each policy.
const SCHEDULES: usize = 4;

/// The time between two occurrences of a schedule.
const INTERVAL: Duration = Duration::from_secs(3);

/// The fast clock, which is the same in all processes.
fn clock(start: Timestamp) -> impl Fn() -> Timestamp + Send + Sync + Clone {
    move || start + Timestamp::now().duration_since(start) * SPEED
}

fn scheduler(folder: &Path, store: Schedules, start: Timestamp) -> Scheduler {
    Scheduler::new(store, executors(folder))
        .clock(clock(start))
        .poll_interval(Duration::from_millis(20))
        // 300 ms of the clock of the system.
        .lease(Duration::from_secs(6))
        .grace_period(Duration::from_secs(10))
}

struct World(PathBuf);

/// Appends the occurrence to the file.
#[tool(effect = "external")]
async fn append(ctx: &ToolContext) -> Result<String, ToolError> {
    let World(path) = ctx.require::<World>()?;
    let metadata = ctx.metadata();
    let line = format!(
        "{} {}\n",
        metadata["schedule"].as_str().unwrap(),
        metadata["occurrence"].as_str().unwrap()
    );
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(line.as_bytes())?;
    Ok("appended".into())
}

fn executors(folder: &Path) -> impl Fn(&str) -> Option<Executor> + Send + Sync + 'static {
    let dispatcher = Dispatcher::new(Registry::try_from(tools![append]).unwrap())
        .extension(World(folder.join("world")));
    let executor = Executor::new().dispatcher(dispatcher);
    move |_: &str| Some(executor.clone())
}

/// Fires schedules until the process is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that the test below kills"]
async fn child_fires_schedules_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let start: Timestamp = std::env::var(START).unwrap().parse().unwrap();
    // Ends by itself if the parent has ended.
    let scheduler = scheduler(folder, open_store(folder).await, start);
    _ = tokio::time::timeout(Duration::from_secs(60), scheduler.run()).await;
}

fn spawn(folder: &Path, start: Timestamp) -> Child {
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::child_fires_schedules_until_it_is_killed");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--ignored"])
        .env(FOLDER, folder)
        .env(START, start.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The outcomes of the occurrences of each schedule, by their time. An interrupted one may be
/// corrected later.
type Outcomes = HashMap<String, BTreeMap<Timestamp, Outcome>>;

/// Loads all records, none of which may be damaged.
async fn stored(store: &Schedules) -> Vec<ScheduleRecord> {
    let list = store.list(ScheduleQuery::all()).await.unwrap();
    assert_eq!(list.corrupt, []);
    list.records
}

fn collect(records: &[ScheduleRecord], outcomes: &mut Outcomes) {
    for record in records {
        let of_schedule = outcomes.entry(record.schedule.name.clone()).or_default();
        for entry in &record.history {
            of_schedule.insert(entry.at, entry.outcome.clone());
        }
    }
}

async fn kill_repeatedly(kills: usize) {
    let folder = Folder::new();
    let path = folder.path("");
    let store = open_store(&path).await;
    let start = Timestamp::now();
    let policies =
        [MissedPolicy::Skip, MissedPolicy::Once, MissedPolicy::All { max_occurrences: 50 }];
    for (policy, number) in policies.iter().flat_map(|it| (0..SCHEDULES).map(move |at| (it, at))) {
        let from = start + SignedDuration::from_secs(number as i64 + 1);
        let timing = Timing::every(INTERVAL, from).unwrap();
        let action = Action::call("append", serde_json::json!({}));
        let schedule = Schedule::new(format!("{policy:?}/{number}"), timing, action, "ada")
            .missed(*policy)
            .max_retries(3);
        store.save(&ScheduleRecord::new(schedule, start).unwrap()).await.unwrap();
    }

    let mut children = [spawn(&path, start), spawn(&path, start)];
    let mut outcomes = Outcomes::new();
    for kill in 0..kills {
        thread::sleep(Duration::from_millis(fastrand::u64(5..140)));
        let child = &mut children[kill % 2];
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "the process ended before it was killed");
        *child = spawn(&path, start);
        if kill % 20 == 0 {
            collect(&stored(&store).await, &mut outcomes);
        }
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // All claims end.
    thread::sleep(Duration::from_millis(700));
    scheduler(&path, open_store(&path).await, start).fire_due().await.unwrap();
    let records = stored(&store).await;
    collect(&records, &mut outcomes);
    check(&path, &records, &outcomes);
}

fn check(folder: &Path, records: &[ScheduleRecord], outcomes: &Outcomes) {
    let world = std::fs::read_to_string(folder.join("world")).unwrap();
    let mut calls: HashMap<(&str, Timestamp), u32> = HashMap::new();
    for line in world.lines() {
        let (name, at) = line.rsplit_once(' ').unwrap();
        *calls.entry((name, at.parse().unwrap())).or_default() += 1;
    }
    let (mut fired, mut interrupted, mut missed) = (0, 0, 0);
    for record in records {
        let name = record.schedule.name.as_str();
        assert_eq!(record.firing_at(), None, "{name}");
        let occurrences = record.schedule.timing.after(record.created_at).unwrap();
        let occurrences = occurrences.take_while(|at| *at <= record.handled_until);
        for at in occurrences {
            let (first, outcome) = outcomes[name].range(..=at).next_back().unwrap();
            let times = calls.remove(&(name, at)).unwrap_or(0);
            match outcome {
                Outcome::Fired { .. } if *first == at => {
                    assert_eq!(times, 1, "{name} {at}");
                    fired += 1;
                }
                Outcome::Interrupted { .. } if *first == at => {
                    assert!(times <= 1, "{name} {at}: {times}");
                    interrupted += 1;
                }
                Outcome::Missed { last, .. } if at <= *last => {
                    assert_eq!(times, 0, "{name} {at}");
                    missed += 1;
                }
                other => panic!("{name} {at} was lost: the entry before it is {other:?}"),
            }
        }
    }
    assert!(calls.is_empty(), "calls of no occurrence: {calls:?}");
    println!("{fired} fired, {interrupted} interrupted, {missed} missed");
    assert!(fired > 0, "the processes were killed before they did anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_processes_fire_each_occurrence_once_or_report_it() {
    let kills = std::env::var("KILLS").map_or(20, |kills| kills.parse().unwrap());
    kill_repeatedly(kills).await;
}
