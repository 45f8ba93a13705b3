use super::{Registry, RegistryError, Tools};

/// What an agent takes for its tools.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of tools",
    label = "write `tools![…]` with the names of the tools, or pass a `Registry`"
)]
pub trait IntoRegistry {
    /// The registry.
    ///
    /// # Errors
    /// A definition that providers don't take, or two tools of one name.
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

/// One that may have failed to be made, such as in a dialect: the run says so.
impl<R: IntoRegistry, E: Into<RegistryError>> IntoRegistry for Result<R, E> {
    fn into_registry(self) -> Result<Registry, RegistryError> {
        self.map_err(Into::into)?.into_registry()
    }
}

/// # Errors
/// A definition that providers don't take, or two tools of one name.
impl TryFrom<Tools> for Registry {
    type Error = RegistryError;

    fn try_from(tools: Tools) -> Result<Self, RegistryError> {
        let registry = Self::new();
        registry.register_all(tools)?;
        Ok(registry)
    }
}
