//! The tool by which a model finds tools.

use std::fmt::Write as _;

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Callable;
use super::cached::Cached;
use super::index::arguments;
use crate::event::EffectRecord;
use crate::message::Arguments;
use crate::registry::Entry;
use crate::schema::Schema;
use crate::tool::args::decoded;
use crate::tool::{
    Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, on_blocking_thread,
};

/// How many tools are found unless the model asks for another number.
const FOUND: u8 = 5;

/// The most that the model may ask for.
const MOST_FOUND: u8 = 20;

/// How many characters of a description are told: with the tool the model is offered all of it.
const LONGEST_TOLD: usize = 200;

/// How many arguments of a tool are named.
const MOST_NAMED: usize = 16;

/// Finds tools by what they do, for a model that is not offered all of them.
///
/// What it finds the model is offered from its next turn on, if the agent's selector lets tools in
/// that were found, as [`BySearch`](super::BySearch) does. It searches what its caller may call at
/// that moment, as the dispatcher tells it by [`Callable`]: nothing that the agent's view hides, that
/// is denied, needs more than is granted, or can't run now; and no [hidden] tool. Called by a program
/// that tells it nothing, it fails.
///
/// The first search, and the first after tools came or went, makes an index of them, on a thread
/// where that holds up nobody. Those of the sets of tools that were searched last are kept, for agents
/// that see different ones.
///
/// [hidden]: crate::ToolPreference::hidden
///
/// ```
/// use tool_runtime::registry::{BySearch, SearchTools};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, ScriptedTurn, tool, tools};
///
/// /// Tells how warm it is in a city.
/// #[tool(effect = "read")]
/// async fn temperature(city: String) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = tools![temperature].with(SearchTools::new());
///
/// let model = ScriptedModel::new([
///     ScriptedTurn::new(ChatReply::default().call("search_tools", r#"{"query": "warm city"}"#))
///         .expect_tools(["search_tools"]),
///     ScriptedTurn::new(ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#))
///         .expect_tools(["search_tools", "temperature"]),
///     ScriptedTurn::new(ChatReply::text("Take a coat.")).expect_last("4 degrees"),
/// ]);
/// let agent = Agent::new(model, tools).selector(BySearch::new());
/// assert_eq!(agent.run("What should I wear in Oslo?").await?.text, "Take a coat.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SearchTools {
    definition: ToolDefinition,
    cached: Arc<Cached>,
}

// What is documented here the model reads.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// What you want to do, in a few plain words, such as "send an invoice to a customer".
    #[schemars(length(min = 1))]
    query: String,
    /// How many tools to find: 5 unless given.
    #[schemars(range(min = 1, max = MOST_FOUND))]
    limit: Option<u8>,
}

impl Default for SearchTools {
    fn default() -> Self {
        Self::new()
    }
}

impl SearchTools {
    /// What models call it by, unless it is registered under another name.
    pub const NAME: &'static str = "search_tools";

    /// A search among the tools that its caller may call.
    pub fn new() -> Self {
        let description = "Finds more tools by what they do. Call it when the tools you have can't \
            do what is asked: you can call the tools it finds in your next reply.";
        let parameters = Schema::of::<Query>();
        Self {
            definition: ToolDefinition::new(Self::NAME, description, parameters)
                .effect(Effect::Read)
                .idempotent()
                .finds_tools(),
            cached: Arc::default(),
        }
    }
}

#[async_trait]
impl Tool for SearchTools {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let query: Query = decoded(&self.definition, &args, ctx)?;
        if query.query.trim().is_empty() {
            return Err(ToolError::validation("`query` is empty: say what you want to do."));
        }
        let Some(callable) = ctx.get::<Callable>().cloned() else {
            return Err(ToolError::failed("There are no tools to search."));
        };
        let cached = Arc::clone(&self.cached);
        on_blocking_thread(ctx, move |_: &ToolContext| Ok(found(&query, &callable, &cached))).await
    }
}

/// What is found among the tools that may be called, but for those that search: they go out always.
fn found(query: &Query, callable: &Callable, cached: &Cached) -> ToolOutput {
    let tools = callable.entries().map(Entry::definition);
    let tools = tools.filter(|tool| !tool.finds_tools && tool.preference.is_selectable());
    let tools: Vec<_> = tools.collect();
    let of_name = |name: &str| tools.iter().copied().find(|tool| tool.name == name);
    let found: Vec<_> = cached.with(&tools, |index| {
        let found = index.search(&query.query, query.limit.unwrap_or(FOUND).into());
        found.iter().filter_map(|(name, _)| of_name(name)).collect()
    });
    if found.is_empty() {
        return ToolOutput::text(
            "No tool fits. Try once more with other words: name the thing and what to do with it, \
             such as \"create calendar event\". If that finds nothing either, there is no such tool.",
        );
    }
    let names = found.iter().map(|tool| tool.full_name().to_owned()).collect();
    ToolOutput::text(told(&found)).with_effect(EffectRecord::ToolsFound { names })
}

/// One line for each tool: `name(argument, argument): description`.
fn told(tools: &[&ToolDefinition]) -> String {
    let mut text = String::from("You can call these tools now, best first:");
    for tool in tools {
        let names: Vec<_> = arguments(tool).take(MOST_NAMED).map(|(name, _)| name).collect();
        let description: String = tool.description.chars().take(LONGEST_TOLD).collect();
        let line = format!("{}({}): {description}", tool.name, names.join(", "));
        // What a tool says of itself stays on its line.
        let line = line.replace(['\n', '\r'], " ");
        let _ = write!(text, "\n- {line}");
    }
    text
}
