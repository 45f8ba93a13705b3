use super::Entry;
use crate::tool::DefinitionError;
use crate::tool::definition::bounds::{MAX_LABEL_BYTES, MAX_LABELS};

/// The maximum number of characters of a panic message in an error.
const MAX_MESSAGE_CHARS: usize = 200;

/// Reports why tools could not be registered. The registry is unchanged.
///
/// ```
/// use tool_runtime::{Registry, RegistryError, tool, tools};
///
/// /// Returns the current time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// let error = Registry::try_from(tools![now, now]).unwrap_err();
/// assert_eq!(error, RegistryError::Duplicate { name: "now".into() });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The definition of a tool without a provider is invalid.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The definition of a provider's tool is invalid.
    #[error("provider `{provider}`: {error}")]
    ProviderDefinition {
        /// The name of the provider.
        provider: String,
        /// The error in the definition.
        error: DefinitionError,
    },
    /// A tool panicked in [`Tool::definition`](crate::Tool::definition).
    #[error("definition of {} {message}", tool_of(.provider.as_deref()))]
    Panicked {
        /// The name of the provider, if there is one.
        provider: Option<String>,
        /// The message of the panic.
        message: String,
    },
    /// Two tools in a list have the same name.
    #[error(
        "duplicate tool name `{name}`: rename one of the tools, for example with \
         `#[tool(name = \"…\")]`, or register it under another provider"
    )]
    Duplicate {
        /// The name: `provider__name` if the tools have a provider.
        name: String,
    },
    /// A tool without a provider has the full name of a provider's tool.
    #[error(
        "tool name conflict: `{provider}__{name}` is the full name of tool `{name}` of provider \
         `{provider}` and the name of a tool without a provider: rename the latter, or register the \
         provider under another name"
    )]
    NameConflict {
        /// The name of the provider.
        provider: String,
        /// The own name of the provider's tool.
        name: String,
    },
    /// The name of a provider is invalid.
    #[error(
        "invalid provider name `{name}`: expected 1 to 32 characters of a-z, A-Z, 0-9, `_` and `-`, \
         without `__` and without `_` at the end"
    )]
    ProviderName {
        /// The name of the provider. A long name is truncated.
        name: String,
    },
    /// A label of a tool is empty, too long, or contains control or invisible characters.
    #[error(
        "invalid label `{}` of tool `{name}`: expected 1 to {MAX_LABEL_BYTES} bytes of visible \
         characters",
        label.escape_debug()
    )]
    Label {
        /// The full name of the tool.
        name: String,
        /// The label that was given. A long label is truncated.
        label: String,
    },
    /// A tool has too many labels.
    #[error("tool `{name}` has {count} labels, at most {MAX_LABELS}")]
    TooManyLabels {
        /// The full name of the tool.
        name: String,
        /// The number of labels.
        count: usize,
    },
    /// The full name of a provider's tool is too long.
    #[error(
        "full name of tool `{name}` of provider `{provider}` is too long: {length} characters, at \
         most 128; register the provider under a shorter name"
    )]
    NameTooLong {
        /// The name of the provider.
        provider: String,
        /// The own name of the tool.
        name: String,
        /// The length of the full name in characters.
        length: usize,
    },
}

impl RegistryError {
    pub(super) fn definition(provider: Option<&str>, error: DefinitionError) -> Self {
        match provider {
            Some(provider) => Self::ProviderDefinition { provider: provider.to_owned(), error },
            None => Self::Definition(error),
        }
    }

    pub(super) fn panicked(provider: Option<&str>, message: &str) -> Self {
        let message = message.chars().take(MAX_MESSAGE_CHARS).collect();
        Self::Panicked { provider: provider.map(str::to_owned), message }
    }

    /// Creates the error for two tools of which exactly one has a provider.
    pub(super) fn name_conflict(left: &Entry, right: &Entry) -> Self {
        let provided = if left.provider().is_some() { left } else { right };
        Self::NameConflict {
            provider: provided.provider().unwrap_or_default().to_owned(),
            name: provided.own_name().to_owned(),
        }
    }
}

fn tool_of(provider: Option<&str>) -> String {
    match provider {
        Some(provider) => format!("a tool of provider `{provider}`"),
        None => "a tool".to_owned(),
    }
}
