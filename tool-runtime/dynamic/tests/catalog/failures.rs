//! Failures are reported and tried again, and tools that can't be built keep their definitions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tool_dynamic::{
    BodyLanguage, Catalog, CatalogError, CheckedSpec, Connection, EntryId, EntryState,
    RegistrarError, RegistrarEvent, Secret, SecretError, SecretStore, ToolBackend,
};
use tool_runtime::records::{MemoryRecords, StoreError};
use tool_runtime::{Availability, Registry, Tool, ToolError, ToolErrorKind, async_trait};

use super::fixture::{Templates, builder, call, memory, names, output, spec, wait_until};
use super::intercepted::Intercepted;

#[tokio::test]
async fn tool_that_cannot_be_built_keeps_its_definition_and_answers_with_the_reason() {
    let catalog = memory();
    catalog.create("bad", spec("bad", "invalid")).await.unwrap();
    catalog.create("good", spec("good", "one")).await.unwrap();
    let registry = Registry::new();
    let (builder, events) = builder(catalog);
    let backend = Templates::default();
    let registrar = builder.backend(backend.clone()).start(&registry).await.unwrap();
    registrar.wait_until_settled(Duration::from_secs(60)).await;

    // One failure affects no other entry.
    assert_eq!(output(&registry, "good").await, "one");
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.all_definitions().len(), 2);
    let offered: Vec<_> = snapshot.definitions().iter().map(|it| it.name.clone()).collect();
    assert_eq!(offered, ["good"]);
    let refused = call(&registry, "bad").await.result;
    assert_eq!(refused.error.as_deref(), Some(ToolErrorKind::Unavailable.code()), "{refused:?}");
    assert!(refused.text.contains("line 1: unknown name `x`"), "{}", refused.text);
    // A body that is wrong stays wrong.
    let failed = RegistrarEvent::Unavailable {
        id: EntryId::tool("bad"),
        version: 1,
        reason: "line 1: unknown name `x`".into(),
        retry_in: None,
    };
    assert!(events.all().contains(&failed), "{}", events.text());
    assert_eq!(backend.builds("invalid"), 1);
}

#[tokio::test]
async fn unavailable_tool_is_offered_if_the_program_asks_for_it() {
    let catalog = memory();
    catalog.create("bad", spec("bad", "invalid")).await.unwrap();
    let registry = Registry::new();
    let builder = builder(catalog).0.backend(Templates::default()).offer_unavailable();
    let registrar = builder.start(&registry).await.unwrap();
    registrar.wait_until_settled(Duration::from_secs(60)).await;
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.definitions().len(), 1);
    let refused = call(&registry, "bad").await.result;
    assert_eq!(refused.error.as_deref(), Some(ToolErrorKind::Unavailable.code()), "{refused:?}");
    // Its next version is offered as well while it is unavailable.
    registrar.replace("bad", spec("bad", "one")).await.unwrap();
    assert_eq!(output(&registry, "bad").await, "one");
}

#[tokio::test]
async fn transient_failure_is_tried_again_and_each_attempt_is_reported() {
    let registry = Registry::new();
    let (builder, events) = builder(memory());
    let backend = Templates::default();
    let registrar = builder.backend(backend.clone()).start(&registry).await.unwrap();
    // The caller receives the result of the first attempt.
    let status = registrar.create("flaky", spec("flaky", "flaky")).await.unwrap();
    let reason = "the disk is full".to_owned();
    assert_eq!(status.state, EntryState::Unavailable { reason });
    wait_until("the third attempt", || registrar.statuses()[0].state.is_active()).await;
    assert_eq!(output(&registry, "flaky").await, "flaky");
    assert_eq!(backend.builds("flaky"), 3);
    let delays: Vec<_> = events
        .all()
        .into_iter()
        .filter_map(|event| match event {
            RegistrarEvent::Unavailable { retry_in, .. } => retry_in,
            _ => None,
        })
        .collect();
    assert_eq!(delays, [Duration::from_millis(1), Duration::from_millis(2)]);
}

#[tokio::test]
async fn missing_toolchain_makes_tools_unavailable_until_it_is_there() {
    let registry = Registry::new();
    let backend = Templates::default();
    *backend.unavailable.lock().unwrap() = Some("cargo was not found".into());
    let (builder, _) = builder(memory());
    let registrar = builder.backend(backend.clone()).start(&registry).await.unwrap();
    registrar.create("hello", spec("hello", "one")).await.unwrap();
    let refused = call(&registry, "hello").await.result;
    assert_eq!(refused.error.as_deref(), Some(ToolErrorKind::Unavailable.code()), "{refused:?}");
    assert!(refused.text.contains("cargo was not found"), "{}", refused.text);
    assert_eq!(backend.builds("one"), 0);
    *backend.unavailable.lock().unwrap() = None;
    wait_until("the build", || registrar.statuses()[0].state.is_active()).await;
    assert_eq!(output(&registry, "hello").await, "one");
}

/// A backend whose availability is known when another task of the program has run.
struct Waiting(Mutex<mpsc::Receiver<()>>);

#[async_trait]
impl ToolBackend for Waiting {
    fn language(&self) -> BodyLanguage {
        BodyLanguage::JavaScript
    }

    fn availability(&self) -> Availability {
        match self.0.lock().unwrap().recv_timeout(Duration::from_secs(10)) {
            Ok(()) => Availability::Available,
            Err(_) => Availability::Unavailable("the other task did not run".into()),
        }
    }

    async fn build(&self, spec: &CheckedSpec) -> Result<Arc<dyn Tool>, ToolError> {
        Templates::default().build(spec).await
    }
}

#[tokio::test]
async fn backend_that_blocks_does_not_block_the_program() {
    let (answer, answered) = mpsc::channel();
    let (registry, catalog) = (Registry::new(), memory());
    let builder = builder(catalog).0.backend(Waiting(Mutex::new(answered)));
    let registrar = builder.start(&registry).await.unwrap();
    // On the one thread of this runtime.
    let other = tokio::spawn(async move {
        tokio::task::yield_now().await;
        answer.send(()).unwrap();
    });
    let status = registrar.create("n", spec("n", "1")).await.unwrap();
    assert_eq!(status.state, EntryState::Active);
    other.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn attempt_ends_at_its_deadline_and_a_panic_is_a_failure() {
    let registry = Registry::new();
    let (builder, events) = builder(memory());
    let backend = Templates::default();
    let builder = builder.backend(backend.clone()).attempt_timeout(Duration::from_secs(5));
    let registrar = builder.start(&registry).await.unwrap();
    for (name, expected) in [("hang", "timed out after 5s"), ("panic", "a bug of the backend")] {
        let status = registrar.create(name, spec(name, name)).await.unwrap();
        assert!(status.state.to_string().contains(expected), "{}", status.state);
        assert!(events.text().contains(expected), "{}", events.text());
        registrar.remove(&EntryId::tool(name)).await.unwrap();
    }
    assert!(names(&registry).is_empty());
    // A removed entry is not built again.
    let builds = backend.builds("hang");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(backend.builds("hang"), builds);
}

/// A secret store with a bug.
#[derive(Debug)]
struct Panics;

#[async_trait]
impl SecretStore for Panics {
    async fn load(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        panic!("`{name}` is s3cret-token")
    }

    async fn save(&self, _: &str, _: &Secret) -> Result<(), SecretError> {
        Ok(())
    }

    async fn remove(&self, _: &str) -> Result<(), SecretError> {
        Ok(())
    }
}

#[tokio::test]
async fn panic_of_a_secret_store_is_a_failure_of_its_connection() {
    let registry = Registry::new();
    let (builder, events) = builder(memory());
    let registrar = builder.secrets(Panics).start(&registry).await.unwrap();
    let connection = Connection::stdio("sh").env("TOKEN", "token");
    let created = registrar.create("sh", connection);
    let status = tokio::time::timeout(Duration::from_secs(60), created).await.unwrap().unwrap();
    assert!(status.state.to_string().contains("panicked"), "{}", status.state);
    assert!(!events.text().contains("s3cret-token"), "{}", events.text());
    registrar.stop().await;
}

#[tokio::test]
async fn failed_version_replaces_the_previous_one_until_it_is_rolled_back() {
    let registry = Registry::new();
    let (builder, _) = builder(memory());
    let registrar = builder.backend(Templates::default()).start(&registry).await.unwrap();
    registrar.create("hello", spec("hello", "one")).await.unwrap();
    let status = registrar.replace("hello", spec("hello", "invalid")).await.unwrap();
    assert!(!status.state.is_active());
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.entry("hello").unwrap().definition().description, "Returns invalid.");
    assert!(!snapshot.entry("hello").unwrap().availability().is_available());
    registrar.roll_back(&EntryId::tool("hello"), 1).await.unwrap();
    assert_eq!(output(&registry, "hello").await, "one");
}

#[tokio::test]
async fn nothing_is_registered_that_is_not_stored() {
    let (store, fails) = (MemoryRecords::new(), Arc::new(AtomicBool::new(false)));
    let catalog = Catalog::new(Intercepted::new(store.clone(), {
        let fails = Arc::clone(&fails);
        move |_, _| {
            let fails = fails.load(Ordering::Relaxed);
            let answer =
                if fails { Err(StoreError::unavailable("the disk is full")) } else { Ok(()) };
            async { answer }
        }
    }));
    let registry = Registry::new();
    let (first, events) = builder(catalog.clone());
    let registrar = first.backend(Templates::default()).start(&registry).await.unwrap();
    registrar.create("kept", spec("kept", "one")).await.unwrap();

    fails.store(true, Ordering::Relaxed);
    let unavailable = |error: RegistrarError| {
        let RegistrarError::Catalog(CatalogError::Store(StoreError::Unavailable(_))) = error else {
            panic!("{error}");
        };
    };
    unavailable(registrar.create("new", spec("new", "one")).await.unwrap_err());
    unavailable(registrar.replace("kept", spec("kept", "two")).await.unwrap_err());
    unavailable(registrar.roll_back(&EntryId::tool("kept"), 1).await.unwrap_err());
    unavailable(registrar.remove(&EntryId::tool("kept")).await.unwrap_err());
    assert_eq!(names(&registry), ["kept"]);
    assert_eq!(output(&registry, "kept").await, "one");
    let (second, _) = builder(catalog);
    unavailable(second.start(&Registry::new()).await.unwrap_err());

    // The registrar goes on when the store is back.
    fails.store(false, Ordering::Relaxed);
    Catalog::new(store).create("later", spec("later", "one")).await.unwrap();
    wait_until("the later tool", || names(&registry) == ["kept", "later"]).await;
    // A failure to follow the catalog may have been reported, and no failure of an entry.
    assert!(!events.text().contains("Unavailable { id"), "{}", events.text());
}
