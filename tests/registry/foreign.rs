//! Foreign code that a registry runs: it may use the registry, and it may panic.

use std::sync::atomic::AtomicU64;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use super::*;

/// A test that hangs fails.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (tell, told) = mpsc::channel();
    let running = thread::spawn(move || {
        test();
        let _ = tell.send(());
    });
    let waited = told.recv_timeout(Duration::from_secs(60));
    assert!(waited != Err(mpsc::RecvTimeoutError::Timeout), "it waits for itself");
    running.join().unwrap();
}

/// Everything that can be done to a registry.
fn use_all(registry: &Registry) {
    registry.register_from("used", named("used", "Used.")).unwrap();
    registry.prefer("used__used", ToolPreference::default().weight(2.0)).unwrap();
    assert!(!registry.snapshot().all_definitions().is_empty());
    registry.restore(registry.withdraw("used")).unwrap();
    registry.unregister("used__used");
}

/// Known only after what uses it was made.
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
fn a_store_may_use_the_registry() {
    ends(|| {
        let (late, version) = (Late::default(), Arc::new(AtomicU64::new(1)));
        let registry = Registry::new().descriptions(Store(Arc::clone(&late), Arc::clone(&version)));
        let _ = late.set(registry.clone());
        registry.register(named("find", "Finds.")).unwrap();
        for now in 1..4 {
            version.store(now, Ordering::SeqCst);
            let told = description(&registry, "find").unwrap();
            assert_eq!(told, format!("find in version {now}."));
        }
        use_all(&registry);
    });
}

#[test]
fn a_filter_may_use_the_registry() {
    ends(|| {
        let registry = Registry::new();
        registry.register_from("p", named("a", "A.")).unwrap();
        let used = registry.clone();
        let view = registry.filter(move |entry| {
            // Asked of its own tool as well.
            if entry.own_name() != "used" {
                use_all(&used);
            }
            true
        });
        assert!(view.snapshot().get("a").is_some());
        assert!(view.prefer("a", ToolPreference::default().weight(3.0)).unwrap());
        assert_eq!(view.withdraw("p").len(), 1);
        registry.register(named("b", "B.")).unwrap();
        assert!(view.unregister("b").is_some());
    });
}

/// Uses the registry whatever is done with it.
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
fn a_tool_may_use_the_registry_from_its_first_moment_to_its_last() {
    ends(|| {
        let (registry, late) = (Registry::new(), Late::default());
        let _ = late.set(registry.clone());
        let meddler = |name: &str, description: &str| -> Arc<dyn Tool> {
            let definition = ToolDefinition::new(name, description, json!({ "type": "object" }));
            Arc::new(Meddler(definition, Arc::clone(&late)))
        };
        // Displaced, taken away, refused for what it says and for who is there.
        registry.register(meddler("a", "A.")).unwrap();
        drop(registry.register(meddler("a", "A's new.")).unwrap());
        assert_eq!(registry.snapshot().definitions().len(), 1);
        drop(registry.unregister("a"));
        registry.register_from("p", meddler("b", "B.")).unwrap();
        assert!(registry.register_from("p", meddler("c", " ")).is_err());
        assert!(registry.register(meddler("p__b", "Ours.")).is_err());
        drop(registry.withdraw("p"));
        // The snapshot is the last to hold it.
        registry.register(meddler("d", "D.")).unwrap();
        let last = registry.snapshot();
        registry.register(named("d", "D's new.")).unwrap();
        drop(last);
        use_all(&registry);
    });
}

/// Panics when it is asked what it is.
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
async fn a_tool_that_panics_when_it_is_asked_is_refused() {
    let registry = Registry::try_from(tools![always]).unwrap();
    let refused = registry.register(Arc::new(Broken)).unwrap_err().to_string();
    let text = "a tool panicked: the server is gone when it was asked for its definition";
    assert_eq!(refused, text);
    let of_it = registry.register_from("maps", Arc::new(Broken)).unwrap_err().to_string();
    assert_eq!(of_it, text.replace("a tool", "a tool of the provider `maps`"));

    let tools = tools![sunbathe].with(Broken);
    assert!(format!("{tools:?}").contains("sunbathe"));
    assert!(registry.register_all(tools.clone()).is_err());
    assert_eq!(names(&registry), ["always"]);
    registry.register(named("a", "A.")).unwrap();

    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Done.")]), tools);
    let stopped = agent.run("Go").await.unwrap_err();
    assert!(stopped.to_string().contains(text), "{stopped}");
}

/// Says something else as soon as it is told to panic.
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
fn a_store_that_panics_holds_nobody_up() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let registry = Registry::new().descriptions(Fragile(Arc::clone(&is_broken)));
    registry.register(named("a", "A.")).unwrap();
    is_broken.store(true, Ordering::SeqCst);
    registry.register(named("b", "B.")).unwrap();
    // What it said before holds.
    assert_eq!(description(&registry, "a").unwrap(), "By the store.");
    assert_eq!(description(&registry, "b").unwrap(), "B.");
    // It has come to itself.
    is_broken.store(false, Ordering::SeqCst);
    assert_eq!(description(&registry, "b").unwrap(), "By the store.");
}

#[tokio::test]
async fn what_a_filter_panics_at_is_not_held() {
    std::panic::set_hook(Box::new(|_| ()));
    let registry = Registry::try_from(tools![always]).unwrap();
    registry.register_from("p", named("a", "A.")).unwrap();
    let view = registry.filter(|entry| {
        assert_ne!(entry.own_name(), "a", "on purpose");
        true
    });
    assert_eq!(names(&view), ["always"]);
    assert!(view.snapshot().get("a").is_none() && view.unregister("a").is_none());
    assert!(view.withdraw("p").is_empty());
    assert!(!view.prefer("a", ToolPreference::default().disabled()).unwrap());
    // Nor does it take the run along.
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("a", "{}")).expect_tools(["always"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("There is no tool named `a`."),
    ]);
    assert_eq!(Agent::new(model, view).run("Go").await.unwrap().text, "Done.");
}

#[test]
fn views_of_views_come_and_go_however_many() {
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
