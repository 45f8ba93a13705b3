//! The calls of one reply: which run at once, and one result for each.

use std::any::{Any, TypeId};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;

#[cfg(not(feature = "tracing"))]
use super::call::one;
use super::halt::Halt;
use super::plan::waves;
use super::running::Running;
use super::state::DispatchState;
#[cfg(feature = "tracing")]
use super::traced::one;
use super::unfinished::{lost, told};
use crate::event::ToolExecution;
use crate::guard::Boxed;
use crate::message::ToolCall;
use crate::registry::{Callable, Snapshot};
use crate::span;
use crate::tool::dispatch::{Host, Scope};
use crate::tool::{Batch, Extensions, LeftRunning};

/// Runs the calls of a batch, which lie within those of the tools `outer`.
#[inline]
pub(super) fn run(
    tools: Snapshot,
    state: Arc<DispatchState>,
    batch: Batch,
    outer: Vec<String>,
) -> impl Future<Output = Vec<ToolExecution>> + Send + 'static {
    let ends_run = batch.ends_run
        && state
            .policy
            .batch_deadline
            .is_none_or(|own| batch.deadline.is_some_and(|of_run| of_run < own));
    let deadline = match (batch.deadline, state.policy.batch_deadline) {
        (None, None) => None,
        // What no clock reaches is no deadline.
        (of_batch, of_policy) => {
            let least = of_batch.into_iter().chain(of_policy).min();
            least.and_then(|span| Instant::now().checked_add(span))
        }
    };
    let scope = Scope {
        origin: batch.origin,
        conversation: batch.conversation,
        clock: state.clock,
        observers: state.observers.clone(),
        redactor: state.redactor_of(&tools),
        deadline,
        ends_run,
        stop: batch.stop,
        spent: batch.spent,
    };
    let halt = Halt::new(state.policy.on_failure, state.policy.on_block);
    let Batch { decisions, resumed, calls, came, gone, .. } = batch;
    let callable = OnceLock::new();
    let running = Running { tools, state, scope, halt, decisions, resumed, gone, outer, callable };
    all(Arc::new(running), calls, came)
}

/// Who is told what came of a call as soon as that is there; no longer than the batch takes.
type Came = Option<UnboundedSender<ToolExecution>>;

async fn all(running: Arc<Running>, calls: Vec<ToolCall>, came: Came) -> Vec<ToolExecution> {
    match <[ToolCall; 1]>::try_from(calls) {
        Ok([call]) => {
            let mut done = Vec::with_capacity(1);
            done.push(match running.scope.observers.is_empty() {
                true => one(&running, call).await,
                false => Box::pin(told(running, call)).await,
            });
            done
        }
        Err(calls) => Box::pin(in_waves(&running, calls, came)).await,
    }
}

async fn in_waves(running: &Arc<Running>, calls: Vec<ToolCall>, came: Came) -> Vec<ToolExecution> {
    let alone =
        |call: &ToolCall| running.tools.definition(&call.name).is_some_and(|tool| tool.sequential);
    let mut done = Vec::with_capacity(calls.len());
    for wave in waves(calls.iter().map(alone)) {
        done.extend(at_once(running, calls.get(wave).unwrap_or_default(), &came).await);
    }
    done
}

/// One call runs in the caller's own task, several in tasks of theirs, so that all cores are used.
async fn at_once(running: &Arc<Running>, calls: &[ToolCall], came: &Came) -> Vec<ToolExecution> {
    let tell = |execution: &ToolExecution| {
        if let Some(came) = came {
            // Whoever wants to know no more is told no more.
            let _ = came.send(execution.clone());
        }
    };
    if let [call] = calls {
        let execution = told(Arc::clone(running), call.clone()).await;
        tell(&execution);
        return vec![execution];
    }
    // Dropped with this future, the set stops whatever still runs.
    let mut tasks = JoinSet::new();
    for (place, call) in calls.iter().enumerate() {
        let running = told(Arc::clone(running), call.clone());
        let running = async move { (place, running.await) };
        tasks.spawn(span::in_current(running));
    }

    let mut done: Vec<Option<ToolExecution>> = calls.iter().map(|_| None).collect();
    while let Some(joined) = tasks.join_next().await {
        if let Ok((place, execution)) = joined
            && let Some(slot) = done.get_mut(place)
        {
            tell(&execution);
            *slot = Some(execution);
        }
    }
    let done = done.into_iter().zip(calls);
    done.map(|(done, call)| done.unwrap_or_else(|| lost(running, call))).collect()
}

impl Host for Running {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn resumed(&self, call: &ToolCall) -> Option<&Value> {
        self.goes_on_from(call)
    }

    fn extensions(&self) -> &Extensions {
        &self.state.extensions
    }

    /// What a tool may look for is what its caller may call.
    fn get(&self, of: TypeId) -> Option<&dyn Any> {
        (of == TypeId::of::<Callable>()).then(|| self.callable() as &dyn Any)
    }

    fn left_running(&self) -> &LeftRunning {
        &self.state.left_running
    }

    fn dispatch_within<'a>(
        &'a self,
        parent: &'a ToolCall,
        batch: Batch,
    ) -> Boxed<'a, Vec<ToolExecution>> {
        let mut outer = self.outer.clone();
        outer.push(parent.name.clone());
        Box::pin(run(self.tools.clone(), Arc::clone(&self.state), batch, outer))
    }
}
