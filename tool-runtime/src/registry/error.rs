use crate::tool::DefinitionError;

/// Why tools could not be registered. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A definition that providers don't take.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// Two tools that models would call by one name.
    #[error("two tools are named `{name}`: give one of them another by `#[tool(name = \"…\")]`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The name of a provider that can't stand before a tool's.
    #[error(
        "the provider `{name}` must be named by 1 to 32 characters of a-z, A-Z, 0-9, `_` and `-`"
    )]
    Provider {
        /// The name, cut where it is long.
        name: String,
    },
}
