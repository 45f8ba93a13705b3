//! A store that does not answer delays neither the start nor the end.

use std::fs;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use tool_dynamic::catalog::{CatalogRecord, CatalogRecords, CatalogStore, MemoryCatalog};
use tool_dynamic::{Catalog, CatalogError, FileSecrets, RegistrarEvent, Secret, SecretStore};
use tool_runtime::{Registry, async_trait};

use super::connections::shell;
use super::fixture::{Folder, Templates, builder, names, spec, wait_until};

/// The number of operations that a store answers before it hangs.
#[derive(Clone, Debug)]
struct Hanging {
    store: MemoryCatalog,
    lists: Arc<AtomicI32>,
    saves: Arc<AtomicI32>,
}

impl Hanging {
    fn new(lists: i32, saves: i32) -> Self {
        let count = |number: i32| Arc::new(AtomicI32::new(number));
        Self { store: MemoryCatalog::new(), lists: count(lists), saves: count(saves) }
    }
}

async fn answer(left: &AtomicI32) {
    if left.fetch_sub(1, Ordering::Relaxed) <= 0 {
        pending::<()>().await;
    }
}

#[async_trait]
impl CatalogStore for Hanging {
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError> {
        self.store.load(kind, name).await
    }

    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError> {
        answer(&self.saves).await;
        self.store.save(record).await
    }

    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError> {
        self.store.delete(kind, name, revision).await
    }

    async fn list(&self) -> Result<CatalogRecords, CatalogError> {
        answer(&self.lists).await;
        self.store.list().await
    }

    async fn revision(&self) -> Result<u64, CatalogError> {
        self.store.revision().await
    }

    async fn changed(&self, since: u64) -> Result<u64, CatalogError> {
        self.store.changed(since).await
    }
}

const LIMIT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn start_ends_at_its_deadline() {
    let registry = Registry::new();
    let builder = builder(Catalog::new(Hanging::new(0, 0))).0.attempt_timeout(LIMIT);
    let started = timeout(Duration::from_secs(60), builder.start(&registry)).await.unwrap();
    let error = started.unwrap_err().to_string();
    assert_eq!(error, "catalog store unavailable: it did not answer within 50ms");
}

#[tokio::test]
async fn changes_are_followed_again_when_the_store_answers() {
    let registry = Registry::new();
    let store = Hanging::new(1, 0);
    let (builder, events) = builder(Catalog::new(store.clone()));
    let builder = builder.backend(Templates::default()).attempt_timeout(LIMIT);
    let registrar = builder.start(&registry).await.unwrap();
    Catalog::new(store.store.clone()).create("hello", spec("hello", "one")).await.unwrap();
    let has_failed = |event: &RegistrarEvent| matches!(event, RegistrarEvent::StoreFailed { .. });
    wait_until("the failure", || events.all().iter().any(has_failed)).await;
    assert!(names(&registry).is_empty());
    store.lists.store(1_000, Ordering::Relaxed);
    wait_until("the tool", || names(&registry) == ["hello"]).await;
    registrar.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connection_ends_while_the_store_hangs() {
    let folder = Folder::new();
    let list = folder.path().join("list");
    fs::write(&list, "find").unwrap();
    let secrets = FileSecrets::new(folder.path().join("secrets.json"));
    secrets.save("token", &Secret::new("xyz")).await.unwrap();
    let registry = Registry::new();
    // The entry and its pins are stored, and the definitions are not.
    let store = Hanging::new(1_000, 2);
    let builder = builder(Catalog::new(store.clone())).0.secrets(secrets);
    let registrar = builder.start(&registry).await.unwrap();
    let status = registrar.create("sh", shell(&list)).await.unwrap();
    assert!(status.state.is_active(), "{status:?}");
    wait_until("the third write", || store.saves.load(Ordering::Relaxed) < 0).await;
    timeout(Duration::from_secs(60), registrar.stop()).await.unwrap();
    assert!(names(&registry).is_empty());
}
