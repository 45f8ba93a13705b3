//! Which tools go out on a turn, and which were found for the next.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::config::AgentConfig;
use super::steering::trusted_text;
use super::{OfferedTools, Turn};
use crate::dispatch::Dispatcher;
use crate::event::{EffectRecord, ToolExecution};
use crate::guard::{Boxed, guarded};
use crate::models::{ChatOptions, ToolChoice};
use crate::registry::{AllTools, Entry, Selection, Selector, Snapshot};
use crate::schema::Schema;
use crate::tool::ToolDefinition;

/// What goes out on this turn, in its order. Boxed: the compiler can't tell that the run is `Send` where
/// it sees all that is in this.
pub(super) fn choose<'c, 't: 'c>(
    agent: &'c AgentConfig,
    turn: &'c mut Turn,
    dispatcher: &'c Dispatcher,
    tools: &'t Snapshot,
) -> Boxed<'c, Vec<&'t ToolDefinition>> {
    Box::pin(choice(agent, turn, dispatcher, tools))
}

async fn choice<'t>(
    agent: &AgentConfig,
    turn: &mut Turn,
    dispatcher: &Dispatcher,
    tools: &'t Snapshot,
) -> Vec<&'t ToolDefinition> {
    // What nobody has checked has no say in which tools there are.
    let asked = turn.transcript().iter().rev().find_map(trusted_text).unwrap_or_default();
    let chosen = if guarded(|| agent.selector.blocking()).unwrap_or(true) {
        let (selector, dispatcher, tools) =
            (Arc::clone(&agent.selector), dispatcher.clone(), tools.clone());
        let offered = turn.offered_tools().clone();
        let choose =
            move || chosen(&*selector, &dispatcher.offered_tools(&tools), &asked, &offered);
        spawn_blocking(choose).await.unwrap_or_default()
    } else {
        chosen(&*agent.selector, &dispatcher.offered_tools(tools), &asked, turn.offered_tools())
    };
    turn.offer_tools(chosen.iter().filter_map(|name| tools.definition(name)).collect())
}

/// The names of what a selector chooses. It is foreign code: one that panics has chosen nothing in
/// particular, and what nobody offered it is not taken.
fn chosen(
    selector: &dyn Selector,
    tools: &[&ToolDefinition],
    asked: &str,
    offered: &OfferedTools,
) -> Vec<String> {
    let selection =
        Selection::new(tools).asked(asked).pulled_in(offered.pulled_in()).offered(offered.order());
    let chosen = guarded(|| selector.select(selection));
    let chosen = chosen.unwrap_or_else(|_| AllTools.select(selection));
    let names: HashSet<_> = chosen.iter().map(|tool| tool.name.as_str()).collect();
    let known = tools.iter().filter(|tool| names.contains(tool.name.as_str()));
    known.map(|tool| tool.name.clone()).collect()
}

/// How it is to answer: with what is wanted, where something is. A model that always has to call a tool would never
/// come to an end: it has to once.
pub(super) fn options<'a>(
    agent: &'a AgentConfig,
    turn: &Turn,
    wanted: Option<&Schema>,
) -> Cow<'a, ChatOptions> {
    let options = &agent.options;
    if let Some(schema) = wanted {
        let options = options.clone().tool_choice(ToolChoice::Auto);
        return Cow::Owned(ChatOptions { output: Some(schema.clone()), ..options });
    }
    match options.tool_choice {
        ToolChoice::Required | ToolChoice::Tool(_) if turn.iterations() > 0 => {
            Cow::Owned(options.clone().tool_choice(ToolChoice::Auto))
        }
        _ => Cow::Borrowed(options),
    }
}

/// The full names of the tools that a call found. One that says what models call them by now means
/// those that are called so now.
pub(super) fn found(execution: &ToolExecution, tools: &Snapshot) -> impl Iterator<Item = String> {
    let names = execution.effects.iter().filter_map(|effect| match effect {
        EffectRecord::ToolsFound { names } => Some(names.clone()),
        _ => None,
    });
    names.flatten().map(|name| full_name(&name, tools))
}

/// The full name of the tool that is called so now.
pub(super) fn full_name(name: &str, tools: &Snapshot) -> String {
    tools.entry(name).map_or(name, Entry::full_name).to_owned()
}
