//! Sessions: a conversation in an SQLite file, which survives the end of the process.
//!
//! `cargo run --example session --features sqlite` orders coffee. Each further run continues the
//! same conversation. With `-- --kill`, the process ends while an order is in flight, and the next
//! start resumes that run. It needs no key and no network: the replies follow from the
//! conversation.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process;

use tool_runtime::store::Sqlite;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, async_trait, tool, tools,
};

/// A shop that stores its orders in a file, one per line.
struct Shop {
    orders: PathBuf,
    is_killed: bool,
}

#[tool]
impl Shop {
    /// Lists the goods in stock.
    #[tool(effect = "read")]
    async fn stock(&self) -> &'static str {
        "coffee, tea"
    }

    /// Orders an item.
    #[tool(effect = "external")]
    async fn order(&self, item: String) -> io::Result<String> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.orders)?;
        writeln!(file, "{item}")?;
        if self.is_killed {
            println!("  (the order is placed, and the process ends before the result is saved)");
            process::exit(9);
        }
        Ok(format!("{item} is ordered"))
    }

    /// Lists all orders so far.
    #[tool(effect = "read")]
    async fn orders(&self) -> io::Result<Vec<String>> {
        Ok(fs::read_to_string(&self.orders)?.lines().map(str::to_owned).collect())
    }
}

/// Model that replies to the last message as a careful model would.
struct CarefulModel;

#[async_trait]
impl ChatModel for CarefulModel {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let is_user = |message: &&Message| matches!(message, Message::User { .. });
        let questions = request.messages.iter().filter(is_user).count();
        let Some(Message::Tool { results }) = request.messages.last() else {
            return Ok(ChatReply::text("Let me see.").call("stock", "{}"));
        };
        let Some(last) = results.last() else { return Ok(ChatReply::text("Nothing was done.")) };
        Ok(match last.tool.as_str() {
            "stock" => ChatReply::default().call("order", r#"{"item": "coffee"}"#),
            // The order may have been placed, so the model checks before it orders again.
            "order" if !last.is_success() => ChatReply::default().call("orders", "{}"),
            "orders" => ChatReply::text(format!("It went out after all: {}", last.text)),
            _ => ChatReply::text(format!("That was order number {questions} of our conversation.")),
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join("tool-runtime-session");
    fs::create_dir_all(&folder)?;
    let shop = Shop {
        orders: folder.join("orders.txt"),
        is_killed: std::env::args().any(|word| word == "--kill"),
    };
    let agent = Agent::new(CarefulModel, tools![..shop])
        .on_tool_result(|execution| println!("  {} → {}", execution.call, execution.result.text));
    let session = agent.session(Sqlite::open(folder.join("sessions.db")).await?, "ada");

    println!("{} messages in {}", session.messages().await?.len(), folder.display());
    if let Some(run) = session.resume().await? {
        let answer = run.finish().await?;
        println!("The last run was interrupted. It has been resumed:\n{answer}\n");
    }
    println!("Order a coffee, please.");
    println!("{}", session.run("Order a coffee, please.").await?);
    Ok(())
}
