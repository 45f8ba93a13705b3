use tool_core::__workspace::IntoRegistry;
use tool_core::dispatch::AskLater;
use tool_core::{Dispatcher, Policy, Registry, RegistryError, Tools};

/// A set of tools that a server can serve: [`Tools`], a [`Registry`], a [`Dispatcher`], or a
/// `Result` with tools.
///
/// Tools and registries get a dispatcher with the default policy, which asks the client's user for
/// approval where a tool needs it. A dispatcher keeps its policy: its approver decides, and
/// [`AskLater`] lets the client's user decide.
///
/// ```
/// use tool_runtime::dispatch::AskLater;
/// use tool_runtime::mcp::McpServer;
/// use tool_runtime::{Dispatcher, Policy, Registry, tool, tools};
///
/// /// Deletes a file.
/// #[tool(permission = "ask")]
/// async fn delete(path: String) -> String {
///     format!("{path} is deleted")
/// }
///
/// let of_tools = McpServer::new(tools![delete]);
/// let registry = Registry::try_from(tools![delete])?;
/// let policy = Policy::new().approver(AskLater).max_output_bytes(20_000);
/// let of_dispatcher = McpServer::new(Dispatcher::new(registry).policy(policy));
/// # let _ = (of_tools, of_dispatcher);
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be served",
    label = "write `tools![…]` with the names of the tools, or pass a `Registry` or `Dispatcher`"
)]
pub trait IntoDispatcher {
    /// Converts the tools into a dispatcher.
    ///
    /// # Errors
    /// A definition is invalid, or two tools have the same name.
    fn into_dispatcher(self) -> Result<Dispatcher, RegistryError>;
}

impl IntoDispatcher for Dispatcher {
    fn into_dispatcher(self) -> Result<Dispatcher, RegistryError> {
        Ok(self)
    }
}

impl IntoDispatcher for Registry {
    fn into_dispatcher(self) -> Result<Dispatcher, RegistryError> {
        Ok(Dispatcher::new(self).policy(Policy::new().approver(AskLater)))
    }
}

impl IntoDispatcher for Tools {
    fn into_dispatcher(self) -> Result<Dispatcher, RegistryError> {
        self.into_registry()?.into_dispatcher()
    }
}

impl<R: IntoRegistry, E: Into<RegistryError>> IntoDispatcher for Result<R, E> {
    fn into_dispatcher(self) -> Result<Dispatcher, RegistryError> {
        self.into_registry()?.into_dispatcher()
    }
}
