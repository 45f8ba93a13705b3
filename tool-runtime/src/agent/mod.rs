//! The loop: ask the model, run what it calls, tell it what came of it, until it answers.
//!
//! [`Turn`] decides, `run` does; nothing here knows how a call is run or how a provider is asked.

mod mend;
mod offered;
mod outcome;
mod prompt;
mod run;
mod turn;

use std::fmt;
use std::sync::Arc;

pub use offered::Offered;
pub use outcome::{Answer, StopReason, Stopped};
pub use prompt::Prompt;
pub use turn::{OutOfTurn, Outcome, Step, Turn};

use crate::dispatch::{Approver, Concurrency, Interceptor, Permissions};
use crate::event::{Event, Observers, ToolExecution};
use crate::models::ChatModel;
use crate::registry::{AllTools, IntoRegistry, Registry, RegistryError, Selector};
use crate::tool::Extensions;

/// A model with tools.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Tells how warm it is.
/// #[tool(effect = "read")]
/// async fn temperature(
///     /// City name.
///     city: String,
/// ) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    model: Arc<dyn ChatModel>,
    registry: Result<Registry, RegistryError>,
    observers: Observers,
    extensions: Extensions,
    granted: Vec<String>,
    selector: Arc<dyn Selector>,
    permissions: Permissions,
    approver: Option<Arc<dyn Approver>>,
    interceptors: Vec<Arc<dyn Interceptor>>,
    concurrency: Option<Concurrency>,
    output_limit: Option<usize>,
    system: Option<String>,
    max_iterations: u32,
}

impl Agent {
    /// An agent of this model and these tools: a list by [`tools!`](crate::tools), or a
    /// [`Registry`] that the program goes on changing.
    ///
    /// Tools that can't be registered are reported by [`run`](Self::run).
    pub fn new(model: impl ChatModel + 'static, tools: impl IntoRegistry) -> Self {
        Self {
            model: Arc::new(model),
            registry: tools.into_registry(),
            observers: Observers::default(),
            extensions: Extensions::default(),
            granted: Vec::new(),
            selector: Arc::new(AllTools),
            permissions: Permissions::default(),
            approver: None,
            interceptors: Vec::new(),
            concurrency: None,
            output_limit: None,
            system: None,
            max_iterations: 20,
        }
    }

    /// Gives the model standing orders. A conversation that brings its own keeps them.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Has this see each call before it runs, and what became of it; behind those added before.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.interceptors.push(Arc::new(interceptor));
        self
    }

    /// Says which tools may run, other than what they say of themselves.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Has this decide on calls of tools of `permission = "ask"`. Where nobody does, they are neither
    /// offered nor run.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Limits how many calls of a run go on at once; as many as there are unless set.
    #[must_use]
    pub fn concurrency(mut self, limits: Concurrency) -> Self {
        self.concurrency = Some(limits);
        self
    }

    /// Tells the model at most this many bytes of an output, its head and its tail; 100,000 unless
    /// set.
    #[must_use]
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = Some(bytes);
        self
    }

    /// Has this decide which tools the model is offered on each turn; all of them unless set.
    #[must_use]
    pub fn selector(mut self, selector: impl Selector + 'static) -> Self {
        self.selector = Arc::new(selector);
        self
    }

    /// How often the model may be asked in one run; 20 unless set.
    #[must_use]
    pub fn max_iterations(mut self, times: u32) -> Self {
        self.max_iterations = times;
        self
    }

    /// Gives tools a value to use, which they find by its type in
    /// [`ToolContext::get`](crate::ToolContext::get).
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extensions = self.extensions.with(value);
        self
    }

    /// Lets tools use what they declare by `requires("…")`, such as `filesystem`; a tool that needs
    /// more is neither offered nor run.
    #[must_use]
    pub fn grant<C: Into<String>>(mut self, capabilities: impl IntoIterator<Item = C>) -> Self {
        self.granted.extend(capabilities.into_iter().map(Into::into));
        self
    }

    /// Tells `observer` of each call as soon as it has its result, in the call's own task.
    #[must_use]
    pub fn on_tool_result(self, observer: impl Fn(&ToolExecution) + Send + Sync + 'static) -> Self {
        self.on_event(move |event| {
            if let Event::CallFinished(execution) = event {
                observer(execution);
            }
        })
    }

    /// Tells `observer` of everything that happens in a run.
    #[must_use]
    pub fn on_event(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observers.add(observer);
        self
    }

    /// Runs until the model answers in words alone.
    ///
    /// A conversation that is gone on with is mended where a provider would refuse it: see
    /// [`Turn::new`]. Calls at its very end are run first.
    ///
    /// Dropping the future stops the run and whatever it has going.
    ///
    /// # Errors
    /// [`Stopped`] says what ended the run without an answer, and carries the conversation.
    ///
    /// # Panics
    /// Outside a tokio runtime, once tools are called, or chosen by a selector that
    /// [takes its time](Selector::blocking).
    pub async fn run(&self, prompt: impl Into<Prompt>) -> Result<Answer, Stopped> {
        run::run(self, prompt.into()).await
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("registry", &self.registry)
            .field("system", &self.system)
            .field("max_iterations", &self.max_iterations)
            .finish_non_exhaustive()
    }
}
