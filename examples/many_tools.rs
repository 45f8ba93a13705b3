//! Many tools: the model is offered a search, and pulls in the few that it needs.
//!
//! `cargo run --example many_tools --features search` counts what 200 tools cost on a turn with
//! and without it, and has a scripted model find one of them and call it.

use std::sync::Arc;

use tool_runtime::registry::{BySearch, SearchTools, definition_bytes};
use tool_runtime::schema::Schema;
use tool_runtime::{
    Agent, Arguments, ChatReply, Registry, ScriptedModel, Tool, ToolContext, ToolDefinition,
    ToolError, ToolOutput, args, async_trait,
};

const THINGS: [&str; 20] = [
    "invoice", "customer", "shipment", "contract", "meeting", "playlist", "recipe", "ticket",
    "server", "database", "photo", "flight", "hotel", "payment", "supplier", "product", "course",
    "vehicle", "report", "campaign",
];

const DEEDS: [(&str, &str); 10] = [
    ("create", "Adds another one: a new {thing}."),
    ("delete", "Removes a {thing} for good."),
    ("update", "Changes some of what is known of a {thing}."),
    ("show", "Returns everything that is known of a {thing}."),
    ("search", "Finds any {thing} by words."),
    ("share", "Lets another person see a {thing}."),
    ("archive", "Puts a {thing} out of sight, but keeps it."),
    ("export", "Writes a {thing} to a file."),
    ("rate", "Gives a {thing} one to five stars."),
    ("duplicate", "Makes a copy of a {thing}."),
];

/// Which one, and why.
#[args]
#[expect(dead_code, reason = "such a tool hands its arguments on; only their schema is needed")]
struct Which {
    /// The number it was filed under.
    id: String,
    /// Why, for the log.
    comment: Option<String>,
}

/// A tool that is known only at run time, as those of another machine are.
struct Dynamic(ToolDefinition);

impl Dynamic {
    fn new(deed: &str, text: &str, thing: &str) -> Self {
        let text = text.replace("{thing}", thing);
        Self(ToolDefinition::new(format!("{deed}_{thing}"), text, Schema::of::<Which>()))
    }
}

#[async_trait]
impl Tool for Dynamic {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("{} is done: {args}", self.0.name)))
    }
}

fn registry() -> Result<Registry, Box<dyn std::error::Error>> {
    let registry = Registry::new();
    for thing in THINGS {
        for (deed, text) in DEEDS {
            registry.register(Arc::new(Dynamic::new(deed, text, thing)))?;
        }
    }
    registry.register(Arc::new(SearchTools::new()))?;
    Ok(registry)
}

fn script() -> ScriptedModel {
    ScriptedModel::new([
        ChatReply::default().call("search_tools", r#"{"query": "remove a flight", "limit": 2}"#),
        ChatReply::default().call("delete_flight", r#"{"id": "SK 455"}"#),
        ChatReply::text("Flight SK 455 is gone."),
    ])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = registry()?;
    let snapshot = registry.snapshot();
    let bytes = |tools: &[&ToolDefinition]| -> usize {
        tools.iter().map(|tool| definition_bytes(tool)).sum()
    };
    let all = snapshot.all_definitions();
    println!("Without search: {} tools, {} bytes on each turn", all.len(), bytes(&all));
    let search = snapshot.definition(SearchTools::NAME).ok_or("it is registered")?;
    println!("With search: 1 tool, {} bytes, and what it finds", bytes(&[search]));

    let agent = Agent::new(script(), registry)
        .selector(BySearch::new())
        .on_tool_result(|done| println!("{} → {}", done.call, done.result.text));
    println!("{}", agent.run("I won't fly to Oslo after all.").await?);
    Ok(())
}
