//! A process whose run is saved in SQLite is killed at each of its steps, and another resumes: what
//! its tools wrote to a file is neither lost nor written twice.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use tool_runtime::agent::CompletedStep;
use tool_runtime::agent::session::SessionStore;
use tool_runtime::store::Sqlite;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, ToolContext, async_trait, tool,
    tools,
};

const FOLDER: &str = "TOOL_RUNTIME_SESSION_FOLDER";
const STEPS: &str = "TOOL_RUNTIME_SESSION_STEPS";

struct World(Mutex<PathBuf>);

/// Appends a line to the file.
#[tool(effect = "external")]
async fn write(line: String, ctx: &ToolContext) -> std::io::Result<String> {
    let World(path) = ctx.get().ok_or(std::io::ErrorKind::NotFound)?;
    let mut file =
        OpenOptions::new().create(true).append(true).open(path.lock().unwrap().as_path())?;
    writeln!(file, "{line}")?;
    file.sync_all()?;
    Ok(format!("wrote {line}"))
}

/// Replies by the length of the conversation.
struct Story;

#[async_trait]
impl ChatModel for Story {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let reply_count =
            request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. })).count();
        let line = |place: usize| serde_json::json!({ "line": format!("{reply_count}.{place}") });
        Ok(match reply_count {
            0..4 => ChatReply::default().call("write", line(0)).call("write", line(1)),
            _ => ChatReply::text("Done."),
        })
    }
}

/// Resumes the run for so many steps, then kills its process.
#[tokio::test]
#[ignore = "the process that the test below kills"]
async fn child_runs_steps_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let steps: usize = std::env::var(STEPS).unwrap().parse().unwrap();
    let folder = Path::new(&folder);
    let store = Sqlite::open(folder.join("sessions.db")).await.unwrap();
    let agent = Agent::new(Story, tools![write]).extension(World(Mutex::new(folder.join("world"))));
    let session = agent.session(store, "s");
    let mut run = match session.resume().await.unwrap() {
        Some(run) => run,
        None => session.start("Write.").await.unwrap(),
    };
    for _ in 0..steps {
        match run.next().await {
            Some(CompletedStep::Replied | CompletedStep::Called(_) | CompletedStep::Steered) => {}
            Some(_) | None => break,
        }
    }
    std::process::abort();
}

/// Waits until so many results are saved, then kills the process, the first time only.
#[tool(effect = "read")]
async fn fall(ctx: &ToolContext) -> std::io::Result<&'static str> {
    let World(path) = ctx.get().ok_or(std::io::ErrorKind::NotFound)?;
    let folder = path.lock().unwrap().with_file_name("");
    let Ok(results) = fs::read_to_string(folder.join("fall")) else { return Ok("stood") };
    fs::remove_file(folder.join("fall"))?;
    let store = Sqlite::open(folder.join("sessions.db")).await.unwrap();
    // If they are not saved, it fails.
    for _ in 0..10_000 {
        let copy = store.load("s").await.unwrap().unwrap().state;
        if copy.matches("\"wrote ").count() >= results.parse::<usize>().unwrap() {
            std::process::abort();
        }
        tokio::task::yield_now().await;
    }
    Ok("stood")
}

/// Makes all calls in one reply.
struct CallsAtOnce;

#[async_trait]
impl ChatModel for CallsAtOnce {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        if request.messages.len() > 1 {
            return Ok(ChatReply::text("Done."));
        }
        let lines = (0..LINES).map(|line| serde_json::json!({ "line": line.to_string() }));
        Ok(lines
            .fold(ChatReply::default(), |reply, line| reply.call("write", line))
            .call("fall", "{}"))
    }
}

const LINES: usize = 9;

async fn run_at_once(folder: &Path) -> Vec<Message> {
    let store = Sqlite::open(folder.join("sessions.db")).await.unwrap();
    let world = World(Mutex::new(folder.join("world")));
    let agent = Agent::new(CallsAtOnce, tools![write, fall]).extension(world);
    let session = agent.session(store, "s");
    let answer = match session.resume().await.unwrap() {
        Some(run) => run.finish().await.unwrap(),
        None => session.run("Write.").await.unwrap(),
    };
    answer.transcript
}

#[tokio::test]
#[ignore = "the process that falls in the test below"]
async fn child_ends_during_the_calls_of_a_reply() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    run_at_once(Path::new(&folder)).await;
}

/// Killed during the calls of a reply: calls with a saved result are not in doubt.
#[tokio::test]
async fn kill_between_calls_loses_and_repeats_no_finished_call() {
    for results in 1..=LINES {
        let folder = std::env::temp_dir()
            .join(format!("tool-runtime-fallen-{}-{results}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("fall"), results.to_string()).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "agent::session::kills::child_ends_during_the_calls_of_a_reply",
                "--ignored",
            ])
            .env(FOLDER, &folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success());
        let transcript = run_at_once(&folder).await;
        let Message::Tool { results: output } = &transcript[2] else { panic!() };
        assert_eq!((output.len(), output[LINES].text.as_str()), (LINES + 1, "stood"));
        let world = fs::read_to_string(folder.join("world")).unwrap();
        for (line, output) in output[..LINES].iter().enumerate() {
            let times = world.lines().filter(|it| *it == line.to_string()).count();
            match output.error.as_deref() {
                Some("TOOL_INDETERMINATE") => assert!(times <= 1, "{line}: {times}"),
                Some(other) => panic!("{other}"),
                None => assert_eq!((output.text.clone(), times), (format!("wrote {line}"), 1)),
            }
        }
        let known = output[..LINES].iter().filter(|output| output.error.is_none()).count();
        assert!(known >= results, "{known} of {results}");
        fs::remove_dir_all(folder).unwrap();
    }
}

#[tokio::test]
async fn kill_at_each_step_loses_and_repeats_nothing() {
    for steps in 1..=9 {
        let folder = std::env::temp_dir()
            .join(format!("tool-runtime-killed-{}-{steps}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let store = || Sqlite::open(folder.join("sessions.db"));
        let mut processes = 0;
        let messages = loop {
            processes += 1;
            assert!(processes < 20, "it comes to no end");
            let killed = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "agent::session::kills::child_runs_steps_until_it_is_killed",
                    "--ignored",
                    "--nocapture",
                ])
                .env(FOLDER, &folder)
                .env(STEPS, steps.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            assert!(!killed.success());
            let agent = Agent::new(Story, tools![write]);
            let messages = agent.session(store().await.unwrap(), "s").messages().await.unwrap();
            if messages.last().is_some_and(|last| last.text() == "Done.") {
                break messages;
            }
        };
        let world = fs::read_to_string(folder.join("world")).unwrap();
        let mut lines: Vec<_> = world.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1"], "by {steps}");
        let results = messages.iter().flat_map(|message| match message {
            Message::Tool { results } => results.as_slice(),
            _ => &[],
        });
        let texts: Vec<_> =
            results.map(|result| result.text.trim_start_matches("wrote ")).collect();
        assert_eq!(texts, ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1"], "by {steps}");
        fs::remove_dir_all(folder).unwrap();
    }
}
