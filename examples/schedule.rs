//! Schedules: prompts, calls and messages that run at set times, stored in a file.
//!
//! `cargo run --example schedule --features schedule -- --store FILE COMMAND` needs no key and no
//! network: the model repeats its prompts. The options of `create` and `update` are the arguments
//! of the tools `schedule_create` and `schedule_update`.
//!
//! | command | what it does |
//! |---|---|
//! | `create NAME --cron "0 9 * * *" --zone Europe/Oslo --prompt TEXT` | creates a schedule that runs a prompt |
//! | `create NAME --every 10s --message TEXT` | creates one that sends a message |
//! | `create NAME --at TIME --tool note --arguments JSON` | creates one that calls a tool |
//! | `list`, `list --output json` | lists the schedules |
//! | `update NAME --paused true`, `delete NAME` | changes or deletes one |
//! | `run` | fires due schedules; any number of processes may do so |
//! | `run --until TIME` | ends at this time, such as `2027-03-28T09:00:00Z`, or after an interval such as `10s` |
//! | `run --until TIME --virtual` | does not wait: the clock jumps from one occurrence to the next |

use std::error::Error;
use std::time::Duration;

use serde_json::{Map, Value};
use tool_runtime::agent::Steering;
use tool_runtime::dispatch::Permissions;
use tool_runtime::schedule::jiff::{SignedDuration, Timestamp};
use tool_runtime::schedule::{Executor, ScheduleTools, Scheduler, Schedules};
use tool_runtime::store::Sqlite;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Dispatcher, ModelError, Permission, Policy, Registry,
    ToolCall, ToolContext, Tools, async_trait, tool, tools,
};

const USAGE: &str = "\
usage: schedule --store FILE create NAME [--OPTION VALUE]
   or: schedule --store FILE update NAME [--OPTION VALUE]
   or: schedule --store FILE delete NAME
   or: schedule --store FILE list [--output json]
   or: schedule --store FILE run [--until TIME [--virtual]]
options: --at TIME, --every INTERVAL, --cron PATTERN, --zone ZONE, --prompt TEXT, --message TEXT,
    --tool note --arguments JSON, --session NAME, --missed skip|once|all, --retries NUMBER,
    --paused true|false (for update)";

/// The only principal of this program.
const PRINCIPAL: &str = "ada";

/// Model that repeats the prompt.
struct Echo;

#[async_trait]
impl ChatModel for Echo {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let prompt = request.messages.last().map(|message| message.text()).unwrap_or_default();
        println!("prompt   {prompt}");
        Ok(ChatReply::text(format!("I was asked: {prompt}")))
    }
}

/// Prints a note.
#[tool(effect = "write")]
async fn note(text: String, ctx: &ToolContext) -> &'static str {
    println!("note     {text} ({})", ctx.metadata()["occurrence"].as_str().unwrap_or_default());
    "noted"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [option, path, command, rest @ ..] = arguments.as_slice() else { return Err(USAGE.into()) };
    if option != "--store" {
        return Err(USAGE.into());
    }
    let file = Sqlite::open(path).await?;
    let schedules = Schedules::new(file.records().await?);
    match command.as_str() {
        "create" | "update" | "delete" | "list" => {
            let name = format!("schedule_{command}");
            let call = ToolCall::new("1", name, Value::Object(tool_arguments(rest)?));
            call_tool(schedules, call).await
        }
        "run" => run(file, schedules, rest).await,
        _ => Err(USAGE.into()),
    }
}

/// Converts `NAME --every 10s` to `{"name": "NAME", "every": "10s"}`.
fn tool_arguments(words: &[String]) -> Result<Map<String, Value>, Box<dyn Error>> {
    let mut arguments = Map::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            arguments.insert("name".into(), word.as_str().into());
            continue;
        };
        let value = words.next().ok_or_else(|| format!("`{word}` has no value"))?;
        // Texts may look like JSON; other values are JSON.
        let value = match option {
            "arguments" | "paused" | "retries" => serde_json::from_str(value)?,
            _ => value.as_str().into(),
        };
        arguments.insert(option.into(), value);
    }
    Ok(arguments)
}

/// Calls a tool of the schedules, as a model would.
async fn call_tool(schedules: Schedules, mut call: ToolCall) -> Result<(), Box<dyn Error>> {
    // All sessions of the file belong to the person at the terminal.
    let schedules =
        ScheduleTools::new(schedules, PRINCIPAL).callable(["note"]).sessions(|_, _| true);
    if call.name == "schedule_create"
        && let Ok(Value::Object(mut arguments)) = serde_json::from_str(&call.arguments.to_text())
    {
        arguments.entry("session").or_insert_with(|| PRINCIPAL.into());
        call.arguments = Value::Object(arguments).into();
    }
    // The person at the terminal has asked for the change.
    let allowed = ["schedule_create", "schedule_update", "schedule_delete"]
        .into_iter()
        .fold(Permissions::default(), |it, name| it.tool(name, Permission::Allow));
    let dispatcher = Dispatcher::new(Registry::try_from(tools![..schedules])?)
        .policy(Policy::new().permissions(allowed));
    for execution in dispatcher.dispatch(vec![call]).await {
        if execution.is_failure() {
            return Err(execution.result.text.into());
        }
        println!("{}", execution.result.text);
    }
    Ok(())
}

/// Fires due schedules with the rights of the principal.
async fn run(
    sessions: Sqlite,
    schedules: Schedules,
    options: &[String],
) -> Result<(), Box<dyn Error>> {
    let (mut end, mut is_virtual) = (None, false);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.as_str() {
            "--until" => end = Some(read_time(options.next().ok_or(USAGE)?)?),
            "--virtual" => is_virtual = true,
            _ => return Err(USAGE.into()),
        }
    }
    let steering = Steering::new();
    let agent = Agent::new(Echo, Tools::new()).steering(&steering);
    let dispatcher = Dispatcher::new(Registry::try_from(tools![note])?);
    let executor =
        Executor::new().agent(agent).sessions(sessions).dispatcher(dispatcher).steering(&steering);
    let executors = move |principal: &str| (principal == PRINCIPAL).then(|| executor.clone());
    let scheduler = Scheduler::new(schedules.clone(), executors)
        .on_event(|event| eprintln!("event    {event}"));
    match end {
        None => scheduler.run().await?,
        Some(end) if is_virtual => {
            while let Some(next) = schedules.due(end, 1).await?.records.first() {
                let now = next.wake_at().unwrap_or(end).max(Timestamp::now());
                scheduler.clone().clock(move || now).fire_due().await?;
            }
        }
        Some(end) => {
            let left = Duration::try_from(end.duration_since(Timestamp::now()));
            let stop = tokio::time::sleep(left.unwrap_or_default());
            scheduler.run_until(stop).await?;
        }
    }
    println!("{} messages wait for the next run", steering.for_session(PRINCIPAL).len());
    Ok(())
}

/// Reads a time, or the length of time from now.
fn read_time(text: &str) -> Result<Timestamp, Box<dyn Error>> {
    if let Ok(length) = text.parse::<SignedDuration>() {
        return Ok(Timestamp::now().checked_add(length)?);
    }
    Ok(text.parse()?)
}
