//! Finds entries whose names the program also gives to its tools or providers.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tool_core::Snapshot;
use tool_core::registry::Entry;

use super::registration::{belongs_to, unregister};
use super::shared::{Shared, Task};
use super::status::EntryState;
use crate::catalog::{EntryContent, EntryId, EntryKind};
use crate::spec::PROVIDER;

impl Shared {
    /// Whether an entry can't have its name, because it is reserved or taken.
    pub(super) fn is_taken(&self, tools: &Snapshot, id: &EntryId, is_applied: bool) -> bool {
        let has_tools = matches!(id.kind(), EntryKind::Tool | EntryKind::Connection);
        let is_reserved = has_tools && self.options.reserved.contains(id.name());
        is_reserved || is_taken(tools, id, is_applied)
    }

    /// Unregisters the dynamic tools whose names the program has given to its tools since, and
    /// restarts their tasks, which wait until the names are free.
    ///
    /// Otherwise, models would have to call the program's tools by their full names.
    pub(super) fn free_taken_names(self: &Arc<Self>) {
        let mut applied = self.lock();
        let Some(registry) = self.registry() else { return };
        let tools = registry.snapshot();
        let late: Vec<_> = tools.entries().filter(|tool| is_late(&tools, tool)).collect();
        for (id, entry) in &mut applied.entries {
            let EntryContent::Tool(spec) = &entry.content else { continue };
            if !late.iter().any(|tool| belongs_to(tool, id)) {
                continue;
            }
            // It was valid when it was applied.
            let Ok(spec) = spec.check() else { continue };
            unregister(&registry, id);
            entry.outdated.cancel();
            (entry.outdated, entry.ended) = (self.stopped.child_token(), CancellationToken::new());
            entry.state.send_replace(EntryState::Starting);
            let (shared, outdated) = (Arc::clone(self), entry.outdated.clone());
            let task = Task { shared, id: id.clone(), version: entry.version, outdated };
            tokio::spawn(self.tool_task(task, spec).run(entry.ended.clone().drop_guard()));
        }
    }
}

/// Whether a dynamic tool alone prevents another tool from being called by its own name.
fn is_late(tools: &Snapshot, tool: &Entry) -> bool {
    let is_shared = is_dynamic(tool) && tool.name() != tool.own_name();
    let is_other =
        |other: &&Entry| other.own_name() == tool.own_name() && !other.has_label(PROVIDER);
    is_shared && tools.entries().chain(tools.disabled_entries()).filter(is_other).count() == 1
}

/// Whether a tool of the program, or another provider, has the name of an entry. If `is_applied`,
/// the dynamic tools of the provider with the name of a connection are those of the entry.
fn is_taken(tools: &Snapshot, id: &EntryId, is_applied: bool) -> bool {
    let name = id.name();
    let is_conflicting = |entry: &Entry| match id.kind() {
        // A tool that is called by its full name only does not share its own name.
        EntryKind::Tool => {
            !is_dynamic(entry) && (entry.name() == name || entry.full_name() == name)
        }
        EntryKind::Connection => {
            entry.provider() == Some(name) && !(is_applied && entry.has_label(PROVIDER))
        }
        _ => false,
    };
    tools.entries().chain(tools.disabled_entries()).any(is_conflicting)
}

/// Whether a registrar has registered a tool as a dynamic one.
fn is_dynamic(entry: &Entry) -> bool {
    entry.provider() == Some(PROVIDER) && entry.has_label(PROVIDER)
}
