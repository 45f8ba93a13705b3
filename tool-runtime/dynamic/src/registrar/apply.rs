//! Applies entries to the registry.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool_core::Registry;

use super::event::RegistrarEvent;
use super::registration::{register_tool, unregister};
use super::shared::{Applied, AppliedEntry, Shared, Task};
use super::status::EntryState;
use super::tasks::catalog_tool::CatalogTool;
use super::tasks::connection_task::ConnectionTask;
use super::tasks::tool_task::ToolTask;
use crate::catalog::{CatalogContents, CatalogEntry, EntryContent, EntryId, EntryKind, validation};
use crate::spec::CheckedSpec;

/// The reason why a tool can't be called before the first attempt has ended.
const STARTING: &str = "it is being started";

impl Shared {
    /// Applies an entry that was stored by this process. Returns its state, or `None` if it was
    /// removed in the meantime.
    pub(super) fn apply(
        self: &Arc<Self>,
        entry: &CatalogEntry,
    ) -> Option<watch::Receiver<EntryState>> {
        let mut events = Vec::new();
        let state = {
            let mut applied = self.lock();
            let registry = self.registry()?;
            applied.known = applied.known.max(entry.revision());
            if entry.revision() > applied.synced || applied.entries.contains_key(entry.id()) {
                self.apply_entry(&mut applied, &registry, entry, &mut events);
            }
            applied.entries.get(entry.id()).map(|applied| applied.state.subscribe())
        };
        self.emit(events);
        state
    }

    /// Removes the tools of an entry that this process removed from the catalog.
    pub(super) fn apply_removal(&self, id: &EntryId, revision: u64) {
        let removed = {
            let mut applied = self.lock();
            applied.known = applied.known.max(revision);
            let Some(registry) = self.registry() else { return };
            let is_later = |entry: &AppliedEntry| entry.revision > revision;
            if applied.entries.get(id).is_some_and(is_later) {
                return;
            }
            self.remove_entry(&mut applied, &registry, id)
        };
        self.emit(removed);
    }

    /// Applies everything that the catalog contains. Returns `false` if it is outdated.
    pub(super) fn apply_contents(self: &Arc<Self>, contents: &CatalogContents) -> bool {
        let mut events = Vec::new();
        {
            let mut applied = self.lock();
            let Some(registry) = self.registry() else { return true };
            if contents.revision < applied.known {
                return false;
            }
            // A damaged record can have the revision of a list that was applied before.
            let corrupt = contents.corrupt.iter().filter(|it| !applied.corrupt.contains(it));
            events.extend(corrupt.cloned().map(RegistrarEvent::RecordCorrupt));
            applied.corrupt.clone_from(&contents.corrupt);
            (applied.known, applied.synced) = (contents.revision, contents.revision);
            let is_stored = |id: &EntryId| {
                let key = id.key();
                let is_corrupt = contents.corrupt.iter().any(|record| record.key == key);
                is_corrupt || contents.entries.iter().any(|entry| entry.id() == id)
            };
            let removed: Vec<_> =
                applied.entries.keys().filter(|id| !is_stored(id)).cloned().collect();
            for id in removed {
                events.extend(self.remove_entry(&mut applied, &registry, &id));
            }
            for entry in &contents.entries {
                self.apply_entry(&mut applied, &registry, entry, &mut events);
            }
        }
        self.emit(events);
        true
    }

    fn remove_entry(
        &self,
        applied: &mut Applied,
        registry: &Registry,
        id: &EntryId,
    ) -> Option<RegistrarEvent> {
        let entry = applied.entries.remove(id)?;
        entry.outdated.cancel();
        match id.kind() {
            EntryKind::Tool | EntryKind::Connection => unregister(registry, id),
            EntryKind::Preference | EntryKind::Description => self.remove_override(id),
        }
        registry.notify_availability();
        Some(RegistrarEvent::Removed { id: id.clone() })
    }

    fn apply_entry(
        self: &Arc<Self>,
        applied: &mut Applied,
        registry: &Registry,
        entry: &CatalogEntry,
        events: &mut Vec<RegistrarEvent>,
    ) {
        let current = entry.current();
        let previous = applied.entries.get_mut(entry.id());
        let is_applied = previous.is_some();
        let previous_ended = match previous {
            Some(previous) if entry.revision() <= previous.revision => return,
            Some(previous)
                if previous.version == current.number && previous.content == current.content =>
            {
                // The definitions of a connection were stored.
                previous.revision = entry.revision();
                return;
            }
            Some(previous) => {
                previous.outdated.cancel();
                Some(previous.ended.clone())
            }
            None => None,
        };
        let task = Task {
            shared: Arc::clone(self),
            id: entry.id().clone(),
            version: current.number,
            outdated: self.stopped.child_token(),
        };
        let ended = CancellationToken::new();
        let started = self.start(registry, entry, &task, is_applied, &ended, previous_ended);
        let state = match started {
            Ok(state) => state,
            Err(reason) => EntryState::Unavailable { reason },
        };
        let (id, version) = (task.id.clone(), task.version);
        match &state {
            EntryState::Starting => {}
            EntryState::Active => events.push(RegistrarEvent::Activated { id, version }),
            EntryState::Unavailable { reason } => {
                let reason = reason.clone();
                events.push(RegistrarEvent::Unavailable { id, version, reason, retry_in: None });
            }
        }
        let entry = AppliedEntry {
            revision: entry.revision(),
            version: current.number,
            content: current.content.clone(),
            state: watch::Sender::new(state),
            connection: None,
            outdated: task.outdated,
            ended,
        };
        applied.entries.insert(task.id, entry);
    }

    /// Starts the task of an entry, or puts the entry into effect at once.
    ///
    /// # Errors
    /// Returns why the entry can't take effect until it changes.
    fn start(
        self: &Arc<Self>,
        registry: &Registry,
        entry: &CatalogEntry,
        task: &Task,
        is_applied: bool,
        ended: &CancellationToken,
        previous_ended: Option<CancellationToken>,
    ) -> Result<EntryState, String> {
        match &entry.current().content {
            EntryContent::Tool(spec) => {
                let checked = match spec.check() {
                    Ok(checked) => checked,
                    Err(errors) => {
                        // The previous version is no longer that of the catalog.
                        unregister(registry, entry.id());
                        return Err(errors.to_string());
                    }
                };
                let task = self.tool_task(task.clone(), checked);
                // The previous version can be called until this one was built.
                if !is_applied && !self.is_taken(&registry.snapshot(), entry.id(), false) {
                    register_tool(registry, &task.tool)?;
                }
                tokio::spawn(task.run(ended.clone().drop_guard()));
                Ok(EntryState::Starting)
            }
            EntryContent::Connection(connection) => {
                if is_applied {
                    unregister(registry, entry.id());
                }
                let (task, connection) = (task.clone(), connection.clone());
                let mut task = ConnectionTask::new(task, connection, entry, STARTING);
                task.register_placeholders(registry);
                tokio::spawn(task.run(previous_ended, ended.clone().drop_guard()));
                Ok(EntryState::Starting)
            }
            content @ (EntryContent::Preference(_) | EntryContent::Description(_)) => {
                // The previous version is no longer that of the catalog.
                self.remove_override(entry.id());
                // A record may have been edited since it was stored.
                let checked = validation::check(entry.id(), content);
                if checked.is_ok() {
                    self.set_override(entry.id(), content);
                }
                registry.notify_availability();
                checked.map(|()| EntryState::Active).map_err(|error| error.to_string())
            }
        }
    }

    fn set_override(&self, id: &EntryId, content: &EntryContent) {
        match content {
            EntryContent::Preference(preference) => {
                self.overrides.set_preference(id.name(), preference.clone());
            }
            EntryContent::Description(text) => drop(self.overrides.set(id.name(), text.as_str())),
            EntryContent::Tool(_) | EntryContent::Connection(_) => {}
        }
    }

    fn remove_override(&self, id: &EntryId) {
        match id.kind() {
            EntryKind::Preference => drop(self.overrides.remove_preference(id.name())),
            EntryKind::Description => drop(self.overrides.remove(id.name())),
            EntryKind::Tool | EntryKind::Connection => {}
        }
    }

    /// Creates the task of a tool that is unavailable until it was built.
    pub(super) fn tool_task(&self, task: Task, spec: CheckedSpec) -> ToolTask {
        let tool = CatalogTool::new(spec.definition().clone(), STARTING);
        let tool = Arc::new(tool.offered(self.options.offers_unavailable));
        ToolTask { task, spec, tool }
    }
}
