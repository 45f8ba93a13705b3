//! A store that does not answer delays neither the start nor the end.

use std::fs;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use tool_dynamic::{Catalog, FileSecrets, RegistrarEvent, Secret, SecretStore};
use tool_runtime::Registry;
use tool_runtime::records::MemoryRecords;

use super::connections::shell;
use super::fixture::{Folder, Templates, builder, names, spec, wait_until};
use super::intercepted::{Intercepted, Operation};

/// The number of operations on the entries and pins that a store answers before it hangs.
#[derive(Clone, Debug)]
struct Hanging {
    store: MemoryRecords,
    lists: Arc<AtomicI32>,
    saves: Arc<AtomicI32>,
}

impl Hanging {
    fn new(lists: i32, saves: i32) -> Self {
        let count = |number: i32| Arc::new(AtomicI32::new(number));
        Self { store: MemoryRecords::new(), lists: count(lists), saves: count(saves) }
    }

    fn catalog(&self) -> Catalog {
        let hanging = self.clone();
        Catalog::new(Intercepted::new(self.store.clone(), move |operation, collection| {
            let left = match operation {
                Operation::List => Some(&hanging.lists),
                Operation::Save => Some(&hanging.saves),
                Operation::Load | Operation::Delete => None,
            };
            let left = left.filter(|_| !collection.ends_with("_parts"));
            let hangs = left.is_some_and(|left| left.fetch_sub(1, Ordering::Relaxed) <= 0);
            async move { if hangs { pending().await } else { Ok(()) } }
        }))
    }
}

const LIMIT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn start_ends_at_its_deadline() {
    let registry = Registry::new();
    let builder = builder(Hanging::new(0, 0).catalog()).0.attempt_timeout(LIMIT);
    let started = timeout(Duration::from_secs(60), builder.start(&registry)).await.unwrap();
    let error = started.unwrap_err().to_string();
    assert_eq!(error, "catalog: store unavailable: it did not answer within 50ms");
}

#[tokio::test]
async fn changes_are_followed_again_when_the_store_answers() {
    let registry = Registry::new();
    let store = Hanging::new(1, 0);
    let (builder, events) = builder(store.catalog());
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
    let builder = builder(store.catalog()).0.secrets(secrets);
    let registrar = builder.start(&registry).await.unwrap();
    let status = registrar.create("sh", shell(&list)).await.unwrap();
    assert!(status.state.is_active(), "{status:?}");
    wait_until("the third write", || store.saves.load(Ordering::Relaxed) < 0).await;
    timeout(Duration::from_secs(60), registrar.stop()).await.unwrap();
    assert!(names(&registry).is_empty());
}
