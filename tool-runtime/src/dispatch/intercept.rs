//! Code of the program's own before and after each call.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::record::Record;
use crate::event::{Gate, ToolExecution};
use crate::guard::{Guarded, Panic};
use crate::message::ToolCall;
use crate::tool::{ToolError, ToolErrorKind, ToolOutput};

/// Sees each call before its name is looked up, and what became of it before anybody else does.
///
/// Several are asked in their order, and told in the opposite one, so that the first is the
/// outermost. One that panics before a call blocks it: what it stood for is not known to be so.
///
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::dispatch::{Before, Interceptor};
/// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, ToolExecution, async_trait, tool, tools};
///
/// /// Lets nobody write at night, and signs what is said.
/// struct NightWatch;
///
/// #[async_trait]
/// impl Interceptor for NightWatch {
///     async fn before(&self, call: &mut ToolCall) -> Before {
///         match call.name.as_str() {
///             "write" => Before::Block("it is night".into()),
///             _ => Before::Run,
///         }
///     }
///
///     async fn after(&self, execution: &mut ToolExecution) {
///         execution.result.text.push_str(" (by night)");
///     }
/// }
///
/// /// Tells the time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "midnight"
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![now])?).policy(Policy::new().interceptor(NightWatch));
/// let calls = ["now", "write"].map(|name| ToolCall::new(name, name, "{}"));
/// let done = dispatcher.dispatch(calls.into()).await;
/// assert_eq!(done[0].result.text, "midnight (by night)");
/// assert_eq!(done[1].result.text, "The call was blocked: it is night (by night)");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't intercept calls",
    label = "implement `Interceptor` for a type of your own, under `#[async_trait]`",
    note = "a closure is no interceptor: it has a part before a call and one after it"
)]
#[async_trait]
pub trait Interceptor: Send + Sync {
    /// Before a call, which it may change; but its id is the model's, and stays. Whether it runs alone
    /// is decided before, by the name that it came with.
    async fn before(&self, call: &mut ToolCall) -> Before {
        let _ = call;
        Before::Run
    }

    /// After a call, also one that was blocked or answered before it ran. Nothing limits its time: the
    /// call has its result only then.
    async fn after(&self, execution: &mut ToolExecution) {
        let _ = execution;
    }
}

/// What is to become of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Before {
    /// It goes on.
    Run,
    /// It has this output, and its tool isn't called.
    Answer(ToolOutput),
    /// It doesn't run, for this reason, which the model is told.
    Block(String),
}

/// Interceptors in their order.
#[derive(Clone, Default)]
pub(super) struct Interceptors(Vec<Arc<dyn Interceptor>>);

impl Interceptors {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, interceptor: Arc<dyn Interceptor>) {
        self.0.push(interceptor);
    }

    /// What there is to say of the call without running it; none where it is to run.
    pub(super) async fn before(
        &self,
        call: &mut ToolCall,
        record: &mut Record,
    ) -> Option<Result<ToolOutput, ToolError>> {
        let id = call.id.clone();
        for interceptor in &self.0 {
            let crashed = |Panic(_)| Before::Block("what looks after calls has crashed".into());
            let before = Guarded::new(|| interceptor.before(call), crashed).await;
            call.id.clone_from(&id);
            match before {
                Before::Run => {}
                Before::Answer(output) => return Some(Ok(output)),
                Before::Block(why) => {
                    let text = format!("The call was blocked: {why}");
                    let error = ToolError::new(ToolErrorKind::Denied, text);
                    return Some(Err(record.block((Gate::Interceptor, error))));
                }
            }
        }
        None
    }

    pub(super) async fn after(&self, mut execution: ToolExecution) -> ToolExecution {
        let id = execution.result.call.clone();
        for interceptor in self.0.iter().rev() {
            Guarded::new(|| interceptor.after(&mut execution), |Panic(_)| ()).await;
            execution.call.id.clone_from(&id);
            execution.result.call.clone_from(&id);
        }
        execution
    }
}

impl fmt::Debug for Interceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.len())
    }
}
