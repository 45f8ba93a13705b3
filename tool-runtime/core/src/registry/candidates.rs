use std::collections::HashSet;
use std::sync::Arc;

use super::tools::RegistrationOptions;
use super::{Entry, RegistryError, SkippedTool, Tools, naming};
use crate::guard::catch_panic;
use crate::tool::Tool;

/// The number of characters of a name that a report quotes.
const MAX_NAME_CHARS: usize = 128;

/// The tools of a list, checked as far as that is possible without the registry.
///
/// A tool is foreign code, so this happens outside of the lock.
pub(super) struct Candidates(Vec<Result<Arc<Entry>, SkippedTool>>);

/// Checks the tools of a list.
///
/// # Errors
/// The name of the provider is invalid.
pub(super) fn candidates(
    tools: Tools,
    provider: Option<&str>,
) -> Result<Candidates, RegistryError> {
    provider.map_or(Ok(()), naming::check_provider)?;
    let provider: Option<Arc<str>> = provider.map(Arc::from);
    let mut names = HashSet::new();
    let check = |(index, (tool, options)): (usize, (Arc<dyn Tool>, RegistrationOptions))| {
        let entry = Entry::new(Arc::clone(&tool), provider.clone(), options);
        let entry = entry.and_then(|entry| {
            if names.insert(entry.full_name().to_owned()) {
                Ok(Arc::new(entry))
            } else {
                Err(RegistryError::Duplicate { name: entry.full_name().to_owned() })
            }
        });
        entry.map_err(|error| SkippedTool { index, name: name_of(&tool), error })
    };
    Ok(Candidates(tools.into_registrations().enumerate().map(check).collect()))
}

impl Candidates {
    /// Returns the entries of all tools.
    ///
    /// # Errors
    /// A tool is invalid, or two have the same name.
    pub(super) fn into_all(self) -> Result<Vec<Arc<Entry>>, RegistryError> {
        self.0.into_iter().map(|candidate| candidate.map_err(|skipped| skipped.error)).collect()
    }

    /// Returns the entries of the valid tools with their indexes, and the invalid tools.
    pub(super) fn into_valid(self) -> (Vec<usize>, Vec<Arc<Entry>>, Vec<SkippedTool>) {
        let (mut indexes, mut entries, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for (index, candidate) in self.0.into_iter().enumerate() {
            match candidate {
                Ok(entry) => {
                    indexes.push(index);
                    entries.push(entry);
                }
                Err(tool) => skipped.push(tool),
            }
        }
        (indexes, entries, skipped)
    }
}

/// Returns the name of a tool that may be invalid, shortened; none if the tool panics.
fn name_of(tool: &Arc<dyn Tool>) -> Option<String> {
    catch_panic(|| tool.definition().name.chars().take(MAX_NAME_CHARS).collect()).ok()
}
