//! The tool by which a model finds tools.

use std::fmt::Write as _;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::cached::Cached;
use super::index::arguments;
use crate::event::EffectRecord;
use crate::message::Arguments;
use crate::registry::Registry;
use crate::registry::weak::WeakRegistry;
use crate::schema::Schema;
use crate::tool::args::decoded;
use crate::tool::{Effect, Permission, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};

/// How many tools are found unless the model asks for another number.
const FOUND: u8 = 5;

/// The most that are found however many the model asks for.
const MOST_FOUND: u8 = 20;

/// How many characters of a description are told: with the tool the model is offered all of it.
const LONGEST_TOLD: usize = 200;

/// How many arguments of a tool are named.
const MOST_NAMED: usize = 16;

/// Finds tools of a registry by what they do, for a model that is not offered all of them.
///
/// What it finds the model is offered from its next turn on, if the agent's selector lets tools in
/// that were found, as [`BySearch`](super::BySearch) does. It looks at what the registry holds at
/// each call, and finds nothing that a model may not call: tools that are unavailable or disabled,
/// that need somebody's consent, or more than is [granted](Self::grant).
///
/// It belongs into the registry that it searches:
///
/// ```
/// use tool_runtime::registry::{BySearch, SearchTools};
/// use tool_runtime::{Agent, ChatReply, Registry, ScriptedModel, ScriptedTurn, tool, tools};
///
/// /// Tells how warm it is in a city.
/// #[tool(effect = "read")]
/// async fn temperature(city: String) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::try_from(tools![temperature])?;
/// registry.register_all(tools![].with(SearchTools::new(&registry)))?;
///
/// let model = ScriptedModel::new([
///     ScriptedTurn::new(ChatReply::default().call("search_tools", r#"{"query": "warm city"}"#))
///         .expect_tools(["search_tools"]),
///     ScriptedTurn::new(ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#))
///         .expect_tools(["search_tools", "temperature"]),
///     ScriptedTurn::new(ChatReply::text("Take a coat.")).expect_last("4 degrees"),
/// ]);
/// let agent = Agent::new(model, registry).selector(BySearch::new());
/// assert_eq!(agent.run("What should I wear in Oslo?").await?.text, "Take a coat.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SearchTools {
    definition: ToolDefinition,
    registry: WeakRegistry,
    granted: Vec<String>,
    cached: Cached,
}

/// The words are the model's.
#[derive(Deserialize, JsonSchema)]
struct Query {
    /// What you want to do, in a few plain words, such as "send an invoice to a customer".
    query: String,
    /// How many tools to find: 5 unless given, at most 20.
    limit: Option<u8>,
}

impl SearchTools {
    /// What models call it by.
    pub const NAME: &'static str = "search_tools";

    /// A search in this registry, or this view of it. It holds no share of the registry, so that
    /// the two don't keep each other.
    pub fn new(registry: &Registry) -> Self {
        let description = "Finds more tools by what they do. Call it when the tools you have can't \
            do what is asked: you can call the tools it finds in your next reply.";
        let parameters = Schema::of::<Query>();
        Self {
            definition: ToolDefinition::new(Self::NAME, description, parameters)
                .effect(Effect::Read)
                .idempotent(),
            registry: WeakRegistry::of(registry),
            granted: Vec::new(),
            cached: Cached::default(),
        }
    }

    /// Finds tools that need these capabilities, too: the same that the agent or the dispatcher
    /// [grants](crate::Agent::grant).
    #[must_use]
    pub fn grant<C: Into<String>>(mut self, capabilities: impl IntoIterator<Item = C>) -> Self {
        self.granted.extend(capabilities.into_iter().map(Into::into));
        self
    }

    /// Whether a model may call this tool.
    fn is_open(&self, tool: &ToolDefinition) -> bool {
        tool.preference.enabled
            && tool.permission == Permission::Allow
            && tool.requires.iter().all(|needed| self.granted.contains(needed))
    }
}

#[async_trait]
impl Tool for SearchTools {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Query { query, limit } = decoded(&self.definition, &args, ctx)?;
        let snapshot = self.registry.snapshot();
        let mut tools = snapshot.definitions();
        tools.retain(|tool| tool.name != ctx.tool_name() && self.is_open(tool));
        let most = limit.unwrap_or(FOUND).clamp(1, MOST_FOUND);
        let index = self.cached.of(&tools);
        let found = index.search(&query, most.into());
        let found: Vec<_> =
            found.iter().filter_map(|(name, _)| snapshot.definition(name)).collect();
        if found.is_empty() {
            return Ok(ToolOutput::text(
                "No tool fits. Try once more with other words: name the thing and what to do with \
                 it, such as \"create calendar event\". If that finds nothing either, there is no \
                 such tool.",
            ));
        }
        let names = found.iter().map(|tool| tool.full_name().to_owned()).collect();
        Ok(ToolOutput::text(told(&found)).with_effect(EffectRecord::ToolsFound { names }))
    }
}

/// One line for each tool: `name(argument, argument): description`.
fn told(tools: &[&ToolDefinition]) -> String {
    let mut text = String::from("You can call these tools now, best first:");
    for tool in tools {
        let names: Vec<_> = arguments(tool).take(MOST_NAMED).map(|(name, _)| name).collect();
        let description: String = tool.description.chars().take(LONGEST_TOLD).collect();
        let line = format!("{}({}): {description}", tool.name, names.join(", "));
        // What a tool says of itself stays on its line.
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let line = line.replace(breaks, " ");
        let _ = write!(text, "\n- {line}");
    }
    text
}
