//! Lists the tools of an MCP server, or calls one through a dispatcher.
//!
//! ```text
//! cargo run --example mcp_client --features mcp -- --stdio COMMAND [ARG…]
//! cargo run --example mcp_client --features mcp -- --http URL
//! cargo run --example mcp_client --features mcp -- --call NAME JSON --http URL
//! ```
//!
//! NAME is the name of a tool on the server, or its full name such as `server__echo`. JSON is an
//! object with the arguments of the call.
//!
//! `--conformance` plays the client of the official conformance suite: see `conformance.rs`.

mod conformance;

use std::error::Error;

use tool_runtime::mcp::McpClient;
use tool_runtime::{Dispatcher, Registry, ToolCall};

const USAGE: &str =
    "usage: mcp_client [--call NAME JSON] --stdio COMMAND [ARG…] | --http URL | --conformance URL";

/// The name of the connection.
const SERVER: &str = "server";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--conformance") {
        return conformance::run(arguments.last().ok_or(USAGE)?).await;
    }
    let call = match arguments.first().map(String::as_str) {
        Some("--call") if arguments.len() > 3 => {
            let call: Vec<_> = arguments.drain(..3).collect();
            Some((call[1].clone(), call[2].clone()))
        }
        _ => None,
    };
    let client = match arguments.split_first() {
        Some((flag, [url])) if flag == "--http" => McpClient::http(url),
        Some((flag, [command, arguments @ ..])) if flag == "--stdio" => {
            McpClient::stdio(command).args(arguments)
        }
        _ => return Err(USAGE.into()),
    };

    let registry = Registry::new();
    let connection = client.connect(SERVER, &registry).await?;
    match call {
        None => list(&registry)?,
        Some((name, arguments)) => {
            // The name on the server, or the one that models use.
            let prefixed = format!("{SERVER}__{name}");
            let is_known = registry.snapshot().get(&prefixed).is_some();
            let name = if is_known { prefixed } else { name };
            let call = ToolCall::new("call_1", name, arguments);
            let execution = Dispatcher::new(registry.clone()).dispatch(vec![call]).await.remove(0);
            println!("{}", serde_json::to_string(&execution)?);
        }
    }
    for tool in connection.tools().await.skipped {
        eprintln!("skipped tool {}: {}", tool.index, tool.reason);
    }
    connection.disconnect().await;
    Ok(())
}

/// Prints the definition of each tool as a line of JSON.
fn list(registry: &Registry) -> Result<(), serde_json::Error> {
    for entry in registry.snapshot().entries() {
        let mut definition = serde_json::to_value(entry.definition())?;
        definition["full_name"] = entry.full_name().into();
        println!("{definition}");
    }
    Ok(())
}
