//! The names by which models call tools, as a pure function of the registered tools.
//!
//! - A tool without a provider is called by its own name.
//! - The tool of a provider is called by its own name as long as no other tool has that name, and
//!   by its [full name](crate::tool::definition::full_name) otherwise.
//! - An always prefixed tool is called by its full name, and does not count for the names of
//!   others.
//! - If the own name of a provider's tool contains the separator, the tool is always called by its
//!   full name. So a provider can't claim the full name of another provider's tool.
//!
//! Invariant: no two tools are called by the same name, and removing a tool keeps it so. The only
//! possible conflict is between the full name of a provider's tool and the same own name of a tool
//! without a provider. Such two tools can't be registered together.

pub(crate) mod namesakes;
pub(crate) mod nearest;

use super::RegistryError;
use crate::tool::definition::full_name::{SEPARATOR, full_name, split_full_name};

/// The maximum length of a provider's name. Together with the name of a tool it must satisfy the
/// rules of model providers.
const MAX_PROVIDER_LENGTH: usize = 32;

/// The maximum length of a full name.
const MAX_LENGTH: usize = 128;

/// Whether a tool that is not always prefixed is called by its own name, if `namesakes` such tools
/// have that name.
pub(super) fn is_called_by_own_name(
    provider: Option<&str>,
    own_name: &str,
    namesakes: usize,
) -> bool {
    provider.is_none() || (namesakes == 1 && !own_name.contains(SEPARATOR))
}

/// Returns the provider and the own name of the only tool that can't be registered together with
/// this one.
pub(super) fn rival(provider: Option<&str>, own_name: &str) -> Option<(Option<String>, String)> {
    match provider {
        Some(provider) => Some((None, full_name(provider, own_name))),
        None => split_full_name(own_name)
            .map(|(provider, own_name)| (Some(provider.to_owned()), own_name.to_owned())),
    }
}

/// Checks the name of a provider.
///
/// # Errors
/// The name is too long, contains a character that is not allowed, or would make full names
/// ambiguous.
pub(super) fn check_provider(provider: &str) -> Result<(), RegistryError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_valid =
        (1..=MAX_PROVIDER_LENGTH).contains(&provider.len()) && provider.chars().all(is_allowed);
    // The separator must be unique within a full name.
    if !is_valid || provider.contains(SEPARATOR) || provider.ends_with('_') {
        let name = provider.chars().take(MAX_PROVIDER_LENGTH).collect();
        return Err(RegistryError::ProviderName { name });
    }
    Ok(())
}

/// Checks the length of a full name.
///
/// # Errors
/// The full name is too long.
pub(super) fn check_length(provider: &str, own_name: &str) -> Result<(), RegistryError> {
    let length = provider.len() + SEPARATOR.len() + own_name.len();
    if length > MAX_LENGTH {
        return Err(RegistryError::NameTooLong {
            provider: provider.to_owned(),
            name: own_name.to_owned(),
            length,
        });
    }
    Ok(())
}
