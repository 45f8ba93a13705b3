//! An agent as a tool of another.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize as _;
use serde_json::json;

use super::run::Run;
use super::state::RunState;
use super::{Agent, Limits, Paused, StopReason, Stopped};
use crate::guard::causes;
use crate::message::Arguments;
use crate::tool::{
    Bill, Effect, IntoToolOutput as _, Spent, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput,
};

/// How many agents may lie around one, unless set.
const DEEPEST: u32 = 3;

/// An agent that another one calls as a tool: what [`Agent::into_tool`](crate::Agent::into_tool) gives.
///
/// It has its own model, tools, limits and permissions, and begins each call with nothing but the task that it is given.
/// What it does is told to those who watch the other one too, as a run of its own
/// [within](crate::event::RunEvent::Started) the call; the tokens that it takes count as the other one's, at its own
/// [prices](super::Limits::cost) where it has some. When the call is stopped, so is its run.
/// Where it comes to no answer, the other one's model is told why not, and which of its tools ran that may have changed
/// the world.
///
/// Where it waits for [somebody to decide](crate::dispatch::AskLater), so does the other one, and both go on when that
/// one is [resumed](Paused#runs-within-runs). What was approved for the rest of its run holds for that alone.
#[derive(Clone, Debug)]
pub struct SubAgent {
    agent: Agent,
    definition: ToolDefinition,
    deepest: u32,
}

impl Agent {
    /// Makes it a tool of this name, which another agent calls with a task in words. The description tells that one
    /// what to leave to it.
    ///
    /// All that is set on an agent is its own: it asks its own [approver](crate::Policy::approver), and where it has none, its
    /// tools that ask are not offered; and its [limits](Self::limits) are those of one call.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
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
        SubAgent { agent, definition, deepest: DEEPEST }
    }
}

impl SubAgent {
    /// What it may do to the world, all its tools together; anything, unless set.
    #[must_use]
    pub fn effect(self, effect: Effect) -> Self {
        self.defined(|definition| definition.effect(effect))
    }

    /// What else others should know of it, such as its timeout, or whether somebody is asked.
    #[must_use]
    pub fn defined(mut self, change: impl FnOnce(ToolDefinition) -> ToolDefinition) -> Self {
        self.definition = change(self.definition);
        self
    }

    /// How many calls may lie around it; 3 unless set. Agents that call each other have to end somewhere.
    #[must_use]
    pub fn max_depth(mut self, most: u32) -> Self {
        self.deepest = most;
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
            Some(kept) => {
                let kept = Paused::deserialize(kept).map_err(|error| {
                    let text = "It had begun, may have had effects, and can't go on: where it was can't be read.";
                    ToolError::new(ToolErrorKind::Indeterminate, text).with_source(error)
                })?;
                RunState::from(kept).resumed(&self.agent.config.limits)
            }
            None => RunState::new(self.agent.config.turn(task(&args, &self.definition)?.into())),
        };
        let mut run = Run::new(Arc::clone(&self.agent.config), state);
        if let Some((outer, watching)) = ctx.around() {
            if outer.depth >= self.deepest {
                let text = format!(
                    "Not run: agents may call each other at most {} deep. Do it without.",
                    self.deepest
                );
                return Err(ToolError::new(ToolErrorKind::Denied, text));
            }
            run = run.observer(watching).within(&outer, ctx.call_id());
        }
        let (limits, counted) = (run.turn().limits().clone(), run.turn().bill());
        let mut spending = Spending { limits, counted, within: run.spent(), ctx };
        // Boxed: an agent that is a tool of an agent is a future within itself.
        Box::pin(async {
            while run.next().await.is_some() {
                spending.count(run.turn().bill());
            }
            spending.count(run.turn().bill());
        })
        .await;
        let secrets = run.dispatcher().clone();
        let acted = std::mem::take(&mut run.state.acted);
        match run.finish().await {
            Ok(answer) => {
                let mut text = answer.text;
                secrets.hide(&mut text);
                text.into_tool_output()
            }
            Err(Stopped { why: StopReason::AwaitingApproval(paused), .. }) => {
                let text = "It has not ended: calls of its own await approval.";
                Err(ToolError::suspended(text, serde_json::to_value(paused)?))
            }
            // What lies behind it, such as what a provider said, is the operator's alone.
            Err(stopped) => {
                let text = match limit(&stopped.why) {
                    Some(words) => {
                        format!("It came to no answer ({}): {words}.", stopped.why.code())
                    }
                    None => format!("It came to no answer ({}).", stopped.why.code()),
                };
                let mut cause = causes(&stopped);
                secrets.hide(&mut cause);
                Err(ToolError::failed(text).and_say(&effects(acted)).with_source(cause))
            }
        }
    }
}

/// What a run takes, recorded as it does: its call may be stopped at any moment.
struct Spending<'c> {
    /// They know its prices.
    limits: Limits,
    counted: Bill,
    /// What its calls took that have no result yet.
    within: Spent,
    ctx: &'c ToolContext,
}

impl Spending<'_> {
    /// The run took so much so far.
    fn count(&mut self, bill: Bill) {
        self.record(bill.since(self.counted));
        self.counted = bill;
    }

    fn record(&self, bill: Bill) {
        self.ctx.record_bill(self.limits.paid(bill));
    }
}

impl Drop for Spending<'_> {
    fn drop(&mut self) {
        self.record(self.within.take());
    }
}

/// What a caller has to know who would have it begin anew.
fn effects(acted: BTreeSet<String>) -> String {
    match acted.is_empty() {
        true => String::new(),
        false => {
            let names: Vec<_> = acted.into_iter().collect();
            format!(" It may have had effects: it ran {}.", names.join(", "))
        }
    }
}

/// Which limit of its own it came to, in words that quote nobody.
fn limit(why: &StopReason) -> Option<String> {
    use StopReason::{CostLimit, EmptyReply, MaxIterations, TimeLimit, TokenLimit, TruncatedReply};
    match why {
        MaxIterations(_)
        | TokenLimit { .. }
        | CostLimit { .. }
        | TimeLimit(_)
        | TruncatedReply(_)
        | EmptyReply => Some(why.to_string()),
        _ => None,
    }
}

fn task(args: &Arguments, definition: &ToolDefinition) -> Result<String, ToolError> {
    let text = args.to_text();
    let schema = definition.parameters.as_value();
    let parsed = crate::json::parse_as(&text, schema)
        .map_err(|error| ToolError::new(ToolErrorKind::Validation, error.to_string()))?;
    match definition.parameters.check(&parsed.value).first() {
        Some(wrong) => Err(ToolError::new(ToolErrorKind::Validation, format!("{wrong}"))),
        None => {
            Ok(parsed.value.get("task").and_then(|it| it.as_str()).unwrap_or_default().to_owned())
        }
    }
}
