//! The dispatcher as the context of a running tool sees it: shared values and nested calls.

use std::any::Any;
use std::sync::Arc;

use super::batch::run_batch;
use super::context::{BatchContext, OuterCalls};
use crate::event::ToolExecution;
use crate::guard::BoxFuture;
use crate::message::ToolCall;
use crate::registry::Entry;
use crate::tool::dispatch_contract::{BatchScope, Host};
use crate::tool::{Batch, CallEnd, DetachedThreads, Extensions, SuspendedCall, ToolDefinition};

impl Host for BatchContext {
    fn scope(&self) -> &BatchScope {
        &self.scope
    }

    fn suspended_call(&self, call: &ToolCall) -> Option<&SuspendedCall> {
        self.resumed_call(call)
    }

    fn served_key(&self) -> Option<&str> {
        self.history.as_ref()?.served_key.as_deref()
    }

    fn end_of_dropped_calls(&self) -> CallEnd {
        Self::end_of_dropped_calls(self)
    }

    fn extensions(&self) -> &Extensions {
        &self.state.extensions
    }

    fn callable_tools(&self) -> Vec<&ToolDefinition> {
        let available = self.callable().filter(|entry| entry.availability().is_available());
        available.map(Entry::definition).collect()
    }

    fn detached_threads(&self) -> &DetachedThreads {
        &self.state.detached_threads
    }

    fn begin_background_change(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(self.state.memo.begin_background_write(self.memo_run()))
    }

    fn dispatch_within<'a>(
        &'a self,
        parent: &'a ToolCall,
        batch: Batch,
    ) -> BoxFuture<'a, Vec<ToolExecution>> {
        let mut names = self.outer_names().to_vec();
        names.push(parent.name.clone());
        let outer = OuterCalls { names, memo_run: self.memo_run() };
        // Boxed, since a call may contain calls of the same kind.
        let (tools, state) = (self.tools.clone(), Arc::clone(&self.state));
        Box::pin(run_batch(tools, state, batch, Some(outer)))
    }
}
