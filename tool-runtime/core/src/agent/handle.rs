//! The agent: a model, tools and policies, from which runs start.

use std::fmt;
use std::sync::Arc;

use super::config::AgentConfig;
use super::{Answer, Prompt, Run, RunState, RunStream, Stopped};
use crate::models::ChatModel;
use crate::registry::into_registry::IntoRegistry;

/// A model with tools and policies, which starts runs.
///
/// Build it once and share it: an agent is cheap to clone, and its runs are independent of each
/// other. Permissions, approvals, retries and secrets are settings of a
/// [`Policy`](crate::Policy), which [`policy`](Self::policy) sets.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Returns the temperature in a city.
/// #[tool(effect = "read")]
/// async fn temperature(
///     /// City name.
///     city: String,
/// ) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new([
///     ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#),
///     ChatReply::text("Take a coat."),
/// ]);
/// let agent = Agent::new(model, tools![temperature]).system("Be brief.");
///
/// let answer = agent.run("What should I wear in Oslo?").await?;
/// assert_eq!(answer.to_string(), "Take a coat.");
/// assert_eq!(answer.transcript.len(), 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent {
    /// The runs of the agent share the configuration, so a run is owned and cheap to start.
    pub(super) config: Arc<AgentConfig>,
}

impl Agent {
    /// Creates an agent from a model and tools: a list from [`tools!`](crate::tools), or a
    /// [`Registry`](crate::Registry), which can be changed while the agent runs.
    ///
    /// If the tools can't be registered, [`run`](Self::run) returns the error.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, Registry, ScriptedModel, tool, tools};
    ///
    /// /// Rolls the dice.
    /// #[tool(effect = "none")]
    /// async fn roll() -> u8 {
    ///     4
    /// }
    ///
    /// # fn main() -> Result<(), tool_runtime::RegistryError> {
    /// # let model = ScriptedModel::new([ChatReply::text("Hi!")]);
    /// let registry = Registry::try_from(tools![roll])?;
    /// let agent = Agent::new(model, registry.clone());
    /// # let _ = agent;
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(model: impl ChatModel + 'static, tools: impl IntoRegistry) -> Self {
        Self { config: Arc::new(AgentConfig::new(Arc::new(model), tools.into_registry())) }
    }

    /// Runs the agent until the model answers with text and no calls.
    ///
    /// The prompt is a text, messages, or a whole conversation to continue. Open calls at the end
    /// of a [conversation](Prompt#conversations) are run first.
    ///
    /// # Errors
    /// Returns [`Stopped`] if the run ends without an answer, with the reason and the transcript.
    ///
    /// # Cancellation
    /// Dropping the future cancels the run and all in-flight calls.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime if tools are called, or if a
    /// [blocking](crate::registry::Selector::blocking) selector chooses them.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let answer = agent.run("Hello").await?;
    /// assert_eq!(answer.text, "Hi!");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run(&self, prompt: impl Into<Prompt>) -> Result<Answer, Stopped> {
        self.start(prompt).into_answer().await
    }

    /// Starts a run and streams its text, calls and events as they happen.
    ///
    /// The stream owns the run: it is `'static` and `Send`, so that a web handler can return it.
    ///
    /// # Cancellation
    /// The stream is lazy: the run advances only while it is polled. Dropping it cancels the run
    /// and all in-flight calls.
    ///
    /// ```
    /// use tool_runtime::agent::StreamItem;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let mut stream = agent.stream("Hello");
    /// while let Some(item) = stream.next().await {
    ///     if let StreamItem::Text(text) = item {
    ///         print!("{text}");
    ///     }
    /// }
    /// let answer = stream.finish().await?;
    /// assert_eq!(answer.text, "Hi!");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(&self, prompt: impl Into<Prompt>) -> RunStream {
        self.start(prompt).stream()
    }

    /// Starts a run that you drive: [step by step](Run::next), to its [answer](Run::finish), as a
    /// [stream](Run::stream), or to a [value](Run::extract).
    ///
    /// The run is owned: it is `'static` and `Send`. Nothing happens until you drive it.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let mut run = agent.start("Hello");
    /// while let Some(step) = run.next().await {
    ///     println!("{step:?}: {} messages", run.turn().transcript().len());
    /// }
    /// assert_eq!(run.finish().await?.text, "Hi!");
    /// # Ok(())
    /// # }
    /// ```
    pub fn start(&self, prompt: impl Into<Prompt>) -> Run {
        Run::new(Arc::clone(&self.config), self.config.first_state(prompt.into()))
    }

    /// Resumes a run from its saved [state](Run::state), in this process or in another; or a
    /// [paused](super::Paused) run after its pending calls were [decided](super::Paused::decide)
    /// on.
    ///
    /// Calls that may have been in flight when the state was saved are made again if their tool is
    /// [repeatable](crate::ToolDefinition::is_retry_safe). Others get the result
    /// `TOOL_INDETERMINATE`. A decision holds for the arguments for which it was made. Calls
    /// without a decision are submitted for approval again. A sub-agent resumes where it paused.
    /// Calls that have their result are not run again.
    ///
    /// The [limits](Self::limits) of this agent and of its sub-agents apply, whatever applied
    /// before; the usage so far counts, and so does the [time](Self::run_timeout). A state
    /// that was damaged in storage is repaired in the same way as the transcript of a prompt.
    ///
    /// A run of a [session](Self::session) can be resumed only by the session. This method stops
    /// such a run with [`StopReason::BelongsToSession`](super::StopReason::BelongsToSession).
    ///
    /// # Resuming twice
    /// Resuming is not exclusive. If the same state is resumed twice, the remaining calls run
    /// twice, each under the same [`idempotency_key`](crate::ToolContext::idempotency_key). To
    /// prevent that, remove the state from its storage as you resume it, in one transaction; or use
    /// a [session](Self::session), which one process at a time
    /// [resumes](super::session::Session::resume).
    ///
    /// ```
    /// use tool_runtime::agent::RunState;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
    ///
    /// /// Rolls the dice.
    /// #[tool(effect = "none")]
    /// async fn roll() -> u8 {
    ///     4
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("roll", "{}"),
    /// #     ChatReply::text("Four."),
    /// # ]);
    /// let agent = Agent::new(model, tools![roll]);
    /// let mut run = agent.start("Roll the dice.");
    /// run.next().await;
    /// let saved = serde_json::to_string(&run.state())?;
    ///
    /// // Later, perhaps in another process.
    /// let state: RunState = serde_json::from_str(&saved)?;
    /// assert_eq!(agent.resume(state).finish().await?.text, "Four.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume(&self, state: impl Into<RunState>) -> Run {
        Run::new(Arc::clone(&self.config), state.into().resumed(&self.config.limits))
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        let mut system = config.system.clone();
        if let Some(system) = &mut system {
            config.dispatcher.redact(system);
        }
        f.debug_struct("Agent")
            .field("name", &config.name)
            .field("registry", &config.registry)
            .field("system", &system)
            .field("driver", &config.driver)
            .field("limits", &config.limits)
            .finish_non_exhaustive()
    }
}
