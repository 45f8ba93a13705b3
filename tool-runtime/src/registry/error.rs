use super::Entry;
use crate::tool::DefinitionError;

/// The most characters that are told of what foreign code said.
const LONGEST: usize = 200;

/// Why tools could not be registered. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A definition that providers don't take.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The same of a tool that another provides.
    #[error("what the provider `{provider}` says of a tool can't be taken: {error}")]
    Provided {
        /// Who provides it.
        provider: String,
        /// What is wrong.
        error: DefinitionError,
    },
    /// A tool panicked when it was asked for its definition.
    #[error("{} {message} when it was asked for its definition", told(.provider.as_deref()))]
    Panicked {
        /// Who provides it, if anybody.
        provider: Option<String>,
        /// What it panicked with.
        message: String,
    },
    /// Two tools of one name in one list.
    #[error(
        "two tools are named `{name}`: give one of them another, as by `#[tool(name = \"…\")]`, or \
         register it under another provider"
    )]
    Duplicate {
        /// The name: `provider__name` where they have a provider.
        name: String,
    },
    /// A provider's tool and one without a provider that models would call by one name.
    #[error(
        "the tool `{name}` of the provider `{provider}` would be called `{provider}__{name}`, and a \
         tool without a provider is named so: rename that one, or register the provider's tools \
         under another name"
    )]
    Taken {
        /// Who provides the one.
        provider: String,
        /// What its provider calls it.
        name: String,
    },
    /// The name of a provider that can't stand before a tool's.
    #[error(
        "the provider `{name}` must be named by 1 to 32 characters of a-z, A-Z, 0-9, `_` and `-`, \
         with no `__` in it and no `_` at its end"
    )]
    Provider {
        /// The name, cut where it is long.
        name: String,
    },
    /// The name of a tool that can't stand behind its provider's.
    #[error(
        "the tool `{name}` of the provider `{provider}` is called `{provider}__{name}` where others \
         have its name, and that takes more than 128 characters: register the provider's tools under \
         a shorter name"
    )]
    TooLong {
        /// Who provides it.
        provider: String,
        /// What its provider calls it.
        name: String,
    },
}

impl RegistryError {
    pub(super) fn definition(provider: Option<&str>, error: DefinitionError) -> Self {
        match provider {
            Some(provider) => Self::Provided { provider: provider.to_owned(), error },
            None => Self::Definition(error),
        }
    }

    pub(super) fn panicked(provider: Option<&str>, message: &str) -> Self {
        let message = message.chars().take(LONGEST).collect();
        Self::Panicked { provider: provider.map(str::to_owned), message }
    }

    /// Of two tools that exclude each other, of which one has a provider.
    pub(super) fn taken(one: &Entry, other: &Entry) -> Self {
        let provided = if one.provider().is_some() { one } else { other };
        Self::Taken {
            provider: provided.provider().unwrap_or_default().to_owned(),
            name: provided.own_name().to_owned(),
        }
    }
}

fn told(provider: Option<&str>) -> String {
    match provider {
        Some(provider) => format!("a tool of the provider `{provider}`"),
        None => "a tool".to_owned(),
    }
}
