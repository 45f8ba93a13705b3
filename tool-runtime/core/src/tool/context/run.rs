//! Access of a tool to the run that its call belongs to.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::ToolContext;
use crate::event::{Origin, RunId};
use crate::message::{CallId, Message};
use crate::tool::RunContext;

impl ToolContext {
    /// Returns the id of the run that the call belongs to; 0 outside of a run.
    pub fn run_id(&self) -> RunId {
        self.scope().map_or_else(RunId::default, |scope| scope.origin.run)
    }

    /// Returns the number of the turn within the run; 0 outside of a run.
    pub fn turn(&self) -> u32 {
        self.scope().map_or(0, |scope| scope.origin.turn)
    }

    /// Returns the id of the call whose tool made this call, if it is nested.
    pub fn parent_call(&self) -> Option<&CallId> {
        self.scope()?.origin.parent.as_ref()
    }

    /// Returns the messages before this call; empty outside of a run.
    pub fn transcript(&self) -> &[Message] {
        let transcript = self.scope().and_then(|scope| scope.transcript.as_ref());
        transcript.map_or(&[], |transcript| transcript.as_slice())
    }

    /// Returns the metadata of the run, such as the user or the tenant; empty outside of a run.
    ///
    /// ```
    /// use tool_runtime::agent::Prompt;
    /// use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, ToolContext, tool, tools};
    ///
    /// /// Returns the tenant of the user.
    /// #[tool(effect = "none")]
    /// async fn tenant(ctx: &ToolContext) -> String {
    ///     ctx.metadata().get("tenant").map(ToString::to_string).unwrap_or_default()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let call = ChatReply::default().call("tenant", "{}");
    /// let model = ScriptedModel::new([call, ChatReply::text("Done.")]);
    /// let agent = Agent::new(model, tools![tenant]);
    /// let answer = agent.run(Prompt::from("Who am I?").metadata("tenant", "acme")).await?;
    /// let Message::Tool { results } = &answer.transcript[2] else { panic!() };
    /// assert_eq!(results[0].text, "\"acme\"");
    /// # Ok(())
    /// # }
    /// ```
    pub fn metadata(&self) -> &Map<String, Value> {
        self.run_context().metadata()
    }

    /// Sets a member of the metadata of the run, such as in a unit test.
    ///
    /// ```
    /// use tool_runtime::{ToolContext, tool};
    ///
    /// /// Returns the tenant of the user.
    /// #[tool(effect = "none")]
    /// async fn tenant(ctx: &ToolContext) -> String {
    ///     ctx.metadata().get("tenant").map(ToString::to_string).unwrap_or_default()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let ctx = ToolContext::default().with_metadata("tenant", "acme");
    /// assert_eq!(tenant(&ctx).await, "\"acme\"");
    /// # }
    /// ```
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let mut metadata = self.metadata().clone();
        metadata.insert(key.into(), value.into());
        self.set_metadata(metadata);
        self
    }

    /// Returns the agent, the run and the session that the call belongs to.
    pub fn run_context(&self) -> RunContext<'_> {
        static NO_RUN: LazyLock<Origin> = LazyLock::new(Origin::default);
        let context = match &self.host {
            Some(host) => host.scope().run_context(host.extensions()),
            None => {
                RunContext::new(&NO_RUN, None).with_extensions(&self.extensions, &self.extensions)
            }
        };
        context.with_metadata(self.metadata.as_deref())
    }
}
