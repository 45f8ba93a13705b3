//! Toolboxes: the methods of a value become tools that share its state.
//!
//! Run it with `cargo run --example toolbox`. A scripted model fills a shopping list, and the
//! program reads it. It needs no key and no network.

use std::sync::{Arc, Mutex, PoisonError};

use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};

#[derive(Default)]
struct ShoppingList {
    entries: Mutex<Vec<String>>,
}

#[tool]
impl ShoppingList {
    /// Adds an item to the list and returns the new length.
    #[tool(effect = "write")]
    async fn add(
        &self,
        /// The item to buy, such as "milk".
        item: String,
        /// The number of pieces.
        #[arg(default = 1)]
        count: u32,
    ) -> usize {
        self.change(|entries| entries.push(format!("{count} × {item}")))
    }

    /// Removes all items that contain the word and returns the new length.
    #[tool(effect = "write", idempotent)]
    async fn strike(&self, word: &str) -> usize {
        self.change(|entries| entries.retain(|entry| !entry.contains(word)))
    }

    /// Returns the list.
    #[tool(effect = "read")]
    async fn list(&self) -> Vec<String> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A method without `#[tool]` is not a tool.
    fn change(&self, change: impl FnOnce(&mut Vec<String>)) -> usize {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut entries);
        entries.len()
    }
}

/// Returns the day of the week.
#[tool(effect = "read")]
async fn today() -> &'static str {
    "Saturday"
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new([
        ChatReply::default()
            .call("today", "{}")
            .call("add", r#"{"item": "milk"}"#)
            .call("add", r#"{"item": "eggs", "count": 6}"#),
        ChatReply::default().call("strike", r#"{"word": "milk"}"#).call("list", "{}"),
        ChatReply::text("Only the eggs are left to buy."),
    ]);

    // The program and the tools share the list.
    let shopping = Arc::new(ShoppingList::default());
    let agent = Agent::new(model, tools![today, ..Arc::clone(&shopping)])
        .on_tool_result(|execution| println!("{} → {}", execution.call, execution.result.text));

    println!("{}", agent.run("It's the weekend; eggs for six, and no milk after all.").await?);
    println!("The list: {:?}", shopping.list().await);
    Ok(())
}
