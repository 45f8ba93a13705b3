use crate::tool::DefinitionError;

/// Why tools could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A definition that providers don't take.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// Two tools of one name in one list.
    #[error("two tools are named `{name}`: give one of them another by `#[tool(name = \"…\")]`")]
    Duplicate {
        /// The name.
        name: String,
    },
}
