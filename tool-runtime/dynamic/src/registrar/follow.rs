//! Follows the changes of a catalog by other processes, and those of the registry by the program.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tool_core::records::StoreError;

use super::backoff::Backoff;
use super::event::RegistrarEvent;
use super::shared::Shared;
use crate::catalog::{Catalog, CatalogContents, CatalogError};

/// Runs until the registrar is stopped, or nothing uses the registry any more.
pub(super) async fn follow(shared: Arc<Shared>, since: u64) {
    let registry_dropped = async {
        let Some(mut changes) = shared.registry.upgrade().map(|registry| registry.changes()) else {
            return;
        };
        while changes.changed().await.is_some() {
            shared.free_taken_names();
        }
    };
    tokio::select! {
        () = shared.stopped.cancelled() => {}
        () = registry_dropped => {}
        () = async { tokio::join!(delete_unused_parts(&shared), apply_changes(&shared, since)); } => {}
    }
    shared.stopped.cancel();
}

/// Deletes the records that unfinished changes of killed processes have left.
async fn delete_unused_parts(shared: &Shared) {
    if let Err(error) = shared.catalog.delete_unused_parts().await {
        shared.emit([RegistrarEvent::StoreFailed { reason: error.to_string() }]);
    }
}

async fn apply_changes(shared: &Arc<Shared>, mut since: u64) {
    let options = &shared.options;
    let delays = || Backoff::new(options.first_delay, options.longest_delay);
    let mut backoff = delays();
    loop {
        match read(shared, since).await {
            Ok(contents) => {
                backoff = delays();
                let revision = contents.revision;
                if shared.apply_contents(&contents) {
                    since = revision;
                }
            }
            Err(error) => {
                let reason = error.to_string();
                shared.emit([RegistrarEvent::StoreFailed { reason }]);
                sleep(backoff.next_delay()).await;
            }
        }
    }
}

/// Waits for a change and returns what the catalog contains then.
async fn read(shared: &Shared, since: u64) -> Result<CatalogContents, CatalogError> {
    shared.catalog.changed(since).await?;
    contents(&shared.catalog, shared.options.attempt_timeout).await
}

/// Reads a catalog within a time limit: a store may hang, such as one in another machine.
pub(super) async fn contents(
    catalog: &Catalog,
    limit: Duration,
) -> Result<CatalogContents, CatalogError> {
    let timed_out = |_| StoreError::unavailable(format!("it did not answer within {limit:?}"));
    timeout(limit, catalog.contents()).await.map_err(timed_out)?
}
