//! Chooses the tools and options of a request, and finds the tools that a call discovered.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::agent::config::AgentConfig;
use crate::agent::steering::trusted_text;
use crate::agent::{OfferedTools, Turn};
use crate::dispatch::Dispatcher;
use crate::event::{EffectRecord, ToolExecution};
use crate::guard::{BoxFuture, catch_panic};
use crate::models::{ChatOptions, ToolChoice};
use crate::registry::{Selector, SelectorInput, Snapshot, selectable};
use crate::schema::Schema;
use crate::tool::ToolDefinition;

/// Returns the definitions to send with the next request, in their order. Boxed because the
/// compiler fails to prove that the run is `Send` if it sees the concrete future.
pub(crate) fn select_tools<'c, 't: 'c>(
    agent: &'c AgentConfig,
    turn: &'c mut Turn,
    dispatcher: &'c Dispatcher,
    tools: &'t Snapshot,
) -> BoxFuture<'c, Vec<&'t ToolDefinition>> {
    Box::pin(select(agent, turn, dispatcher, tools))
}

async fn select<'t>(
    agent: &AgentConfig,
    turn: &mut Turn,
    dispatcher: &Dispatcher,
    tools: &'t Snapshot,
) -> Vec<&'t ToolDefinition> {
    let Some(selector) = &agent.selector else {
        return turn.offer_tools(selectable(&dispatcher.offered_tools(tools)));
    };
    // Untrusted text does not influence which tools are offered.
    let query = turn.transcript().iter().rev().find_map(trusted_text).unwrap_or_default();
    let selected = if catch_panic(|| selector.blocking()).unwrap_or(true) {
        let (selector, dispatcher, tools) =
            (Arc::clone(selector), dispatcher.clone(), tools.clone());
        let offered = turn.offered_tools().clone();
        let select =
            move || selected_names(&*selector, &dispatcher.offered_tools(&tools), &query, &offered);
        spawn_blocking(select).await.unwrap_or_default()
    } else {
        let tools = dispatcher.offered_tools(tools);
        selected_names(&**selector, &tools, &query, turn.offered_tools())
    };
    turn.offer_tools(selected.iter().filter_map(|name| tools.definition(name)).collect())
}

/// Returns the names of the tools that the selector chooses. It is foreign code: if it panics, all
/// tools are selected, and names that were not offered to it are ignored.
fn selected_names(
    selector: &dyn Selector,
    tools: &[&ToolDefinition],
    query: &str,
    offered: &OfferedTools,
) -> Vec<String> {
    let selection = SelectorInput::new(tools)
        .user_text(query)
        .discovered(offered.discovered())
        .offered(offered.names());
    let selected = catch_panic(|| selector.select(selection));
    let selected = selected.unwrap_or_else(|_| selectable(tools));
    let names: HashSet<_> = selected.iter().map(|tool| tool.name.as_str()).collect();
    let known = tools.iter().filter(|tool| names.contains(tool.name.as_str()));
    known.map(|tool| tool.name.clone()).collect()
}

/// Returns the options of the next request. If a value is requested, they carry its schema. If the
/// model has to call a tool, it has to until it has: else the run would never end.
pub(crate) fn request_options<'a>(
    agent: &'a AgentConfig,
    turn: &Turn,
    output_schema: Option<&Schema>,
) -> Cow<'a, ChatOptions> {
    let options = &agent.options;
    if let Some(schema) = output_schema {
        let options = options.clone().tool_choice(ToolChoice::Auto);
        return Cow::Owned(ChatOptions { output: Some(schema.clone()), ..options });
    }
    match options.tool_choice {
        ToolChoice::Required | ToolChoice::Tool(_) if turn.has_required_call() => {
            Cow::Owned(options.clone().tool_choice(ToolChoice::Auto))
        }
        _ => Cow::Borrowed(options),
    }
}

/// Returns the full names of the tools that a call discovered. A tool search reports the names by
/// which the model calls the tools now.
pub(crate) fn discovered_tools(
    execution: &ToolExecution,
    tools: &Snapshot,
) -> impl Iterator<Item = String> {
    let names = execution.effects.iter().filter_map(|effect| match effect {
        EffectRecord::ToolsFound { names } => Some(names.clone()),
        _ => None,
    });
    names.flatten().map(|name| tools.full_name_of(&name))
}
