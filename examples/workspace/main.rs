//! Workspace tools: a coding agent, or one call at a time, reads, searches and changes the files of
//! a folder, runs commands in it, and fetches pages.
//!
//! `cargo run --example workspace --features workspace -- FOLDER "Make the tests pass."` works on a
//! task with a model from the environment, and writes a report and a patch at its end. Without a
//! task, the program reads one task per line. `OPENAI_MODEL`, `OPENAI_API_KEY` and
//! `OPENAI_BASE_URL` choose the model.
//!
//! `-- FOLDER --call NAME JSON`, such as `-- . --call grep '{"pattern": "fn main"}'`, runs one
//! call, and prints its execution as one JSON object. It needs no key.
//!
//! | option | meaning |
//! |---|---|
//! | `--call NAME JSON` | runs this call |
//! | `--session` | runs a call for each line `NAME JSON` of the standard input, after that of `--call` |
//! | `--allow-net CIDR` | lets `http_fetch` contact a network that is not public; repeatable |
//! | `--readable PATH` | lets commands read a path outside of the folder, such as a toolchain; repeatable |
//! | `--env NAME=VALUE` | sets an environment variable for commands; repeatable |
//! | `--sandbox NAME` | what commands may do: `read-only`, `workspace-write` (default), `none` |
//! | `--yes` | approves all calls; otherwise the terminal asks, and shows the diff or the command |
//! | `--driver NAME` | how the model calls tools: `native` (default), `text` for one that may write calls into its text, `react` for one without tool calls |
//! | `--report FILE` | where the agent writes its report, and beside it a patch; default: a new folder for temporary files, outside of the folder that commands can change |

mod coder;
mod report_place;

use std::error::Error;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::drivers::{Driver, Native, ReAct, Text};
use tool_runtime::files::Files;
use tool_runtime::shell::{Sandbox, Shell};
use tool_runtime::terminal::{Terminal, TerminalApprover};
use tool_runtime::web::Web;
use tool_runtime::{Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tools};

use crate::coder::Coder;
use crate::report_place::ReportPlace;

const USAGE: &str = "\
usage: workspace FOLDER [TASK] [--driver native|text|react] [--report FILE] [OPTIONS]
           works on a task, or on one task per line of the standard input
   or: workspace FOLDER --call NAME JSON [OPTIONS]
           runs one call of a tool
   or: workspace FOLDER [--call NAME JSON] --session [OPTIONS]
           runs one call `NAME JSON` per line of the standard input
options: [--sandbox read-only|workspace-write|none] [--readable PATH] [--env NAME=VALUE]
    [--allow-net CIDR] [--yes]";

#[tokio::main]
async fn main() -> ExitCode {
    match start().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn start() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1)).ok_or(USAGE)?;
    let files = Files::open(&options.folder)?;
    let web = options.allowed_networks.iter().try_fold(Web::new(), Web::allow_net)?;
    let shell = Shell::new(&options.folder, options.sandbox());
    match shell.check() {
        Ok(status) => eprintln!("sandbox: {status}"),
        Err(error) => eprintln!("{error}"),
    }
    let terminal = Terminal::new();
    let policy = Policy::new()
        .approver(Person {
            options: options.clone(),
            terminal: TerminalApprover::with_display(&terminal),
        })
        .previewer(files.clone())
        .previewer(shell.clone())
        .previewer(web.clone());
    let tools = tools![..files.clone(), ..shell.clone(), ..web];
    if options.call.is_some() || options.is_session {
        let dispatcher = Dispatcher::new(Registry::try_from(tools)?).policy(policy);
        return run_calls(&dispatcher, &options).await;
    }
    let coder = Coder::new(&files, shell, tools, policy, terminal, (options.driver)())?;
    let report = ReportPlace::new(Path::new(&options.folder), options.report.as_deref())?;
    let outcome = coder.work(options.task).await;
    coder.write_report(&report)?;
    outcome
}

async fn run_calls(dispatcher: &Dispatcher, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut count = 0;
    let mut call = |name: &str, json: &str| {
        count += 1;
        ToolCall::new(format!("call_{count}"), name, json)
    };
    if let Some((name, json)) = &options.call {
        run(dispatcher, call(name, json)).await?;
    }
    if options.is_session {
        for line in io::stdin().lock().lines() {
            let line = line?;
            match line.trim().split_once(char::is_whitespace) {
                Some((name, json)) => run(dispatcher, call(name, json)).await?,
                None if line.trim().is_empty() => {}
                // A program that drives the session waits for one line per call.
                None => {
                    let error = format!("the line {:?} is not `NAME JSON`", line.trim());
                    println!("{}", serde_json::json!({ "error": error }));
                }
            }
        }
    }
    Ok(())
}

/// Runs a call, and prints its execution.
async fn run(dispatcher: &Dispatcher, call: ToolCall) -> Result<(), Box<dyn Error>> {
    for execution in dispatcher.dispatch(vec![call]).await {
        println!("{}", serde_json::to_string(&execution)?);
    }
    Ok(())
}

/// The arguments of the program.
#[derive(Clone)]
struct Options {
    folder: String,
    task: Option<String>,
    call: Option<(String, String)>,
    allowed_networks: Vec<String>,
    is_session: bool,
    approves_all: bool,
    sandbox: Sandbox,
    readable: Vec<PathBuf>,
    env: Vec<(String, String)>,
    driver: fn() -> Box<dyn Driver>,
    report: Option<PathBuf>,
}

impl Options {
    /// Returns the sandbox of commands, with what the options add to it.
    fn sandbox(&self) -> Sandbox {
        let sandbox = self.readable.iter().fold(self.sandbox.clone(), Sandbox::readable);
        self.env.iter().fold(sandbox, |sandbox, (name, value)| sandbox.env(name, value))
    }

    fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self {
            folder: arguments.next()?,
            task: None,
            call: None,
            allowed_networks: Vec::new(),
            is_session: false,
            approves_all: false,
            sandbox: Sandbox::default(),
            readable: Vec::new(),
            env: Vec::new(),
            driver: || Box::new(Native),
            report: None,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--call" => options.call = Some((arguments.next()?, arguments.next()?)),
                "--allow-net" => options.allowed_networks.push(arguments.next()?),
                "--readable" => options.readable.push(arguments.next()?.into()),
                "--env" => {
                    let (name, value) = arguments
                        .next()?
                        .split_once('=')
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))?;
                    options.env.push((name, value));
                }
                "--session" => options.is_session = true,
                "--yes" => options.approves_all = true,
                "--driver" => {
                    options.driver = match arguments.next()?.as_str() {
                        "native" => || Box::new(Native),
                        "text" => || Box::new(Text::new()),
                        "react" => || Box::new(ReAct::new()),
                        _ => return None,
                    }
                }
                "--report" => options.report = Some(arguments.next()?.into()),
                "--sandbox" => {
                    options.sandbox = match arguments.next()?.as_str() {
                        "read-only" => Sandbox::read_only(),
                        "workspace-write" => Sandbox::workspace_write(),
                        "none" => Sandbox::none(),
                        _ => return None,
                    }
                }
                task if !task.starts_with("--") && options.task.is_none() => {
                    options.task = Some(argument);
                }
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Asks the person at the terminal, unless all calls are approved.
struct Person {
    options: Options,
    terminal: TerminalApprover,
}

#[async_trait]
impl Approver for Person {
    async fn approve(&self, request: &ApprovalRequest, context: &RunContext<'_>) -> Approval {
        if self.options.approves_all {
            return Approval::Once;
        }
        // A session reads its calls from the standard input.
        if self.options.is_session || !io::stdin().is_terminal() {
            return Approval::Deny("there is no terminal to ask; `--yes` approves".into());
        }
        self.terminal.approve(request, context).await
    }

    fn name(&self) -> &str {
        "terminal"
    }
}
