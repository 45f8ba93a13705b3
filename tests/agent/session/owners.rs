//! Several processes run one session: one at a time, and the next one continues where a killed or
//! suspended one stopped.
//!
//! The parent module opens the store: an SQLite file, or a schema of PostgreSQL. `OWNER_KILLS` sets
//! the number of kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio, exit};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tool_runtime::agent::session::{Session, SessionError};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, StopReason, ToolContext,
    async_trait, tool, tools,
};

use super::{LEASE_LIFETIME, open_store};

const FOLDER: &str = "TOOL_RUNTIME_OWNERS_FOLDER";
/// The line of the log after which a child suspends itself.
const SUSPENDS_AT: &str = "TOOL_RUNTIME_OWNERS_SUSPENDS_AT";
/// The lifetime of the leases of a child, in milliseconds.
const LIFETIME: &str = "TOOL_RUNTIME_OWNERS_LIFETIME";
const ROUNDS: usize = 8;
/// A child that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The place where a process writes what it does.
#[derive(Clone)]
struct Log {
    folder: PathBuf,
    /// A name for each run that a process resumes.
    attempt: String,
}

impl Log {
    /// Appends what this process begins to do, so that all processes have one order.
    fn begin(&self, action: &str) {
        let line = format!("{} {action}\n", self.attempt);
        let path = self.folder.join("log");
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
        if std::env::var(SUSPENDS_AT).is_ok_and(|line| line == action) {
            let pid = std::process::id().to_string();
            Command::new("kill").args(["-STOP", &pid]).status().unwrap();
        }
    }
}

/// Writes a line, which may be done once.
#[tool(effect = "external", sequential)]
async fn write(line: String, ctx: &ToolContext) -> String {
    ctx.get::<Log>().unwrap().begin(&format!("write {line}"));
    sleep(Duration::from_millis(3)).await;
    format!("wrote {line}")
}

/// Reads a line, any number of times.
#[tool(effect = "read", sequential)]
async fn read(line: String, ctx: &ToolContext) -> String {
    ctx.get::<Log>().unwrap().begin(&format!("read {line}"));
    sleep(Duration::from_millis(3)).await;
    format!("read {line}")
}

/// Writes and reads in each round, one after the other.
struct Story(Log);

#[async_trait]
impl ChatModel for Story {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let is_reply = |message: &&Message| matches!(message, Message::Assistant { .. });
        let round = request.messages.iter().filter(is_reply).count();
        self.0.begin(&format!("request {round}"));
        sleep(Duration::from_millis(3)).await;
        let line = |place: usize| serde_json::json!({ "line": format!("{round}.{place}") });
        Ok(if round < ROUNDS {
            ChatReply::default().call("write", line(0)).call("read", line(1)).call("write", line(2))
        } else {
            ChatReply::text("Done.")
        })
    }
}

async fn session(folder: &Path) -> Session {
    let attempt = format!("{}-{}", std::process::id(), fastrand::u32(..));
    let log = Log { folder: folder.to_owned(), attempt };
    let agent = Agent::new(Story(log.clone()), tools![write, read]).extension(log);
    let session = agent.session(open_store(folder).await, "s");
    let lifetime = std::env::var(LIFETIME).ok().and_then(|millis| millis.parse().ok());
    match lifetime {
        Some(millis) => session.lease_lifetime(Duration::from_millis(millis)),
        None => session.lease_lifetime(LEASE_LIFETIME),
    }
}

/// The exit code of a process whose store is unavailable, because a suspended one has its lock.
const UNAVAILABLE: i32 = 3;

/// Resumes the session until its run has ended.
#[tokio::test]
#[ignore = "the processes of the tests below"]
async fn child_resumes_the_session() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    loop {
        let session = session(Path::new(&folder)).await;
        let ended = match session.resume().await {
            Ok(Some(run)) => run.finish().await.map(drop),
            Ok(None) => return,
            Err(stopped) => Err(stopped),
        };
        let Err(stopped) = ended else { continue };
        match stopped.reason {
            StopReason::Session(SessionError::LeaseLost { .. }) => {
                fs::write(Path::new(&folder).join("lease_lost"), "").unwrap();
            }
            StopReason::Session(SessionError::Busy { .. }) => {}
            StopReason::Session(SessionError::Unavailable { .. }) => exit(UNAVAILABLE),
            reason => panic!("{reason}"),
        }
    }
}

pub(super) fn start_child(
    folder: &Path,
    suspends_at: Option<&str>,
    lifetime: Option<u64>,
) -> Child {
    let module = module_path!().split_once("::").unwrap().1;
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("{module}::child_resumes_the_session"), "--ignored"]);
    child.env(FOLDER, folder).stdout(Stdio::null()).stderr(Stdio::null());
    child.envs(suspends_at.map(|line| (SUSPENDS_AT, line)));
    child.envs(lifetime.map(|millis| (LIFETIME, millis.to_string())));
    child.spawn().unwrap()
}

async fn wait_for_end(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(started.elapsed() < LIMIT, "the session is stuck");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Creates a folder, and a session in it that has begun.
pub(super) async fn begin(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tool-runtime-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let session = session(&folder).await;
    let mut run = session.start("Write.").await.unwrap();
    run.next().await;
    drop(run);
    folder
}

/// Checks that one process at a time was at work, and that nothing was lost or written twice.
pub(super) async fn check(folder: &Path) {
    let log = fs::read_to_string(folder.join("log")).unwrap();
    let (mut attempts, mut last, mut last_action) = (BTreeSet::new(), "", "");
    let mut times = BTreeMap::<&str, usize>::new();
    for (attempt, action) in log.lines().map(|line| line.split_once(' ').unwrap()) {
        if attempt != last {
            assert!(
                attempts.insert(attempt),
                "{attempt} continued after another one had begun:\n{log}"
            );
            last = attempt;
        }
        let count = times.entry(action).or_default();
        *count += 1;
        let is_repeated = action.starts_with("request") && *count > 1;
        assert!(!is_repeated || action == last_action, "{action} was answered before:\n{log}");
        last_action = action;
    }
    let messages = session(folder).await.messages().await.unwrap();
    assert_eq!(messages.last().unwrap().text(), "Done.");
    let results = messages.iter().flat_map(|message| match message {
        Message::Tool { results } => results.as_slice(),
        _ => &[],
    });
    let mut results = results.peekable();
    assert!(results.peek().is_some());
    for (round, place) in (0..ROUNDS).flat_map(|round| [0, 1, 2].map(|place| (round, place))) {
        let result = results.next().expect("each call has a result");
        let line = format!("{round}.{place}");
        let (verb, past) = if place == 1 { ("read", "read") } else { ("write", "wrote") };
        let count = times.get(format!("{verb} {line}").as_str()).copied().unwrap_or_default();
        match result.error.as_deref() {
            None => assert_eq!(result.text, format!("{past} {line}")),
            Some("TOOL_INDETERMINATE") => assert_eq!(verb, "write"),
            Some(other) => panic!("{other}"),
        }
        if verb == "write" {
            assert!(count <= 1, "{line} was written {count} times:\n{log}");
            assert!(count == 1 || result.error.is_some(), "{line} was lost");
        }
    }
    assert!(results.next().is_none());
    fs::remove_dir_all(folder).unwrap();
}

/// Processes that start together, each of which is killed and started again.
#[tokio::test(flavor = "multi_thread")]
async fn killed_owner_is_replaced_by_one_other() {
    let kills: usize =
        std::env::var("OWNER_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6);
    // Long enough that an owner on a busy machine renews its lease in time.
    let lifetime = u64::try_from(LEASE_LIFETIME.as_millis()).ok().map(|millis| millis.max(2_000));
    let mut killed = 0;
    for round in 0.. {
        let folder = begin(&format!("owners-{round}")).await;
        let mut children: Vec<_> =
            (0..2 + round % 2).map(|_| start_child(&folder, None, lifetime)).collect();
        let log = folder.join("log");
        let length = || fs::metadata(&log).map_or(0, |file| file.len());
        // The owner is killed wherever it is, after it has done something.
        for _ in 0..3 {
            let before = length();
            let started = Instant::now();
            while length() <= before
                && children.iter_mut().any(|it| it.try_wait().unwrap().is_none())
            {
                assert!(started.elapsed() < LIMIT, "the session is stuck");
                sleep(Duration::from_micros(fastrand::u64(100..3_000))).await;
            }
            // Whichever it is: the others wait, and are killed as well now and then.
            let owner = fs::read_to_string(&log).unwrap_or_default();
            let owner = owner.lines().last().and_then(|line| line.split('-').next()?.parse().ok());
            for child in &mut children {
                if Some(child.id()) == owner || fastrand::u8(..) < 40 {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    killed += 1;
                    *child = start_child(&folder, None, lifetime);
                }
            }
        }
        for child in &mut children {
            wait_for_end(child).await;
        }
        check(&folder).await;
        if killed >= kills {
            break;
        }
    }
    println!("{killed} processes were killed");
}

/// A process that is suspended beyond its lease finds another owner when it continues: within a
/// call, with another call after it, and within a request.
#[tokio::test(flavor = "multi_thread")]
async fn suspended_owner_does_nothing_after_another_one_has_continued() {
    for (number, line) in ["write 1.0", "read 2.1", "request 3"].into_iter().enumerate() {
        let mut has_continued = false;
        for attempt in 0..ATTEMPTS {
            let name = format!("suspended-{number}-{attempt}");
            has_continued = suspended_owner_is_replaced(&name, line).await;
            if has_continued {
                break;
            }
        }
        assert!(has_continued, "each suspended process had the lock of the file");
    }
}

/// How often a process may be suspended while it writes, and has the lock of the file.
const ATTEMPTS: u32 = 20;

/// Suspends an owner at a line. Returns false if it had the lock of the file, so that no other
/// process could continue.
async fn suspended_owner_is_replaced(name: &str, line: &str) -> bool {
    let folder = begin(name).await;
    let mut suspended = start_child(&folder, Some(line), Some(1_000));
    let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    let started = Instant::now();
    while !log().contains(line) {
        assert!(started.elapsed() < LIMIT, "{}", log());
        sleep(Duration::from_millis(2)).await;
    }
    let mut next = start_child(&folder, None, Some(1_000));
    if wait_for_end(&mut next).await.code() == Some(UNAVAILABLE) {
        suspended.kill().unwrap();
        suspended.wait().unwrap();
        fs::remove_dir_all(folder).unwrap();
        return false;
    }
    assert!(log().contains(&format!("request {ROUNDS}")), "{}", log());
    assert!(suspended.try_wait().unwrap().is_none());
    let pid = suspended.id().to_string();
    Command::new("kill").args(["-CONT", &pid]).status().unwrap();
    wait_for_end(&mut suspended).await;
    assert!(folder.join("lease_lost").exists(), "it has lost its lease");
    check(&folder).await;
    true
}
