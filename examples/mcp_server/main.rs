//! Serves tools over MCP.
//!
//! ```text
//! cargo run --example mcp_server --features mcp
//! cargo run --example mcp_server --features mcp -- --http 127.0.0.1:3001
//! ```
//!
//! The first form serves one client on standard input and output, the second one any number at
//! `http://127.0.0.1:3001/mcp`. With `--conformance`, the tools, resources and prompts are those
//! that the official conformance suite of MCP expects.

mod conformance;

use std::error::Error;

use tool_runtime::mcp::McpServer;
use tool_runtime::mcp::server::{Prompt, PromptMessage, PromptRequest, Prompts, Resources};
use tool_runtime::message::{ResourceData, ResourceLink};
use tool_runtime::{CancellationToken, args, tool, tools};

/// The weather at one place.
#[args]
#[derive(serde::Serialize)]
struct Weather {
    /// The temperature in degrees Celsius.
    celsius: f64,
    /// The sky in words.
    sky: String,
}

/// Returns the weather of a city.
#[tool(effect = "read", idempotent, title = "Weather forecast")]
async fn forecast(
    /// The name of the city, such as Oslo.
    city: String,
) -> Weather {
    Weather { celsius: f64::from(u8::try_from(city.len() % 30).unwrap_or(0)), sky: "clear".into() }
}

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Deletes a note. The user of the client has to approve it.
#[tool(effect = "write", permission = "ask")]
async fn delete_note(
    /// The title of the note.
    title: String,
) -> String {
    format!("The note `{title}` is deleted.")
}

fn server() -> McpServer {
    let resources = Resources::new();
    let about = ResourceLink::new("about://server", "about").media_type("text/plain");
    resources.insert(about, |_| async { Ok(ResourceData::Text("An example.".into())) });
    let prompts = Prompts::new();
    let travel = Prompt::new("travel")
        .description("Plans a journey by the weather")
        .required_argument("city", "The city to travel to");
    prompts.insert(travel, |request: PromptRequest| async move {
        let city = request.argument("city").unwrap_or_default();
        Ok(vec![PromptMessage::user(format!("Should I travel to {city}? Look at the weather."))])
    });
    McpServer::new(tools![forecast, add, delete_note])
        .name("weather")
        .version(env!("CARGO_PKG_VERSION"))
        .instructions("Ask for the weather before you answer questions about it.")
        .resources(resources)
        .prompts(prompts)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (mut http, mut is_conformance) = (None, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--http" => http = Some(args.next().ok_or("--http needs an address")?),
            "--conformance" => is_conformance = true,
            other => return Err(format!("unknown argument: {other}").into()),
        }
    }
    let server = if is_conformance { conformance::server() } else { server() };
    match http {
        Some(address) => serve_http(server, &address).await?,
        None => server.serve_stdio().await?,
    }
    Ok(())
}

/// Serves until Ctrl+C.
async fn serve_http(server: McpServer, address: &str) -> Result<(), Box<dyn Error>> {
    let stop = CancellationToken::new();
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("serving http://{}/mcp", listener.local_addr()?);
    let stopping = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopping.cancel();
        }
    });
    server.cancellation(stop).serve_http(listener).await?;
    Ok(())
}
