//! Dynamic tools: tools and connections to MCP servers that are added at run time, and stored in a
//! file.
//!
//! Run it with `cargo run --example dynamic --features dynamic -- --catalog FILE --call NAME JSON
//! --yes`. NAME is `new_tool`, `unregister_tool`, `tool_rollback`, `tool_list`, `tool_source`,
//! `tool_test`, `mcp_connect`, `mcp_disconnect`, `mcp_list`, a tool that was made before, or a tool
//! of a server. It needs no key, and prints the execution of the call as one JSON object, also if
//! the call fails. Tools in Rust need Linux. These calls make a tool, and call it:
//!
//! ```sh
//! --call new_tool '{"name": "one", "description": "Returns one.", "language": "javascript",
//!     "body": "return 1;"}'
//! --call one '{}'
//! ```
//!
//! | option | meaning |
//! |---|---|
//! | `--catalog FILE` | keeps the tools and connections in this file |
//! | `--call NAME JSON` | runs this call |
//! | `--allow-server WORDS` | lets `mcp_connect` start servers by commands that start with these words; repeatable |
//! | `--allow-host HOST` | lets `mcp_connect` connect to servers on this host; repeatable |
//! | `--network` | lets tools in JavaScript declare `network`, and send requests to public addresses |
//! | `--rust-folder FOLDER` | keeps the compiled tools in Rust in this folder; default: the path of the file, with `.rust` added |
//! | `--yes` | approves all calls; otherwise the terminal shows the source and asks |

use std::error::Error;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
#[cfg(target_os = "linux")]
use tool_runtime::dynamic::RustTools;
use tool_runtime::dynamic::{
    Catalog, CatalogConnections, DynamicTools, JavaScript, Registrar, RegistrarBuilder,
};
use tool_runtime::mcp::{AllowedServers, ConnectionTools};
use tool_runtime::store::Sqlite;
use tool_runtime::web::Web;
use tool_runtime::{Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tools};

const USAGE: &str = "usage: dynamic --catalog FILE --call NAME JSON [OPTION...]

Runs one call, and prints its execution as one JSON object.

  --catalog FILE         keeps the tools and connections in this file
  --call NAME JSON       the tool and its arguments, such as: --call tool_list '{}'
  --allow-server WORDS   lets mcp_connect start servers by commands that start with these words
  --allow-host HOST      lets mcp_connect connect to servers on this host
  --network              lets tools in JavaScript declare the capability `network`
  --rust-folder FOLDER   keeps the compiled tools in Rust here; default: FILE.rust
  --yes                  approves all calls; otherwise the terminal shows the source and asks";

/// The capability with which a tool can send requests.
const NETWORK: &str = "network";

/// The time for the tools of the file to be built.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The time for one tool: the first one in Rust takes minutes, further ones take seconds.
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// The time after which the program explains why it is still running.
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1)).ok_or(USAGE)?;
    tokio::spawn(async {
        tokio::time::sleep(PATIENCE).await;
        eprintln!("still running: the first tool in Rust takes minutes, further ones take seconds");
    });
    let registry = Registry::new();
    let catalog = Catalog::new(Sqlite::open(&options.catalog).await?.records().await?);
    // The programs of tools in Rust, which are compiled again if the folder is deleted.
    let rust_folder = options.rust_folder.unwrap_or_else(|| format!("{}.rust", options.catalog));
    let mut scripts = JavaScript::new();
    if options.grants_network {
        scripts = scripts.web(Web::new());
    }
    let builder = with_rust(Registrar::builder(catalog).backend(scripts), rust_folder);
    let registrar = builder.attempt_timeout(BUILD_LIMIT).start(&registry).await?;
    for status in registrar.wait_until_settled(START_LIMIT).await {
        eprintln!("{}: {}", status.id, status.state);
    }
    let mut tools = DynamicTools::new(registrar.clone());
    if options.grants_network {
        tools = tools.grant(NETWORK);
    }
    let connections = CatalogConnections::new(registrar.clone(), options.servers);
    registry.register_all(tools![..tools.clone(), ..ConnectionTools::new(connections)])?;
    let approver = Terminal { approves_all: options.approves_all };
    let mut policy = Policy::new().approver(approver).previewer(tools);
    if options.grants_network {
        policy = policy.grant([NETWORK]);
    }
    let dispatcher = Dispatcher::new(registry).policy(policy);
    let call = ToolCall::new("call_1", options.name, options.arguments);
    for execution in dispatcher.dispatch(vec![call]).await {
        println!("{}", serde_json::to_string(&execution)?);
    }
    registrar.stop().await;
    Ok(())
}

/// Adds the backend for tools in Rust, which exists on Linux.
#[cfg(target_os = "linux")]
fn with_rust(builder: RegistrarBuilder, folder: String) -> RegistrarBuilder {
    builder.backend(RustTools::new(folder))
}

/// Adds nothing: the backend for tools in Rust exists on Linux only.
#[cfg(not(target_os = "linux"))]
fn with_rust(builder: RegistrarBuilder, _: String) -> RegistrarBuilder {
    builder
}

/// The arguments of the program.
#[derive(Default)]
struct Options {
    catalog: String,
    name: String,
    arguments: String,
    servers: AllowedServers,
    rust_folder: Option<String>,
    grants_network: bool,
    approves_all: bool,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--catalog" => options.catalog = arguments.next()?,
                "--call" => {
                    (options.name, options.arguments) = (arguments.next()?, arguments.next()?);
                }
                "--allow-server" => {
                    let words = arguments.next()?;
                    options.servers = options.servers.allow_command(words.split_whitespace());
                }
                "--allow-host" => {
                    options.servers = options.servers.allow_host(arguments.next()?);
                }
                "--network" => options.grants_network = true,
                "--rust-folder" => options.rust_folder = Some(arguments.next()?),
                "--yes" => options.approves_all = true,
                _ => return None,
            }
        }
        (!options.catalog.is_empty() && !options.name.is_empty()).then_some(options)
    }
}

/// Asks the person at the terminal, if there is one.
struct Terminal {
    approves_all: bool,
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
        if !io::stdin().is_terminal() {
            return Approval::Deny("there is no terminal to ask; `--yes` approves".into());
        }
        eprint!("[y/n] ");
        let answer = spawn_blocking(|| io::stdin().lines().next()).await;
        match answer {
            Ok(Some(Ok(answer))) if answer.trim() == "y" => Approval::Once,
            _ => Approval::Deny("the person at the terminal denied the call".into()),
        }
    }

    fn name(&self) -> &str {
        "terminal"
    }
}
