//! A process in which an agent makes tools and calls them is killed again and again. After each
//! kill, catalog and registry agree, no tool whose result the agent received is lost, and none was
//! made twice. Targets with tools in JavaScript and in Rust use it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tool_dynamic::{Catalog, DynamicTools, EntryState, Registrar, ToolBackend};
use tool_runtime::agent::CompletedStep;
use tool_runtime::dispatch::Permissions;
use tool_runtime::store::Sqlite;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Dispatcher, Message, ModelError, Permission, Policy,
    Registry, ToolCall, ToolExecution, async_trait, tools,
};

const FOLDER: &str = "TOOL_DYNAMIC_KILLS_FOLDER";

/// The language of the tools.
pub(crate) struct Language {
    /// The backend, whose language is that of the spec.
    pub(crate) backend: Arc<dyn ToolBackend>,
    /// Returns the body that returns a text.
    pub(crate) body: fn(&str) -> String,
    /// The test that calls [`run_until_killed`].
    pub(crate) child: &'static str,
}

/// Makes the tool of a number, calls it, and answers.
struct Story {
    number: u64,
    kind: String,
    body: String,
}

#[async_trait]
impl ChatModel for Story {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let replies = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. }));
        let name = format!("made_{}", self.number);
        Ok(match replies.count() {
            0 => {
                let spec = json!({
                    "name": name, "description": "Returns its number.", "effect": "read",
                    "language": self.kind, "body": self.body,
                });
                ChatReply::default().call("new_tool", spec.to_string().as_str())
            }
            1 => ChatReply::default().call(name.as_str(), "{}"),
            _ => ChatReply::text("Done."),
        })
    }
}

/// Returns the output of a tool, which no tool of another folder has.
fn output(folder: &Path, number: u64) -> String {
    format!("{number} of {}", folder.file_name().unwrap().to_string_lossy())
}

async fn start(file: &Sqlite, language: &Language) -> (Registry, Registrar) {
    let registry = Registry::new();
    let catalog = Catalog::new(file.records().await.unwrap());
    let registrar = Registrar::builder(catalog)
        .shared_backend(Arc::clone(&language.backend))
        .attempt_timeout(Duration::from_secs(900))
        .start(&registry)
        .await
        .unwrap();
    registrar.wait_until_settled(Duration::from_secs(120)).await;
    registry.register_all(tools![..DynamicTools::new(registrar.clone())]).unwrap();
    (registry, registrar)
}

fn is_made(executions: &[ToolExecution]) -> bool {
    executions.iter().any(|it| it.is_success() && it.result.text.contains("is registered"))
}

/// Runs an agent in one session after the other until the process is killed.
pub(crate) async fn run_until_killed(language: &Language) {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let file = Sqlite::open(folder.join("store.db")).await.unwrap();
    let (registry, _registrar) = start(&file, language).await;
    let allowed = Permissions::default().tool("new_tool", Permission::Allow);
    let policy = Policy::new().permissions(allowed);
    let path = folder.join("log");
    let mut log = OpenOptions::new().append(true).open(&path).unwrap();
    // Each line is one write, so that a kill leaves no part of a line.
    let mut write = |line: String| log.write_all(line.as_bytes()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let first = text.lines().filter(|line| line.starts_with("done")).count() as u64;
    // Ends by itself if the parent has ended.
    for number in first..first + 1_000 {
        let body = (language.body)(&output(folder, number));
        let model = Story { number, kind: language.backend.language().to_string(), body };
        let agent = Agent::new(model, registry.clone()).policy(policy.clone());
        let session = agent.session(file.clone(), format!("s{number}"));
        let mut run = match session.resume().await.unwrap() {
            Some(run) => run,
            None => session.start("Make a tool.").await.unwrap(),
        };
        while let Some(step) = run.next().await {
            if matches!(&step, CompletedStep::Called(executions) if is_made(executions)) {
                write(format!("made {number}\n"));
            }
        }
        write(format!("done {number}\n"));
    }
}

fn spawn(folder: &Path, language: &Language) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", language.child, "--ignored"])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Checks that catalog and registry agree. Returns the names of the tools.
async fn check(folder: &Path, language: &Language) -> Vec<String> {
    let file = Sqlite::open(folder.join("store.db")).await.unwrap();
    let (registry, registrar) = start(&file, language).await;
    for status in registrar.statuses() {
        assert_eq!(status.state, EntryState::Active, "{}", status.id);
    }
    let contents = registrar.catalog().contents().await.unwrap();
    assert_eq!(contents.corrupt, []);
    let stored: Vec<_> = contents.entries.iter().map(|it| it.id().name().to_owned()).collect();
    let snapshot = registry.only_labeled(["dynamic"]).snapshot();
    let mut registered: Vec<_> = snapshot.entries().map(|it| it.name().to_owned()).collect();
    registered.sort();
    assert_eq!(registered, stored);
    let dispatcher = Dispatcher::new(registry);
    for entry in &contents.entries {
        let name = entry.id().name();
        // A call that may have run is not made again.
        assert_eq!(entry.versions().count(), 1, "{name} was made twice");
        let execution = dispatcher.dispatch(vec![ToolCall::new("1", name, "{}")]).await.remove(0);
        let number = name.strip_prefix("made_").unwrap().parse().unwrap();
        assert_eq!(execution.result.text, output(folder, number));
    }
    registrar.stop().await;
    stored
}

/// Kills a process as often as `kills` says, after at most `longest` milliseconds each. Returns the
/// number of tools that were made.
pub(crate) async fn kill_repeatedly(language: &Language, kills: usize, longest: u64) -> usize {
    let kind = language.backend.language();
    let (mut acknowledged, mut tools) = (0, 0);
    for round in 0..kills.div_ceil(20) {
        // The catalog of a folder does not become large.
        let folder = format!("tool-dynamic-kills-{}-{kind}-{round}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("log"), "").unwrap();
        let (mut acknowledged_names, mut names) = (Vec::new(), Vec::new());
        for kill in round * 20..kills.min((round + 1) * 20) {
            let mut child = spawn(&folder, language);
            // Some are killed while they start.
            thread::sleep(Duration::from_millis(fastrand::u64(5..longest)));
            // The first one is killed after it has made a tool, however busy the machine is.
            let end = Instant::now() + Duration::from_secs(120);
            let is_made = || fs::read_to_string(folder.join("log")).unwrap().contains("made ");
            while kill == 0 && !is_made() && Instant::now() < end {
                thread::sleep(Duration::from_millis(5));
            }
            assert!(child.try_wait().unwrap().is_none(), "the process ended before it was killed");
            child.kill().unwrap();
            child.wait().unwrap();
            names = check(&folder, language).await;
            let log = fs::read_to_string(folder.join("log")).unwrap();
            let lines = log.lines().filter_map(|line| line.strip_prefix("made "));
            acknowledged_names = lines.map(|number| format!("made_{number}")).collect();
            for name in &acknowledged_names {
                assert!(names.contains(name), "kill {kill}: {name} is lost");
            }
        }
        (tools, acknowledged) = (tools + names.len(), acknowledged + acknowledged_names.len());
        fs::remove_dir_all(folder).unwrap();
    }
    println!("{acknowledged} of {tools} tools were acknowledged before {kills} kills");
    assert!(acknowledged > 0, "the processes were killed before they made a tool");
    tools
}

/// Returns how often a process is killed, unless the environment says it.
pub(crate) fn kills(default: usize) -> usize {
    std::env::var("KILLS").map_or(default, |kills| kills.parse().unwrap())
}
