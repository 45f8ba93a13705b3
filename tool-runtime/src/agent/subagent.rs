//! An agent as a tool of another.

use async_trait::async_trait;
use serde_json::json;

use super::run::Run;
use super::state::RunState;
use super::{Agent, Prompt};
use crate::event::EffectRecord;
use crate::message::{Arguments, Usage};
use crate::tool::{
    IntoToolOutput as _, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolOutput,
};

/// How many agents may lie around one, unless set.
const DEEPEST: u32 = 3;

/// An agent that another one calls as a tool: what [`Agent::into_tool`](crate::Agent::into_tool) gives.
///
/// It has its own model, tools, limits and permissions, and begins each call with nothing but the task that it is given.
/// What it does is told to those who watch the other one too, as a run of its own
/// [within](crate::event::RunEvent::Started) the call; the tokens that it takes count as the other one's. When the call is
/// stopped, so is its run.
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
        SubAgent { agent: self, definition, deepest: DEEPEST }
    }
}

impl SubAgent {
    /// What others should know of it: its effect, its timeout, whether somebody is asked. It may do anything, unless said
    /// otherwise.
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
        let task = task(&args, &self.definition)?;
        let state = RunState::new(self.agent.turn(Prompt::from(task)));
        let mut run = Run::new(&self.agent, state);
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
        let mut spent = Spent { usage: Usage::default(), ctx };
        // Boxed: an agent that is a tool of an agent is a future within itself.
        let ended = Box::pin(async {
            while run.next().await.is_some() {
                spent.usage = run.turn().usage();
            }
            spent.usage = run.turn().usage();
            run.finish().await
        });
        match ended.await {
            Ok(answer) => answer.text.into_tool_output(),
            // What lies behind it, such as what a provider said, is the operator's alone.
            Err(stopped) => {
                let text = format!("It came to no answer ({}).", stopped.why.code());
                Err(ToolError::failed(text).with_source(stopped))
            }
        }
    }
}

/// What a run took, recorded also where its call is stopped.
struct Spent<'c> {
    usage: Usage,
    ctx: &'c ToolContext,
}

impl Drop for Spent<'_> {
    fn drop(&mut self) {
        self.ctx.record(EffectRecord::TokensSpent { usage: self.usage });
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
