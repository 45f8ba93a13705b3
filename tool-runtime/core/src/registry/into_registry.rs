use super::{Registry, RegistryError, Tools};

/// A set of tools that an agent accepts: [`Tools`], a [`Registry`], or a `Result` with either.
///
/// ```
/// use tool_runtime::schema::Dialect;
/// use tool_runtime::{Agent, ScriptedModel, tool, tools};
///
/// /// Returns the current time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// let from_tools = Agent::new(ScriptedModel::default(), tools![now]);
/// let strict = tools![now].dialect(Dialect::OpenAiStrict);
/// let from_result = Agent::new(ScriptedModel::default(), strict);
/// ```
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of tools",
    label = "write `tools![…]` with the names of the tools, or pass a `Registry`"
)]
pub trait IntoRegistry {
    /// Converts the set of tools into a registry.
    ///
    /// # Errors
    /// A definition is invalid, or two tools have the same name.
    fn into_registry(self) -> Result<Registry, RegistryError>;
}

impl IntoRegistry for Registry {
    fn into_registry(self) -> Result<Registry, RegistryError> {
        Ok(self)
    }
}

impl IntoRegistry for Tools {
    fn into_registry(self) -> Result<Registry, RegistryError> {
        self.try_into()
    }
}

/// Accepts the result of a conversion that can fail. The first run returns the error.
impl<R: IntoRegistry, E: Into<RegistryError>> IntoRegistry for Result<R, E> {
    fn into_registry(self) -> Result<Registry, RegistryError> {
        self.map_err(Into::into)?.into_registry()
    }
}

/// # Errors
/// A definition is invalid, or two tools have the same name.
impl TryFrom<Tools> for Registry {
    type Error = RegistryError;

    fn try_from(tools: Tools) -> Result<Self, RegistryError> {
        let registry = Self::new();
        registry.register_all(tools)?;
        Ok(registry)
    }
}
