//! The start-up code of the guide, as services that start together and are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tool_runtime::{
    ChatModel, ChatReply, ChatRequest, Message, ModelError, ToolContext, async_trait, tool, tools,
};

use super::open_store;

// The function `resume_all`, as the guide shows it.
include!("resume_all.rs");

const GUIDE: &str = include_str!("../../../tool-runtime/src/docs/guide/production.md");
const FOLDER: &str = "TOOL_RUNTIME_STARTUP_FOLDER";
const SESSIONS: usize = 5;
const ROUNDS: usize = 6;
/// The time after which a service counts as hung.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn start_up_code_is_that_of_the_guide() {
    let code = include_str!("resume_all.rs");
    assert!(GUIDE.contains(code), "the page `production` and `resume_all.rs` differ");
}

/// The file that all services append to, one write per line.
#[derive(Clone)]
struct Log(PathBuf);

impl Log {
    fn begin(&self, session: &str, action: &str) {
        let line = format!("{session} {} {action}\n", std::process::id());
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }

    /// Returns the session, the process and the action of each line.
    fn lines(&self) -> Vec<[String; 3]> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let words = text.lines().map(|line| line.splitn(3, ' ').map(str::to_owned));
        words.map(|words| words.collect::<Vec<_>>().try_into().unwrap()).collect()
    }
}

/// Pays once.
#[tool(effect = "external")]
async fn pay(number: usize, ctx: &ToolContext) -> String {
    let session = ctx.run_context().session().unwrap().to_owned();
    ctx.get::<Log>().unwrap().begin(&session, &format!("pay {number}"));
    sleep(Duration::from_millis(2)).await;
    format!("paid {number}")
}

/// Pays in each round, for the session that the prompt names.
struct Payer(Log);

#[async_trait]
impl ChatModel for Payer {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let session = request.messages[0].text();
        let is_reply = |message: &&Message| matches!(message, Message::Assistant { .. });
        let round = request.messages.iter().filter(is_reply).count();
        self.0.begin(&session, &format!("request {round}"));
        sleep(Duration::from_millis(2)).await;
        Ok(if round < ROUNDS {
            ChatReply::default().call("pay", serde_json::json!({ "number": round }))
        } else {
            ChatReply::text("Done.")
        })
    }
}

fn agent(folder: &Path) -> Agent {
    let log = Log(folder.join("log"));
    Agent::new(Payer(log.clone()), tools![pay]).extension(log)
}

/// A service: binds its port, resumes what was left, and ends when no run is left.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the services of the test below"]
async fn service_starts() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let _port = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = open_store(folder).await;
    resume_all(&agent(folder), &store).await.unwrap();
    let unfinished = [SessionStatus::Interrupted, SessionStatus::Running];
    for status in unfinished {
        while !store.list(SessionQuery::all().status(status)).await.unwrap().is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

fn start_service(folder: &Path) -> Child {
    let module = module_path!().split_once("::").unwrap().1;
    let mut service = Command::new(std::env::current_exe().unwrap());
    service.args(["--exact", &format!("{module}::service_starts"), "--ignored"]);
    service.env(FOLDER, folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Services that start together share the runs, and each one that is killed and started again
/// continues its own. `STARTUP_KILLS` sets the number of kills.
#[tokio::test(flavor = "multi_thread")]
async fn services_that_are_killed_and_started_again_finish_every_run_once() {
    let kills: usize =
        std::env::var("STARTUP_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10);
    let mut killed = 0;
    for round in 0.. {
        let name = format!("tool-runtime-startup-{}-{round}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let (agent, store) = (agent(&folder), open_store(&folder).await);
        for name in names() {
            let session = agent.session(store.clone(), &name);
            session.start(name.as_str()).await.unwrap().next().await;
        }
        killed += kill_services(&folder).await;
        for name in names() {
            let messages = agent.session(store.clone(), &name).messages().await.unwrap();
            check(&name, &messages, &Log(folder.join("log")).lines());
        }
        fs::remove_dir_all(folder).unwrap();
        if killed >= kills {
            break;
        }
    }
    println!("{killed} services were killed");
}

fn names() -> impl Iterator<Item = String> {
    (0..SESSIONS).map(|number| format!("s{number}"))
}

/// Starts services, kills the most recently active one again and again, and starts another in its
/// place, until no run is left. Returns the number of kills.
async fn kill_services(folder: &Path) -> usize {
    let log = Log(folder.join("log"));
    let mut services: Vec<_> = (0..3).map(|_| start_service(folder)).collect();
    let started = Instant::now();
    let (mut killed, mut next_kill) = (0, log.lines().len());
    while services.iter_mut().any(|it| it.try_wait().unwrap().is_none()) {
        assert!(started.elapsed() < LIMIT, "a session is stuck: {:?}", log.lines());
        let lines = log.lines();
        if lines.len() > next_kill {
            next_kill = lines.len() + fastrand::usize(..8);
            let [_, process, _] = &lines[lines.len() - 1];
            if let Some(service) = services.iter_mut().find(|it| it.id().to_string() == *process) {
                service.kill().unwrap();
                service.wait().unwrap();
                *service = start_service(folder);
                killed += 1;
            }
        }
        sleep(Duration::from_millis(1)).await;
    }
    for service in &mut services {
        assert!(service.wait().unwrap().success());
    }
    killed
}

/// Checks that one service at a time ran this session, and that nothing was lost or paid twice.
fn check(name: &str, messages: &[Message], lines: &[[String; 3]]) {
    let (mut owners, mut last, mut last_action) = (BTreeSet::new(), "", "");
    let mut times = BTreeMap::<&str, usize>::new();
    for [_, process, action] in lines.iter().filter(|[session, ..]| session == name) {
        if process != last {
            assert!(owners.insert(process), "{name}: {process} went on after another one");
            last = process;
        }
        let count = times.entry(action).or_default();
        *count += 1;
        let is_repeated = action.starts_with("request") && *count > 1;
        assert!(!is_repeated || action == last_action, "{name}: {action} was answered before");
        last_action = action;
    }
    assert_eq!(messages.last().unwrap().text(), "Done.", "{name}");
    let results = messages.iter().flat_map(|message| match message {
        Message::Tool { results } => results.as_slice(),
        _ => &[],
    });
    let results: Vec<_> = results.collect();
    assert_eq!(results.len(), ROUNDS, "{name}");
    for (number, result) in results.into_iter().enumerate() {
        let count = times.get(format!("pay {number}").as_str()).copied().unwrap_or_default();
        match result.error.as_deref() {
            None => assert_eq!((count, result.text.as_str()), (1, &*format!("paid {number}"))),
            Some(code) => {
                assert_eq!(code, "TOOL_INDETERMINATE", "{name}");
                assert!(count <= 1, "{name} paid {number} {count} times");
            }
        }
    }
}
