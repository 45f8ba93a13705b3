//! What models call a tool, as a pure function of which tools there are.
//!
//! A tool without a provider keeps its name. A provider's tool is called by its own name for as long
//! as no other tool has that name, and by its [full name](crate::tool::full_name) otherwise. One whose
//! own name reads like a full name is always called by its full one: so a provider can't take a name
//! that is another's.
//!
//! Bare names of providers' tools hold no joint and belong to one tool each; full names are made of
//! two parts in one way only. So the one clash left is that of a full name with a tool without a
//! provider that is named like it: such two exclude each other, whoever comes first. Then no two
//! tools are called the same, and taking one away never makes them so.

use super::RegistryError;
use crate::tool::full_name::{JOINT, full_name, parts};

/// The longest name of a provider: with a tool's name behind it, it has to fit a model's rules.
const LONGEST_PROVIDER: usize = 32;

/// The longest name of a tool, its provider's included.
const LONGEST: usize = 128;

/// Whether a tool is called by its own name alone, among so many of that name.
pub(super) fn is_bare(provider: Option<&str>, own: &str, namesakes: usize) -> bool {
    provider.is_none() || (namesakes == 1 && !own.contains(JOINT))
}

/// The provider (or none) and the own name of the one tool that can't be there beside this one.
pub(super) fn rival(provider: Option<&str>, own: &str) -> Option<(Option<String>, String)> {
    match provider {
        Some(provider) => Some((None, full_name(provider, own))),
        None => parts(own).map(|(provider, own)| (Some(provider.to_owned()), own.to_owned())),
    }
}

/// Whether a provider may be named so.
///
/// # Errors
/// It can't stand before the name of a tool.
pub(super) fn check_provider(provider: &str) -> Result<(), RegistryError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_named = (1..=LONGEST_PROVIDER).contains(&provider.len()) && provider.chars().all(fits);
    // Otherwise it could end in more than one place of a full name.
    if !is_named || provider.contains(JOINT) || provider.ends_with('_') {
        let name = provider.chars().take(LONGEST_PROVIDER).collect();
        return Err(RegistryError::Provider { name });
    }
    Ok(())
}

/// Whether a provider's tool can be called by its full name, should it have to be.
///
/// # Errors
/// It is too long.
pub(super) fn check_length(provider: &str, own: &str) -> Result<(), RegistryError> {
    if provider.len() + JOINT.len() + own.len() > LONGEST {
        return Err(RegistryError::TooLong { provider: provider.to_owned(), name: own.to_owned() });
    }
    Ok(())
}
