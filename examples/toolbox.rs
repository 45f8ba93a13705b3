//! A toolbox: the methods of a value are tools that share its state.
//!
//! `cargo run --example toolbox` has a scripted model fill a shopping list that the program reads.

use std::sync::{Arc, Mutex, PoisonError};

use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};

#[derive(Default)]
struct ShoppingList {
    entries: Mutex<Vec<String>>,
}

#[tool]
impl ShoppingList {
    /// Puts something on the list, and tells how long it is now.
    #[tool(effect = "write")]
    async fn add(
        &self,
        /// What to buy, such as "milk".
        thing: String,
        /// How many.
        #[arg(default = 1)]
        count: u32,
    ) -> usize {
        self.change(|entries| entries.push(format!("{count} × {thing}")))
    }

    /// Takes whatever contains this word off the list.
    #[tool(effect = "write", idempotent)]
    async fn strike(&self, word: &str) -> usize {
        self.change(|entries| entries.retain(|entry| !entry.contains(word)))
    }

    /// Reads the list.
    #[tool(effect = "read")]
    async fn list(&self) -> Vec<String> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Without `#[tool]` a method stays one of the program's own.
    fn change(&self, change: impl FnOnce(&mut Vec<String>)) -> usize {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut entries);
        entries.len()
    }
}

/// Tells what day it is: functions and toolboxes go together.
#[tool(effect = "read")]
async fn today() -> &'static str {
    "Saturday"
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new([
        ChatReply::default()
            .call("today", "{}")
            .call("add", r#"{"thing": "milk"}"#)
            .call("add", r#"{"thing": "eggs", "count": 6}"#),
        ChatReply::default().call("strike", r#"{"word": "milk"}"#).call("list", "{}"),
        ChatReply::text("Only the eggs are left to buy."),
    ]);

    // The program keeps its share of the value.
    let shopping = Arc::new(ShoppingList::default());
    let agent = Agent::new(model, tools![today, ..Arc::clone(&shopping)])
        .on_tool_result(|done| println!("{} → {}", done.call, done.result.text));

    println!("{}", agent.run("It's the weekend; eggs for six, and no milk after all.").await?);
    println!("On the list: {:?}", shopping.list().await);
    Ok(())
}
