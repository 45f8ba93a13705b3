//! Sub-agents: an agent as a tool of another agent.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::run::Run;
use super::state::RunState;
use super::{Agent, Limits, Paused, StopReason, Stopped};
use crate::event::money::format_amount;
use crate::guard::error_chain;
use crate::message::Arguments;
use crate::models::FinishReason;
use crate::tool::{
    Effect, IntoToolOutput as _, MeteredUsage, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput, UsageMeter,
};

/// Default of [`SubAgent::max_depth`].
const DEFAULT_MAX_DEPTH: u32 = 3;

/// Agent that another agent calls as a tool. Created by
/// [`Agent::into_tool`](crate::Agent::into_tool).
///
/// A sub-agent has its own model, tools, limits and permissions. Each call starts a nested run with
/// nothing but its task.
///
/// - **Events**: observers of the parent agent receive the events of the nested run, with the call
///   as its [parent](crate::event::RunEvent::Started).
/// - **Usage**: the tokens of the nested run count towards the limits of the parent run. If the
///   sub-agent has [prices](super::Limits::max_cost) of its own, its cost is computed with them.
/// - **Cancellation**: when the call is cancelled, so is the nested run.
/// - **Errors**: if the nested run ends without an answer, the parent's model receives the reason
///   and the names of the tools that ran and may have had effects.
/// - **Approvals**: if the nested run waits for a [decision](crate::dispatch::AskLater), the parent
///   run pauses as well. [Resuming](Paused#nested-runs) the parent run resumes both. An
///   approval for the rest of the run applies to the nested run only.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, Effect, ScriptedModel, Tool, Tools};
///
/// let agent = Agent::new(ScriptedModel::new([ChatReply::text("1815.")]), Tools::new());
/// let librarian = agent.into_tool("librarian", "Looks things up.").effect(Effect::Read);
/// assert_eq!(librarian.definition().effect, Effect::Read);
/// ```
#[derive(Clone, Debug)]
pub struct SubAgent {
    agent: Agent,
    definition: ToolDefinition,
    max_depth: u32,
}

impl Agent {
    /// Converts the agent into a tool that another agent calls with a task in words.
    ///
    /// The parent's model chooses the tasks to delegate by the description.
    ///
    /// All settings of the agent stay in force. Its own [approver](crate::Policy::approver) is
    /// asked; without one, its tools that need an approval are not offered. Its
    /// [limits](Self::limits) apply to each call.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let model = ScriptedModel::new([ChatReply::text("Ada was born in 1815.")]);
    /// let librarian = Agent::new(model, Tools::new())
    ///     .system("Look it up. Say in one sentence what you found.")
    ///     .into_tool("librarian", "Looks things up in the library.");
    ///
    /// let model = ScriptedModel::new([
    ///     ChatReply::default().call("librarian", r#"{"task": "When was Ada born?"}"#),
    ///     ChatReply::text("In 1815."),
    /// ]);
    /// let agent = Agent::new(model, Tools::new().with(librarian));
    /// assert_eq!(agent.run("How old would Ada be?").await?.to_string(), "In 1815.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_tool(self, name: impl Into<String>, description: impl Into<String>) -> SubAgent {
        let schema = json!({
            "type": "object",
            "properties": {
                "task": {
                    "type": "string",
                    "description": "What is to be done, and all that has to be known for it.",
                },
            },
            "required": ["task"],
            "additionalProperties": false,
        });
        let definition = ToolDefinition::new(name, description, schema);
        let agent = match &self.config.name {
            Some(_) => self,
            None => self.name(definition.name.clone()),
        };
        SubAgent { agent, definition, max_depth: DEFAULT_MAX_DEPTH }
    }
}

impl SubAgent {
    /// Sets the combined effect of all its tools. Default: [`Effect::External`].
    #[must_use]
    pub fn effect(self, effect: Effect) -> Self {
        self.map_definition(|definition| definition.effect(effect))
    }

    /// Changes the tool definition, such as its timeout or permission.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tool_runtime::{Agent, ScriptedModel, Tool, Tools};
    ///
    /// let minute = Duration::from_secs(60);
    /// let librarian = Agent::new(ScriptedModel::default(), Tools::new())
    ///     .into_tool("librarian", "Looks things up.")
    ///     .map_definition(|definition| definition.timeout(minute));
    /// assert_eq!(librarian.definition().timeout, Some(minute));
    /// ```
    #[must_use]
    pub fn map_definition(mut self, change: impl FnOnce(ToolDefinition) -> ToolDefinition) -> Self {
        self.definition = change(self.definition);
        self
    }

    /// Sets the maximum number of levels below the outermost run at which this agent runs.
    ///
    /// Default: 3.
    ///
    /// A call beyond the limit is denied. The limit ends recursion of agents that call each other.
    #[must_use]
    pub fn max_depth(mut self, limit: u32) -> Self {
        self.max_depth = limit;
        self
    }
}

#[async_trait]
impl Tool for SubAgent {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let state = match ctx.resumed() {
            Some(resumed) => {
                let paused: Paused = resumed.state_as()?;
                RunState::from(paused).resumed(&self.agent.config.limits)
            }
            None => {
                let Task { task } = self.definition.decode_arguments(&args, ctx)?;
                let prompt = task.into();
                self.agent.config.first_state(prompt).with_metadata(ctx.metadata().clone())
            }
        };
        let mut run = Run::new(Arc::clone(&self.agent.config), state).called_by(ctx.caller());
        if let Some((parent, observer)) = ctx.observed_origin() {
            if parent.depth >= self.max_depth {
                let text = format!(
                    "Not run: agents may be nested to a depth of at most {}. Do it without.",
                    self.max_depth
                );
                return Err(ToolError::new(ToolErrorKind::Denied, text));
            }
            run = run.with_observer(observer).nested_in(&parent, ctx.call_id());
        }
        let (limits, recorded) = (run.turn().limits().clone(), run.turn().metered());
        let mut recorder = UsageRecorder { limits, recorded, in_flight: run.meter(), ctx };
        // Boxed because an agent that is a tool of an agent makes the future recursive.
        Box::pin(async {
            while run.next().await.is_some() {
                recorder.record_up_to(run.turn().metered());
            }
            recorder.record_up_to(run.turn().metered());
        })
        .await;
        let secrets = run.dispatcher().clone();
        let mutating_tools = std::mem::take(&mut run.state.mutating_tools);
        match run.into_answer().await {
            Ok(answer) => {
                let mut text = answer.text;
                secrets.redact(&mut text);
                text.into_tool_output()
            }
            Err(Stopped { reason: StopReason::AwaitingApproval(paused), .. }) => {
                let text = "The agent has paused: its own calls await approval.";
                Err(ToolError::waiting(text, serde_json::to_value(paused)?, false))
            }
            // The cause, such as the error of a provider, is for operators only.
            Err(stopped) => {
                let text = match limit_text(&stopped.reason) {
                    Some(limit) => {
                        format!(
                            "The agent stopped without an answer ({}): {limit}.",
                            stopped.reason.code()
                        )
                    }
                    None => {
                        format!("The agent stopped without an answer ({}).", stopped.reason.code())
                    }
                };
                let mut cause = error_chain(&stopped);
                secrets.redact(&mut cause);
                Err(ToolError::failed(text)
                    .append_text(&effects_notice(mutating_tools))
                    .with_source(cause))
            }
        }
    }
}

/// Records the usage of the nested run as it accrues, because its call can be cancelled at any
/// time.
struct UsageRecorder<'c> {
    /// The limits of the nested run, which hold its prices.
    limits: Limits,
    recorded: MeteredUsage,
    /// Usage of calls of the nested run that have no result yet.
    in_flight: UsageMeter,
    ctx: &'c ToolContext,
}

impl UsageRecorder<'_> {
    /// Records the usage up to `total` that has not been recorded yet.
    fn record_up_to(&mut self, total: MeteredUsage) {
        self.record(total.clone().since(&self.recorded));
        self.recorded = total;
    }

    fn record(&self, metered: MeteredUsage) {
        self.ctx.record_usage(self.limits.priced(metered));
    }
}

impl Drop for UsageRecorder<'_> {
    fn drop(&mut self) {
        self.record(self.in_flight.take());
    }
}

/// Returns a notice about possible effects, for a parent that considers a retry.
fn effects_notice(acted: BTreeSet<String>) -> String {
    if acted.is_empty() {
        String::new()
    } else {
        let names: Vec<_> = acted.into_iter().collect();
        format!(" It may have had effects: it ran {}.", names.join(", "))
    }
}

/// Describes the limit that stopped the nested run, for the parent's model.
///
/// Only limits have a text: it quotes nothing from outside. The texts are separate from those of
/// [`StopReason`], which are for programmers.
fn limit_text(reason: &StopReason) -> Option<String> {
    let text = match reason {
        StopReason::IterationLimit(0) => {
            "it may send no model request: `max_iterations` is 0".to_owned()
        }
        StopReason::IterationLimit(1) => "it reached its limit of 1 model request".to_owned(),
        StopReason::IterationLimit(times) => {
            format!("it reached its limit of {times} model requests")
        }
        StopReason::TokenLimit { usage, limit } => {
            let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
            format!("it used {tokens} of {limit} tokens")
        }
        StopReason::CostLimit { cost, limit } => {
            format!(
                "it reached its cost limit: {} of {}",
                format_amount(*cost),
                format_amount(*limit)
            )
        }
        StopReason::Timeout(limit) => format!("it reached its time limit of {limit:?}"),
        StopReason::TruncatedReply(FinishReason::Length) => {
            "the model's answer is incomplete: it ran out of tokens".to_owned()
        }
        StopReason::TruncatedReply(FinishReason::Paused) => {
            "the model's answer is incomplete: its provider paused it too often".to_owned()
        }
        StopReason::TruncatedReply(_) => {
            "the model's answer is incomplete: its provider withheld the rest".to_owned()
        }
        StopReason::EmptyReply => "the model replied with neither text nor calls".to_owned(),
        _ => return None,
    };
    Some(text)
}

/// The arguments of a sub-agent.
#[derive(Deserialize)]
struct Task {
    task: String,
}
