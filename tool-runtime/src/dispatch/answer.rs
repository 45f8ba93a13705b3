//! What became of a call, put into words: for the model in the result, for the operator beside it.

use std::error::Error;
use std::iter::successors;

use crate::event::ToolExecution;
use crate::guard::{guarded, let_go};
use crate::message::{ToolCall, ToolResult};
use crate::registry::{Callable, Entry, called, nearest};
use crate::tool::{ToolError, ToolErrorKind, ToolOutput};

/// How many names a model is told of when it called none of them.
const MOST_NAMES: usize = 20;

/// How much of a name is repeated, in characters.
const MOST_OF_NAME: usize = 80;

/// How far back the errors behind an error are followed: one may lie behind itself.
const MOST_CAUSES: usize = 32;

#[inline]
pub(super) fn succeeded(call: ToolCall, output: ToolOutput) -> ToolExecution {
    let (text, images, effects) = output.into_parts();
    let mut result = ToolResult::success(&call, text);
    result.images = images;
    let mut execution = ToolExecution::new(call, result);
    execution.effects = effects;
    execution
}

/// The text and the destructor of what lies behind the error are the tool's code: both run under
/// the guard.
pub(super) fn failed(call: ToolCall, error: ToolError) -> ToolExecution {
    let result = ToolResult::failure(&call, error.kind().code(), error.text());
    let mut execution = ToolExecution::new(call, result);
    execution.cause = error.source().map(|source| {
        let cause = guarded(|| chain(source));
        cause.unwrap_or_else(|panic| format!("an error whose own text {panic}"))
    });
    let_go(error);
    execution
}

/// An error and all that lies behind it, outermost first.
fn chain(error: &(dyn Error + 'static)) -> String {
    let all = successors(Some(error), |&error| error.source()).take(MOST_CAUSES);
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Sent to those of these tools that may be meant. It is told of none that it may not call, or that
/// isn't to be offered.
pub(super) fn unknown(callable: &Callable, name: &str) -> ToolError {
    let tools = callable.entries().filter(|tool| tool.definition().preference.enabled);
    let tools: Vec<_> = tools.collect();
    let finder = tools.iter().find(|tool| tool.definition().finds_tools);
    let finder = finder.map(|tool| called(tool, name));
    let advice = match (nearest(name, tools.iter().copied()).as_slice(), finder) {
        ([], _) => known(&tools, finder, name),
        (nearest, None) => format!("Did you mean {}?", listed(nearest, " or ")),
        (nearest, Some(finder)) => {
            format!("Did you mean {}? Call `{finder}` to find others.", listed(nearest, " or "))
        }
    };
    // Whatever a model made up: its line breaks and the like are shown, not repeated.
    let name: String = name.chars().take(MOST_OF_NAME).flat_map(char::escape_debug).collect();
    ToolError::new(ToolErrorKind::NotFound, format!("There is no tool named `{name}`. {advice}"))
}

/// Which tools there are, where none is like what was said.
fn known(tools: &[&Entry], finder: Option<&str>, said: &str) -> String {
    let names: Vec<_> = tools.iter().take(MOST_NAMES).map(|tool| called(tool, said)).collect();
    let (all, names) = (tools.len(), listed(&names, ", "));
    match (all.saturating_sub(MOST_NAMES), finder) {
        (0, _) if all == 0 => "There are no tools.".to_owned(),
        (0, _) => format!("The tools are {names}."),
        (_, Some(finder)) => {
            format!("There are {all} tools: call `{finder}` to find the one that you need.")
        }
        (more, None) => format!("The tools are {names} and {more} more."),
    }
}

fn listed(names: &[&str], joint: &str) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(joint)
}
