//! Sessions: a conversation in an SQLite file, which outlives the process in the midst of a run.
//!
//! `cargo run --example session --features sqlite` orders coffee; run again, it goes on where it ended.
//! With `-- --kill` the process ends while an order is on its way: the next start goes on with that run.
//! No key and no network: what the model says follows from the conversation alone.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process;

use tool_runtime::store::Sqlite;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, async_trait, tool, tools,
};

/// A shop, and what it knows of its orders: a file, a line for each.
struct Shop {
    orders: PathBuf,
    is_fatal: bool,
}

#[tool]
impl Shop {
    /// Tells what there is.
    #[tool(effect = "read")]
    async fn stock(&self) -> &'static str {
        "coffee, tea"
    }

    /// Orders something.
    #[tool(effect = "external")]
    async fn order(&self, what: String) -> io::Result<String> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.orders)?;
        writeln!(file, "{what}")?;
        if self.is_fatal {
            println!("  (the order is out, nobody has been told, and the process ends)");
            process::exit(9);
        }
        Ok(format!("{what} is ordered"))
    }

    /// Lists what was ordered so far.
    #[tool(effect = "read")]
    async fn orders(&self) -> io::Result<Vec<String>> {
        Ok(fs::read_to_string(&self.orders)?.lines().map(str::to_owned).collect())
    }
}

/// What a careful model would say, by what was said last.
struct Careful;

#[async_trait]
impl ChatModel for Careful {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let said = |message: &&Message| matches!(message, Message::User { .. });
        let asked = request.messages.iter().filter(said).count();
        let Some(Message::Tool { results }) = request.messages.last() else {
            return Ok(ChatReply::text("Let me see.").call("stock", "{}"));
        };
        let Some(last) = results.last() else { return Ok(ChatReply::text("Nothing was done.")) };
        Ok(match last.tool.as_str() {
            "stock" => ChatReply::default().call("order", r#"{"what": "coffee"}"#),
            // It doesn't order once more what may be on its way: it looks.
            "order" if !last.is_success() => ChatReply::default().call("orders", "{}"),
            "orders" => ChatReply::text(format!("It went out after all: {}", last.text)),
            _ => ChatReply::text(format!("That was order number {asked} of our conversation.")),
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join("tool-runtime-session");
    fs::create_dir_all(&folder)?;
    let shop = Shop {
        orders: folder.join("orders.txt"),
        is_fatal: std::env::args().any(|word| word == "--kill"),
    };
    let agent = Agent::new(Careful, tools![..shop])
        .on_tool_result(|done| println!("  {} → {}", done.call, done.result.text));
    let session = agent.session(Sqlite::open(folder.join("sessions.db")).await?, "ada");

    println!("{} messages in {}", session.messages().await?.len(), folder.display());
    if let Some(run) = session.resume().await? {
        let answer = run.finish().await?;
        println!("The last run was not finished. It went on:\n{answer}\n");
    }
    println!("Order a coffee, please.");
    println!("{}", session.run("Order a coffee, please.").await?);
    Ok(())
}
