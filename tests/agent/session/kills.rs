//! A process whose run is saved in a database is killed at each of its steps, and another resumes:
//! what its tools wrote to a file is neither lost nor written twice.
//!
//! The parent module opens the store: an SQLite file, or a schema of PostgreSQL.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use tool_runtime::agent::session::SessionStore;
use tool_runtime::agent::{CompletedStep, Prompt};
use tool_runtime::{
    Agent, Arguments, ChatModel, ChatReply, ChatRequest, Message, ModelError, Registry, Tool,
    ToolContext, ToolDefinition, ToolError, ToolOutput, async_trait, tool, tools,
};

use super::{LEASE_LIFETIME, open_store};

const FOLDER: &str = "TOOL_RUNTIME_SESSION_FOLDER";
const STEPS: &str = "TOOL_RUNTIME_SESSION_STEPS";
/// The form of the tools, as an index of `FORMS`.
const FORM: &str = "TOOL_RUNTIME_SESSION_FORM";

/// The forms of the tools: functions, or tools by hand of a provider that is replaced in each
/// process.
const FORMS: [fn() -> Registry; 2] = [functions, replaced_tools_by_hand];

fn functions() -> Registry {
    Registry::try_from(tools![write, fall]).unwrap()
}

fn replaced_tools_by_hand() -> Registry {
    let by_hand = || {
        let functions = tools![write, fall].into_iter();
        functions.fold(tools![], |tools, tool| tools.with(ByHand(tool))).labeled(["office"])
    };
    let registry = Registry::new();
    registry.register_all_from("desk", by_hand()).unwrap();
    registry.replace_all_from("desk", by_hand()).unwrap();
    registry
}

/// Returns the name of a test of this module, which begins with that of the crate.
fn test_name(test: &str) -> String {
    let module = module_path!().split_once("::").unwrap().1;
    format!("{module}::{test}")
}

/// The form of the tools in a child process.
fn form() -> usize {
    std::env::var(FORM).unwrap().parse().unwrap()
}

/// A tool that is implemented by hand and passes its calls on to a function.
struct ByHand(Arc<dyn Tool>);

#[async_trait]
impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.call(args, ctx).await
    }
}

/// A prompt with metadata, which every process must find.
fn prompt() -> Prompt {
    Prompt::from("Write.").metadata("tenant", "acme")
}

struct World(Mutex<PathBuf>);

/// Appends a line to the file.
#[tool(effect = "external")]
async fn write(line: String, ctx: &ToolContext) -> std::io::Result<String> {
    let World(path) = ctx.get().ok_or(std::io::ErrorKind::NotFound)?;
    assert_eq!(ctx.metadata()["tenant"], "acme");
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
    let store = open_store(folder).await;
    let agent =
        Agent::new(Story, FORMS[form()]()).extension(World(Mutex::new(folder.join("world"))));
    let session = agent.session(store, "s").lease_lifetime(LEASE_LIFETIME);
    let mut run = match session.resume().await.unwrap() {
        Some(run) => run,
        None => session.start(prompt()).await.unwrap(),
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
    let folder = path.lock().unwrap().parent().unwrap().to_owned();
    let Ok(results) = fs::read_to_string(folder.join("fall")) else { return Ok("stood") };
    fs::remove_file(folder.join("fall"))?;
    let store = open_store(&folder).await;
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

async fn run_at_once(folder: &Path, form: usize) -> Vec<Message> {
    let store = open_store(folder).await;
    let world = World(Mutex::new(folder.join("world")));
    let agent = Agent::new(CallsAtOnce, FORMS[form]()).extension(world);
    let session = agent.session(store, "s").lease_lifetime(LEASE_LIFETIME);
    let answer = match session.resume().await.unwrap() {
        Some(run) => run.finish().await.unwrap(),
        None => session.run(prompt()).await.unwrap(),
    };
    answer.transcript
}

#[tokio::test]
#[ignore = "the process that falls in the test below"]
async fn child_ends_during_the_calls_of_a_reply() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    run_at_once(Path::new(&folder), form()).await;
}

/// Killed during the calls of a reply: calls with a saved result are not in doubt.
#[tokio::test]
async fn kill_between_calls_loses_and_repeats_no_finished_call() {
    for (results, form) in (1..=LINES).flat_map(|results| [(results, 0), (results, 1)]) {
        let folder = std::env::temp_dir()
            .join(format!("tool-runtime-fallen-{}-{results}-{form}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("fall"), results.to_string()).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test_name("child_ends_during_the_calls_of_a_reply"), "--ignored"])
            .env(FOLDER, &folder)
            .env(FORM, form.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success());
        let transcript = run_at_once(&folder, form).await;
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
    for (steps, form) in (1..=9).flat_map(|steps| [(steps, 0), (steps, 1)]) {
        let folder = std::env::temp_dir()
            .join(format!("tool-runtime-killed-{}-{steps}-{form}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut processes = 0;
        let messages = loop {
            processes += 1;
            assert!(processes < 20, "it comes to no end");
            let killed = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    &test_name("child_runs_steps_until_it_is_killed"),
                    "--ignored",
                    "--nocapture",
                ])
                .env(FOLDER, &folder)
                .env(STEPS, steps.to_string())
                .env(FORM, form.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            assert!(!killed.success());
            let agent = Agent::new(Story, FORMS[form]());
            let messages = agent.session(open_store(&folder).await, "s").messages().await.unwrap();
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
