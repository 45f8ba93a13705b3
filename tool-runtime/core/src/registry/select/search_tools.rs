//! The tool with which a model finds other tools.

use std::fmt::Write as _;

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::index::arguments;
use super::index_cache::IndexCache;
use crate::event::EffectRecord;
use crate::message::Arguments;
use crate::schema::Schema;
use crate::tool::{
    Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, on_blocking_thread,
};

/// The default number of results.
const DEFAULT_LIMIT: u8 = 5;

/// The maximum number of results.
const MAX_LIMIT: u8 = 20;

/// The maximum number of characters of a description in the output. The definition that the model
/// is offered next contains all of it.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// The maximum number of arguments of a tool in the output.
const MAX_ARGUMENTS: usize = 16;

/// A tool that finds other tools by what they do, for a model that is not offered all of them.
///
/// The model is offered what it found from its next turn on, if the selector of the agent includes
/// discovered tools, as [`BySearch`](super::BySearch) does.
///
/// The search covers the [callable tools](ToolContext::callable_tools): no tool that the agent's
/// view excludes, that the policy denies, that requires a capability which is not granted, that is
/// unavailable, or that is [hidden]. A call outside of a dispatcher fails.
///
/// The first search for a set of tools builds an index, on a thread for blocking work. The indexes
/// of the last sets are cached, for agents with different views.
///
/// [hidden]: crate::ToolPreference::hidden
///
/// ```
/// use tool_runtime::registry::{BySearch, SearchTools};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, ScriptedTurn, tool, tools};
///
/// /// Measures the temperature in a city.
/// #[tool(effect = "read")]
/// async fn temperature(city: String) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    indexes: Arc<IndexCache>,
}

// The model reads these descriptions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    #[schemars(
        description = "What you want to do, in a few plain words, such as \"send an invoice to a \
                       customer\".",
        length(min = 1)
    )]
    query: String,
    #[schemars(
        description = "How many tools to find: 5 unless given.",
        range(min = 1, max = MAX_LIMIT)
    )]
    limit: Option<u8>,
}

impl Default for SearchTools {
    fn default() -> Self {
        Self::new()
    }
}

impl SearchTools {
    /// The name of the tool.
    pub const NAME: &'static str = "search_tools";

    /// Creates the search tool with default settings.
    pub fn new() -> Self {
        let description = "Finds more tools by what they do. Call it when the tools you have can't \
            do what is asked: you can call the tools it finds in your next reply.";
        let parameters = Schema::of::<Query>();
        Self {
            definition: ToolDefinition::new(Self::NAME, description, parameters)
                .effect(Effect::Read)
                .idempotent()
                .finds_tools(),
            indexes: Arc::default(),
        }
    }
}

#[async_trait]
impl Tool for SearchTools {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let query: Query = self.definition.decode_arguments(&args, ctx)?;
        if query.query.trim().is_empty() {
            return Err(ToolError::invalid_arguments("`query` is empty: say what you want to do."));
        }
        let indexes = Arc::clone(&self.indexes);
        on_blocking_thread(ctx, move |ctx| {
            let callable = ctx.callable_tools();
            // In a dispatcher, at least this tool can be called.
            if callable.is_empty() {
                return Err(ToolError::failed("There are no tools to search."));
            }
            Ok(search(&query, &callable, &indexes))
        })
        .await
    }
}

/// Searches the callable tools, except those that find tools, because they are always offered.
fn search(query: &Query, callable: &[&ToolDefinition], indexes: &IndexCache) -> ToolOutput {
    let tools = callable
        .iter()
        .copied()
        .filter(|tool| !tool.finds_tools && tool.preference.is_selectable());
    let tools: Vec<_> = tools.collect();
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT).into();
    let found = indexes.search(&tools, &query.query, limit);
    if found.is_empty() {
        return ToolOutput::text(
            "No tool fits. Try once more with other words: name the thing and what to do with it, \
             such as \"create calendar event\". If that finds nothing either, there is no such tool.",
        );
    }
    let names = found.iter().map(|tool| tool.full_name().to_owned()).collect();
    ToolOutput::text(describe(&found)).with_effect(EffectRecord::ToolsFound { names })
}

/// Returns one line for each tool: `name(argument, argument): description`.
fn describe(tools: &[&ToolDefinition]) -> String {
    let mut text = String::from("You can call these tools now, best first:");
    for tool in tools {
        let names: Vec<_> = arguments(tool).take(MAX_ARGUMENTS).map(|(name, _)| name).collect();
        let description: String = tool.description.chars().take(MAX_DESCRIPTION_CHARS).collect();
        let line = format!("{}({}): {description}", tool.name, names.join(", "));
        // A description can't start a new line.
        let line = line.replace(['\n', '\r'], " ");
        let _ = write!(text, "\n- {line}");
    }
    text
}
