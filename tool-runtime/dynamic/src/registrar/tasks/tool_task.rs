//! Builds a tool that was made at run time, and builds it again after a failure.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use tool_core::{Availability, Registry, Tool, ToolErrorKind};

use super::catalog_tool::CatalogTool;
use crate::backend::availability;
use crate::registrar::backoff::Backoff;
use crate::registrar::registration::{register_tool, unregister};
use crate::registrar::shared::{Task, TaskUpdate};
use crate::spec::CheckedSpec;

/// The reason why a tool is unavailable while another one has its name.
const NAME_TAKEN: &str = "the program has or reserves its name";

pub(in crate::registrar) struct ToolTask {
    pub(in crate::registrar) task: Task,
    pub(in crate::registrar) spec: CheckedSpec,
    pub(in crate::registrar) tool: Arc<CatalogTool>,
}

/// Why a tool was not built.
struct BuildFailure {
    reason: String,
    /// Whether another attempt can succeed while the spec is the same.
    is_retried: bool,
}

impl ToolTask {
    /// Runs until the tool was built, or its entry is outdated.
    pub(in crate::registrar) async fn run(self, _ended: DropGuard) {
        let options = &self.task.shared.options;
        let mut backoff = Backoff::new(options.first_delay, options.longest_delay);
        loop {
            let built = tokio::select! {
                () = self.task.outdated.cancelled() => return,
                built = self.build() => built,
            };
            let mut delay = None;
            let is_current = self.task.update(|registry| {
                let (update, is_retried) = self.publish(registry, built);
                match update {
                    Ok(()) => TaskUpdate::Active,
                    Err(reason) => {
                        delay = is_retried.then(|| backoff.next_delay());
                        TaskUpdate::Unavailable { reason, retry_in: delay }
                    }
                }
            });
            match delay {
                Some(delay) if is_current => {
                    if !self.task.sleep(delay).await {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    /// Registers the tool: as built, or as unavailable with the reason. Returns whether another
    /// attempt is made after a failure.
    fn publish(
        &self,
        registry: &Registry,
        built: Result<Arc<dyn Tool>, BuildFailure>,
    ) -> (Result<(), String>, bool) {
        let snapshot = registry.snapshot();
        if self.task.shared.is_taken(&snapshot, &self.task.id, true) {
            unregister(registry, &self.task.id);
            return (Err(NAME_TAKEN.to_owned()), true);
        }
        let (result, is_retried) = match built {
            Ok(built) => {
                self.tool.set_built(built);
                (Ok(()), true)
            }
            Err(failure) => {
                self.tool.set_unavailable(&failure.reason);
                (Err(failure.reason), failure.is_retried)
            }
        };
        // Also the tool that is registered already: the program may have removed it.
        let registered = register_tool(registry, &self.tool);
        (registered.and(result), is_retried)
    }

    async fn build(&self) -> Result<Arc<dyn Tool>, BuildFailure> {
        let retried = |reason: String| BuildFailure { reason, is_retried: true };
        let shared = &self.task.shared;
        let tools = shared.registry().map(|registry| registry.snapshot());
        if tools.is_some_and(|tools| shared.is_taken(&tools, &self.task.id, true)) {
            return Err(retried(NAME_TAKEN.to_owned()));
        }
        let options = &shared.options;
        let language = self.spec.language();
        let Some(backend) = options.backends.get(&language) else {
            let reason = format!("the program has no backend for bodies in {language}");
            return Err(BuildFailure { reason, is_retried: false });
        };
        if let Availability::Unavailable(reason) = availability(backend).await {
            return Err(retried(reason));
        }
        let limit: Duration = options.attempt_timeout;
        // In a task, so that a panic of the backend is a failure of this tool.
        let (backend, spec) = (Arc::clone(backend), self.spec.clone());
        let mut build = tokio::task::JoinSet::new();
        build.spawn(async move { backend.build(&spec).await });
        match timeout(limit, build.join_next()).await {
            Err(_) => Err(retried(format!("the build timed out after {limit:?}"))),
            Ok(None) => Err(retried("the build did not start".to_owned())),
            Ok(Some(Err(error))) => Err(retried(format!("the build did not finish: {error}"))),
            Ok(Some(Ok(Err(error)))) => Err(BuildFailure {
                // What is wrong with a body stays wrong.
                is_retried: error.kind() != ToolErrorKind::InvalidArguments,
                reason: error.to_string(),
            }),
            Ok(Some(Ok(Ok(tool)))) => Ok(tool),
        }
    }
}
