//! Workspace tools: reads, searches and changes the files of a folder, runs commands in it, and
//! fetches pages, one call at a time.
//!
//! Run it with `cargo run --example workspace --features toolbox -- FOLDER --call NAME JSON`, such
//! as `-- . --call grep '{"pattern": "fn main"}'`. It needs no key, and prints the execution of
//! the call as one JSON object.
//!
//! | option | meaning |
//! |---|---|
//! | `--call NAME JSON` | runs this call |
//! | `--session` | runs the calls of further lines `NAME JSON` of the standard input |
//! | `--allow-net CIDR` | lets `http_fetch` contact a network that is not public; repeatable |
//! | `--sandbox NAME` | what commands may do: `read-only`, `workspace-write` (default), `none` |
//! | `--yes` | approves all calls; otherwise the terminal asks, and shows the diff or the command |

use std::error::Error;
use std::io::{self, BufRead, IsTerminal};

use tokio::task::spawn_blocking;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::{Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tools};
use tool_toolbox::{Files, Sandbox, Shell, Web};

const USAGE: &str = "usage: workspace FOLDER [--call NAME JSON] [--session] [--yes]
    [--sandbox read-only|workspace-write|none] [--allow-net CIDR]";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1)).ok_or(USAGE)?;
    let files = Files::open(&options.folder)?;
    let web = options.allowed_networks.iter().try_fold(Web::new(), Web::allow_net)?;
    let approver = Terminal { approves_all: options.approves_all, asks: !options.is_session };
    let shell = Shell::new(&options.folder, options.sandbox.clone());
    match shell.check() {
        Ok(status) => eprintln!("sandbox: {status}"),
        Err(error) => eprintln!("{error}"),
    }
    let policy = Policy::new()
        .approver(approver)
        .previewer(files.clone())
        .previewer(shell.clone())
        .previewer(web.clone());
    let tools = tools![..files, ..shell, ..web];
    let dispatcher = Dispatcher::new(Registry::try_from(tools)?).policy(policy);
    let mut count = 0;
    let mut call = |name: &str, json: &str| {
        count += 1;
        ToolCall::new(format!("call_{count}"), name, json)
    };
    if let Some((name, json)) = &options.call {
        run(&dispatcher, call(name, json)).await?;
    }
    if options.is_session {
        for line in io::stdin().lock().lines() {
            let line = line?;
            if let Some((name, json)) = line.trim().split_once(char::is_whitespace) {
                run(&dispatcher, call(name, json)).await?;
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
#[derive(Default)]
struct Options {
    folder: String,
    call: Option<(String, String)>,
    allowed_networks: Vec<String>,
    is_session: bool,
    approves_all: bool,
    sandbox: Sandbox,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self { folder: arguments.next()?, ..Self::default() };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--call" => options.call = Some((arguments.next()?, arguments.next()?)),
                "--allow-net" => options.allowed_networks.push(arguments.next()?),
                "--session" => options.is_session = true,
                "--yes" => options.approves_all = true,
                "--sandbox" => {
                    options.sandbox = match arguments.next()?.as_str() {
                        "read-only" => Sandbox::read_only(),
                        "workspace-write" => Sandbox::workspace_write(),
                        "none" => Sandbox::none(),
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        (options.call.is_some() || options.is_session).then_some(options)
    }
}

/// Asks the person at the terminal, if there is one.
struct Terminal {
    approves_all: bool,
    asks: bool,
}

#[async_trait]
impl Approver for Terminal {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        if self.approves_all {
            return Approval::Once;
        }
        let arguments = request.redacted_arguments_json();
        let question = request.preview.clone().unwrap_or(arguments);
        eprint!("{}\n{question}\n", request.tool.name);
        if !self.asks || !io::stdin().is_terminal() {
            return Approval::Deny("there is no terminal to ask; `--yes` approves".into());
        }
        eprint!("[y/n] ");
        let answer = spawn_blocking(|| io::stdin().lines().next()).await;
        match answer {
            Ok(Some(Ok(answer))) if answer.trim() == "y" => Approval::Once,
            _ => Approval::Deny("the terminal answered no".into()),
        }
    }

    fn name(&self) -> &str {
        "terminal"
    }
}
