//! Foreign code that a registry runs can use the registry, and can panic.

use std::sync::atomic::AtomicU64;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use super::*;

/// Fails a test that hangs.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let running = thread::spawn(move || {
        test();
        let _ = sender.send(());
    });
    let ended = receiver.recv_timeout(Duration::from_secs(60));
    assert!(ended != Err(mpsc::RecvTimeoutError::Timeout), "it waits for itself");
    running.join().unwrap();
}

/// Performs every operation of a registry.
fn use_all(registry: &Registry) {
    registry.register_from("used", named("used", "Used.")).unwrap();
    registry.prefer("used__used", ToolPreference::default().weight(2.0)).unwrap();
    assert!(!registry.snapshot().all_definitions().is_empty());
    registry.restore(registry.unregister_provider("used")).unwrap();
    registry.unregister("used__used");
}

/// Set after the code that uses it was created.
type Late = Arc<OnceLock<Registry>>;

fn use_late(registry: &Late) {
    if let Some(registry) = registry.get() {
        use_all(registry);
    }
}

struct Store(Late, Arc<AtomicU64>);

impl DescriptionStore for Store {
    fn version(&self) -> u64 {
        use_late(&self.0);
        self.1.load(Ordering::SeqCst)
    }

    fn description(&self, name: &str) -> Option<Arc<str>> {
        use_late(&self.0);
        Some(format!("{name} in version {}.", self.version()).into())
    }
}

#[test]
fn description_store_can_use_the_registry() {
    ends(|| {
        let (late, version) = (Late::default(), Arc::new(AtomicU64::new(1)));
        let registry = Registry::new().descriptions(Store(Arc::clone(&late), Arc::clone(&version)));
        let _ = late.set(registry.clone());
        registry.register(named("find", "Finds.")).unwrap();
        for now in 1..4 {
            version.store(now, Ordering::SeqCst);
            let current = description(&registry, "find").unwrap();
            assert_eq!(current, format!("find in version {now}."));
        }
        use_all(&registry);
    });
}

#[test]
fn filter_can_use_the_registry() {
    ends(|| {
        let registry = Registry::new();
        registry.register_from("p", named("a", "A.")).unwrap();
        let used = registry.clone();
        let view = registry.filter(move |entry| {
            // The filter runs for its own tool too.
            if entry.own_name() != "used" {
                use_all(&used);
            }
            true
        });
        assert!(view.snapshot().get("a").is_some());
        assert!(view.prefer("a", ToolPreference::default().weight(3.0)).unwrap());
        assert_eq!(view.unregister_provider("p").len(), 1);
        registry.register(named("b", "B.")).unwrap();
        assert!(view.unregister("b").is_some());
    });
}

/// Uses the registry in each of its methods and when it is dropped.
struct Meddler(ToolDefinition, Late);

#[async_trait]
impl Tool for Meddler {
    fn definition(&self) -> &ToolDefinition {
        use_late(&self.1);
        &self.0
    }

    fn availability(&self) -> Availability {
        use_late(&self.1);
        Availability::Available
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("never called"))
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        use_late(&self.1);
    }
}

#[test]
fn tool_can_use_the_registry_while_it_is_added_and_dropped() {
    ends(|| {
        let (registry, late) = (Registry::new(), Late::default());
        let _ = late.set(registry.clone());
        let meddler = |name: &str, description: &str| -> Arc<dyn Tool> {
            let definition = ToolDefinition::new(name, description, json!({ "type": "object" }));
            Arc::new(Meddler(definition, Arc::clone(&late)))
        };
        // Replaced, removed, rejected as invalid and rejected because of a conflict.
        registry.register(meddler("a", "A.")).unwrap();
        drop(registry.register(meddler("a", "A's new.")).unwrap());
        assert_eq!(registry.snapshot().definitions().len(), 1);
        drop(registry.unregister("a"));
        registry.register_from("p", meddler("b", "B.")).unwrap();
        assert!(registry.register_from("p", meddler("c", " ")).is_err());
        assert!(registry.register(meddler("p__b", "Ours.")).is_err());
        drop(registry.unregister_provider("p"));
        // The snapshot holds the last reference.
        registry.register(meddler("d", "D.")).unwrap();
        let last = registry.snapshot();
        registry.register(named("d", "D's new.")).unwrap();
        drop(last);
        use_all(&registry);
    });
}

/// Panics in `definition`.
struct Broken;

#[async_trait]
impl Tool for Broken {
    fn definition(&self) -> &ToolDefinition {
        panic!("the server is {}", "gone")
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("never called"))
    }
}

#[tokio::test]
async fn tool_with_panicking_definition_is_rejected() {
    let registry = Registry::try_from(tools![always]).unwrap();
    let error = registry.register(Arc::new(Broken)).unwrap_err().to_string();
    let text = "definition of a tool panicked: the server is gone";
    assert_eq!(error, text);
    let error = registry.register_from("maps", Arc::new(Broken)).unwrap_err().to_string();
    assert_eq!(error, text.replace("a tool", "a tool of provider `maps`"));

    let tools = tools![sunbathe].with(Broken);
    assert!(format!("{tools:?}").contains("sunbathe"));
    assert!(registry.register_all(tools.clone()).is_err());
    assert_eq!(names(&registry), ["always"]);
    registry.register(named("a", "A.")).unwrap();

    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Done.")]), tools);
    let stopped = agent.run("Go").await.unwrap_err();
    assert!(stopped.to_string().contains(text), "{stopped}");
}

/// Panics once it is switched to panicking.
struct Fragile(Arc<AtomicBool>);

impl DescriptionStore for Fragile {
    fn version(&self) -> u64 {
        assert!(!self.0.load(Ordering::SeqCst), "no version");
        1
    }

    fn description(&self, _: &str) -> Option<Arc<str>> {
        assert!(!self.0.load(Ordering::SeqCst), "no description");
        Some("By the store.".into())
    }
}

#[test]
fn panicking_description_store_keeps_old_descriptions() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let registry = Registry::new().descriptions(Fragile(Arc::clone(&is_broken)));
    registry.register(named("a", "A.")).unwrap();
    is_broken.store(true, Ordering::SeqCst);
    registry.register(named("b", "B.")).unwrap();
    // The old description stays.
    assert_eq!(description(&registry, "a").unwrap(), "By the store.");
    assert_eq!(description(&registry, "b").unwrap(), "B.");
    // The store no longer panics.
    is_broken.store(false, Ordering::SeqCst);
    assert_eq!(description(&registry, "b").unwrap(), "By the store.");
}

#[tokio::test]
async fn tool_for_which_a_filter_panics_is_not_in_the_view() {
    support::panics::silence_panics_on_purpose();
    let registry = Registry::try_from(tools![always]).unwrap();
    registry.register_from("p", named("a", "A.")).unwrap();
    let view = registry.filter(|entry| {
        assert_ne!(entry.own_name(), "a", "on purpose");
        true
    });
    assert_eq!(names(&view), ["always"]);
    assert!(view.snapshot().get("a").is_none() && view.unregister("a").is_none());
    assert!(view.unregister_provider("p").is_empty());
    assert!(!view.prefer("a", ToolPreference::default().disabled()).unwrap());
    // The panic does not end the run.
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("a", "{}")).expect_tools(["always"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("There is no tool named `a`."),
    ]);
    assert_eq!(Agent::new(model, view).run("Go").await.unwrap().text, "Done.");
}

#[test]
fn chain_of_many_views_can_be_dropped() {
    let registry = Registry::new();
    registry.register_all(["a", "b"].map(|name| named(name, "It.")).into_iter().collect()).unwrap();
    let mut view = registry.clone();
    for n in 0..300_000 {
        view = view.without([if n == 7 { "a" } else { "c" }]);
    }
    assert_eq!(names(&view), ["b"]);
    drop(view);
    assert_eq!(names(&registry), ["a", "b"]);
}
