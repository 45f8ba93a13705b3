//! A tool whose definition is in the catalog, and which can be called once it was built.

use std::sync::{Arc, PoisonError, RwLock};

use tool_core::{
    Arguments, Availability, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput, async_trait,
};

/// A tool of the catalog. Its definition never changes, so that models see no difference between a
/// tool that was built and one that was not.
pub(in crate::registrar) struct CatalogTool {
    definition: ToolDefinition,
    state: RwLock<BuildState>,
    /// Whether models are offered the tool while it is unavailable.
    is_always_offered: bool,
}

#[derive(Clone)]
enum BuildState {
    Unavailable(Arc<str>),
    Built(Arc<dyn Tool>),
}

impl CatalogTool {
    /// Creates a tool that is unavailable for this reason.
    pub(in crate::registrar) fn new(definition: ToolDefinition, reason: &str) -> Self {
        let state = RwLock::new(BuildState::Unavailable(reason.into()));
        Self { definition, state, is_always_offered: false }
    }

    /// Creates a tool that is offered to models even if the other tool is unavailable.
    pub(in crate::registrar) fn always_offered(tool: Arc<dyn Tool>) -> Self {
        let definition = tool.definition().clone();
        Self { definition, state: RwLock::new(BuildState::Built(tool)), is_always_offered: true }
    }

    /// Sets whether models are offered the tool while it is unavailable.
    pub(in crate::registrar) fn offered(self, is_always_offered: bool) -> Self {
        Self { is_always_offered, ..self }
    }

    pub(in crate::registrar) fn set_built(&self, tool: Arc<dyn Tool>) {
        self.set(BuildState::Built(tool));
    }

    pub(in crate::registrar) fn set_unavailable(&self, reason: &str) {
        self.set(BuildState::Unavailable(reason.into()));
    }

    fn set(&self, state: BuildState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn state(&self) -> BuildState {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Tool for CatalogTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn availability(&self) -> Availability {
        if self.is_always_offered {
            return Availability::Available;
        }
        match self.state() {
            BuildState::Unavailable(reason) => Availability::Unavailable(reason.to_string()),
            BuildState::Built(tool) => tool.availability(),
        }
    }

    fn check_arguments(&self, args: &Arguments, ctx: &ToolContext) -> Result<(), ToolError> {
        match self.state() {
            BuildState::Built(tool) => tool.check_arguments(args, ctx),
            BuildState::Unavailable(_) => Ok(()),
        }
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        match self.state() {
            BuildState::Built(tool) => tool.call(args, ctx).await,
            BuildState::Unavailable(reason) => {
                let text = format!("The tool is not available, and the call did not run: {reason}");
                Err(ToolError::new(ToolErrorKind::Unavailable, text))
            }
        }
    }
}
