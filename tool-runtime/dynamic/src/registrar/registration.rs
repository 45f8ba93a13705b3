//! The tools of entries in the registry. Only these functions change them.

use std::sync::Arc;

use tool_core::registry::Entry;
use tool_core::{Registry, Tool, Tools};

use super::tasks::catalog_tool::CatalogTool;
use crate::catalog::{EntryId, EntryKind};
use crate::spec::PROVIDER;

/// Returns the names by which models call the tools of an entry.
pub(super) fn names(registry: &Registry, id: &EntryId) -> Vec<String> {
    let snapshot = registry.snapshot();
    let entries = snapshot.entries().filter(|entry| belongs_to(entry, id));
    entries.map(|entry| entry.name().to_owned()).collect()
}

/// Whether a tool was registered for an entry.
pub(super) fn belongs_to(tool: &Entry, id: &EntryId) -> bool {
    tool.has_label(PROVIDER)
        && match id.kind() {
            EntryKind::Tool => tool.provider() == Some(PROVIDER) && tool.own_name() == id.name(),
            EntryKind::Connection => tool.provider() == Some(id.name()),
            _ => false,
        }
}

/// Removes the tools of an entry from the registry.
pub(super) fn unregister(registry: &Registry, id: &EntryId) {
    let of_entry = id.clone();
    let view = registry.filter(move |tool| belongs_to(tool, &of_entry));
    drop(view.unregister_labeled(PROVIDER));
}

/// Registers a tool under the provider of dynamic tools, where it can't replace another tool.
pub(super) fn register_tool(registry: &Registry, tool: &Arc<CatalogTool>) -> Result<(), String> {
    let tools: Tools = [Arc::clone(tool) as _].into_iter().collect();
    let registered = registry.register_all_from(PROVIDER, labeled(tools));
    registered.map(drop).map_err(|error| error.to_string())
}

/// Replaces the tools of a connection. Returns why some were not registered.
pub(super) fn register_provider(
    registry: &Registry,
    name: &str,
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> Result<Vec<String>, String> {
    let tools: Tools = tools.into_iter().collect();
    let report = registry.replace_valid_from(name, labeled(tools).always_prefixed());
    let report = report.map_err(|error| error.to_string())?;
    Ok(report.skipped.into_iter().map(|tool| tool.error.to_string()).collect())
}

/// Adds the label of dynamic tools.
fn labeled(tools: Tools) -> Tools {
    tools.labeled([PROVIDER])
}
