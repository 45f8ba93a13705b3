//! Many tools: the model searches for tools instead of receiving all of them.
//!
//! `cargo run --example many_tools --features search` prints the size of the definitions of 200
//! tools, with and without search. Then a scripted model finds one of them and calls it. It needs
//! no key and no network.

use std::sync::Arc;

use tool_runtime::registry::{BySearch, SearchTools, definition_bytes};
use tool_runtime::schema::Schema;
use tool_runtime::{
    Agent, Arguments, ChatReply, Registry, ScriptedModel, Tool, ToolContext, ToolDefinition,
    ToolError, ToolOutput, args, async_trait,
};

const OBJECTS: [&str; 20] = [
    "invoice", "customer", "shipment", "contract", "meeting", "playlist", "recipe", "ticket",
    "server", "database", "photo", "flight", "hotel", "payment", "supplier", "product", "course",
    "vehicle", "report", "campaign",
];

const ACTIONS: [(&str, &str); 10] = [
    ("create", "Adds another one: a new {object}."),
    ("delete", "Removes a {object} for good."),
    ("update", "Changes some of what is known of a {object}."),
    ("show", "Returns everything that is known of a {object}."),
    ("search", "Finds any {object} by words."),
    ("share", "Lets another person see a {object}."),
    ("archive", "Puts a {object} out of sight, but keeps it."),
    ("export", "Writes a {object} to a file."),
    ("rate", "Gives a {object} one to five stars."),
    ("duplicate", "Makes a copy of a {object}."),
];

/// The item and the reason.
#[args]
#[expect(dead_code, reason = "only the schema of the arguments is needed")]
struct Item {
    /// The id of the item.
    id: String,
    /// The reason, for the log.
    comment: Option<String>,
}

/// A tool that is created at run time, such as a tool of another server.
struct Dynamic(ToolDefinition);

impl Dynamic {
    fn new(action: &str, text: &str, object: &str) -> Self {
        let text = text.replace("{object}", object);
        Self(ToolDefinition::new(format!("{action}_{object}"), text, Schema::of::<Item>()))
    }
}

#[async_trait]
impl Tool for Dynamic {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("{} succeeded: {args}", self.0.name)))
    }
}

/// Registers 200 tools and the search tool.
fn registry() -> Result<Registry, Box<dyn std::error::Error>> {
    let registry = Registry::new();
    for object in OBJECTS {
        for (action, text) in ACTIONS {
            registry.register(Arc::new(Dynamic::new(action, text, object)))?;
        }
    }
    registry.register(Arc::new(SearchTools::new()))?;
    Ok(registry)
}

fn script() -> ScriptedModel {
    ScriptedModel::new([
        ChatReply::default().call("search_tools", r#"{"query": "remove a flight", "limit": 2}"#),
        ChatReply::default().call("delete_flight", r#"{"id": "SK 455"}"#),
        ChatReply::text("Flight SK 455 is cancelled."),
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
    let search =
        snapshot.definition(SearchTools::NAME).ok_or("the search tool is not registered")?;
    println!("With search: 1 tool, {} bytes, plus the tools that it finds", bytes(&[search]));

    let agent = Agent::new(script(), registry)
        .selector(BySearch::new())
        .on_tool_result(|execution| println!("{} → {}", execution.call, execution.result.text));
    println!("{}", agent.run("I won't fly to Oslo after all.").await?);
    Ok(())
}
