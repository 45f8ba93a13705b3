//! The schemas of the tools whose calls may still run.
//!
//! Tools are looked up in the snapshots of the registry that still exist. Nothing is copied, so a
//! call after a change of the registry costs the same among any number of tools, and the schemas of
//! unregistered tools are dropped once their calls have ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, Weak};

use crate::schema::{NamedSchemas, Schema};

/// The snapshots whose tools are known, oldest first.
#[derive(Default)]
pub(super) struct LiveSchemas {
    snapshots: RwLock<Vec<Weak<dyn NamedSchemas>>>,
    /// Whether any tool had secret arguments.
    have_secrets: AtomicBool,
}

impl LiveSchemas {
    /// Whether any tool had secret arguments, whether it is still registered or not.
    pub(super) fn have_secrets(&self) -> bool {
        self.have_secrets.load(Ordering::Relaxed)
    }

    /// Adds a snapshot, and removes those that no longer exist.
    pub(super) fn add(&self, snapshot: Weak<dyn NamedSchemas>) {
        let is_last =
            |known: &Vec<_>| known.last().is_some_and(|last: &Weak<_>| last.ptr_eq(&snapshot));
        if is_last(&self.snapshots.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        self.have_secrets.store(true, Ordering::Relaxed);
        let mut snapshots = self.snapshots.write().unwrap_or_else(PoisonError::into_inner);
        snapshots.retain(|known| known.strong_count() > 0 && !known.ptr_eq(&snapshot));
        snapshots.push(snapshot);
    }

    /// Returns the schema of a tool if the tool has secret arguments; `None` if no tool has the
    /// name. If tools of several snapshots have the name, one with secret arguments counts.
    pub(super) fn schema(&self, tool: &str) -> Option<Option<Schema>> {
        let snapshots = self.snapshots.read().unwrap_or_else(PoisonError::into_inner);
        let mut is_known = false;
        for snapshot in snapshots.iter().rev().filter_map(Weak::upgrade) {
            let Some(schema) = snapshot.schema_of(tool) else { continue };
            if schema.has_secrets() {
                return Some(Some(schema.clone()));
            }
            is_known = true;
        }
        is_known.then_some(None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    struct Named(&'static str, Schema);

    impl NamedSchemas for Named {
        fn schema_of(&self, tool: &str) -> Option<&Schema> {
            (tool == self.0).then_some(&self.1)
        }
    }

    fn named(name: &'static str) -> Arc<dyn NamedSchemas> {
        Arc::new(Named(name, Schema::from(json!({ "type": "object" }))))
    }

    fn add(schemas: &LiveSchemas, snapshot: &Arc<dyn NamedSchemas>) {
        schemas.add(Arc::downgrade(snapshot));
    }

    #[test]
    fn tools_are_forgotten_with_their_snapshot() {
        let schemas = LiveSchemas::default();
        assert!(!schemas.have_secrets());
        let running = named("running");
        add(&schemas, &running);
        for _ in 0..1_000 {
            let current = named("current");
            add(&schemas, &current);
            add(&schemas, &current);
            for name in ["running", "current"] {
                assert!(schemas.schema(name).is_some(), "{name}");
            }
            // One is in use, one is current, and the next addition removes the one before it.
            assert!(schemas.snapshots.read().unwrap().len() <= 2);
        }
        assert!(schemas.schema("current").is_none());
        drop(running);
        assert!(schemas.schema("running").is_none());
        assert!(schemas.have_secrets());
    }
}
