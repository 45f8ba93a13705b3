//! Finds tools of the program that an entry would take the name of.

use tool_runtime::Snapshot;
use tool_runtime::registry::Entry;

use super::shared::Shared;
use crate::catalog::{DYNAMIC, EntryId, EntryKind};

impl Shared {
    /// Whether an entry can't have its name, because it is reserved or taken.
    pub(super) fn is_taken(&self, tools: &Snapshot, id: &EntryId, is_applied: bool) -> bool {
        let has_tools = matches!(id.kind(), EntryKind::Tool | EntryKind::Connection);
        let is_reserved = has_tools && self.options.reserved.contains(id.name());
        is_reserved || is_taken(tools, id, is_applied)
    }
}

/// Whether a tool of the program, or another provider, has the name of an entry. `is_applied` tells
/// whether the registered tools of a connection's name are those of the entry.
fn is_taken(tools: &Snapshot, id: &EntryId, is_applied: bool) -> bool {
    let name = id.name();
    let is_conflicting = |entry: &Entry| match id.kind() {
        // A tool that is called by its full name only does not share its own name.
        EntryKind::Tool => {
            !is_dynamic(entry) && (entry.name() == name || entry.full_name() == name)
        }
        EntryKind::Connection => {
            entry.provider() == Some(name) && !(is_applied && entry.has_label(DYNAMIC))
        }
        _ => false,
    };
    tools.entries().chain(tools.disabled_entries()).any(is_conflicting)
}

/// Whether a registrar has registered a tool as a dynamic one.
fn is_dynamic(entry: &Entry) -> bool {
    entry.provider() == Some(DYNAMIC) && entry.has_label(DYNAMIC)
}
