//! The signal that the tools of a view changed.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tool_runtime::registry::RegistryChanges;

use super::*;

/// Returns the names of the tools after a change, if there was one.
fn changed(changes: &mut RegistryChanges) -> Option<Vec<String>> {
    match pin!(changes.changed()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(snapshot) => {
            let snapshot = snapshot.expect("the registry exists");
            Some(snapshot.definitions().iter().map(|tool| tool.name.clone()).collect())
        }
        Poll::Pending => None,
    }
}

fn list_of(name: &str) -> Tools {
    [named(name, "It.")].into_iter().collect()
}

/// A step's name, its change, and the names of the tools after it.
type Step<'a> = (&'a str, &'a dyn Fn(&Registry), &'a [&'a str]);

#[test]
fn each_change_of_the_contents_is_signalled_once() {
    let heavy = || ToolPreference::default().weight(2.0);
    let registry = Registry::new();
    let mut changes = registry.changes();
    assert_eq!(changed(&mut changes), None);
    let steps: [Step; 13] = [
        ("add", &|it| drop(it.register(named("a", "A.")).unwrap()), &["a"]),
        ("replace by an equal tool", &|it| drop(it.register(named("a", "A.")).unwrap()), &["a"]),
        ("add provider", &|it| drop(it.register_all_from("p", list_of("b")).unwrap()), &["a", "b"]),
        ("rename", &|it| drop(it.register(named("b", "B.")).unwrap()), &["a", "b", "p__b"]),
        ("remove", &|it| drop(it.unregister("b")), &["a", "b"]),
        ("replace all", &|it| drop(it.replace_all_from("p", list_of("c")).unwrap()), &["a", "c"]),
        (
            "replace valid",
            &|it| drop(it.replace_valid_from("p", list_of("b")).unwrap()),
            &["a", "b"],
        ),
        ("remove provider", &|it| drop(it.unregister_provider("p")), &["a"]),
        (
            "add label",
            &|it| drop(it.register_all(list_of("b").labeled(["l"])).unwrap()),
            &["a", "b"],
        ),
        (
            "change label",
            &|it| drop(it.register_all(list_of("b").labeled(["m"])).unwrap()),
            &["a", "b"],
        ),
        ("remove label", &|it| drop(it.unregister_labeled("m")), &["a"]),
        ("prefer", &|it| assert!(it.prefer("a", heavy()).unwrap()), &["a"]),
        ("set preferences", &|it| it.set_preferences([].into()).unwrap(), &["a"]),
    ];
    for (step, change, expected) in steps {
        change(&registry);
        assert_eq!(changed(&mut changes).expect(step), expected, "{step}");
        assert_eq!(changed(&mut changes), None, "{step}");
    }
}

#[test]
fn change_without_a_difference_is_not_signalled() {
    let registry = Registry::try_from(list_of("a")).unwrap();
    let mut changes = registry.changes();
    assert!(registry.unregister_provider("unknown").is_empty());
    assert!(registry.register_all(Tools::new()).unwrap().is_empty());
    registry.register(named(" ", "Invalid.")).unwrap_err();
    registry.set_preferences([].into()).unwrap();
    // The tool was removed, but the last look at the tools was before it was added.
    registry.register(named("b", "B.")).unwrap();
    registry.unregister("b");
    registry.notify_availability();
    assert_eq!(changed(&mut changes), None);
}

#[test]
fn view_is_signalled_only_about_its_own_tools() {
    let registry = Registry::new();
    let mut of_p = registry.only_from(["p"]).changes();
    let mut of_q = registry.only_from(["q"]).changes();
    registry.register_all_from("p", list_of("a")).unwrap();
    assert_eq!((changed(&mut of_p), changed(&mut of_q)), (Some(vec!["a".into()]), None));
    // The new tool renames the other one.
    registry.register_all_from("q", list_of("a")).unwrap();
    assert_eq!(changed(&mut of_p).unwrap(), ["p__a"]);
    assert_eq!(changed(&mut of_q).unwrap(), ["q__a"]);
}

/// A tool of a connection.
struct Connected(ToolDefinition, Arc<AtomicBool>);

#[async_trait]
impl Tool for Connected {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn availability(&self) -> Availability {
        if self.1.load(Ordering::Relaxed) {
            Availability::Available
        } else {
            Availability::Unavailable("the connection was lost".into())
        }
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("never called"))
    }
}

#[test]
fn lost_connection_is_signalled_to_views_with_its_tools() {
    let is_connected = Arc::new(AtomicBool::new(true));
    let definition = ToolDefinition::new("find", "Finds.", json!({ "type": "object" }));
    let registry = Registry::try_from(list_of("a")).unwrap();
    let tool = Arc::new(Connected(definition, Arc::clone(&is_connected)));
    registry.register_from("server", tool).unwrap();
    let (mut all, mut others) = (registry.changes(), registry.without(["find"]).changes());
    for (state, expected) in [(false, vec!["a"]), (true, vec!["a", "find"])] {
        is_connected.store(state, Ordering::Relaxed);
        // A view notifies all listeners.
        registry.only(["a"]).notify_availability();
        assert_eq!(changed(&mut all).unwrap(), expected);
        assert_eq!((changed(&mut all), changed(&mut others)), (None, None));
    }
}

#[test]
fn changed_description_is_signalled_after_the_next_snapshot() {
    let store = MemoryDescriptions::default();
    let registry = Registry::new().descriptions(store.clone());
    registry.register(named("a", "A.")).unwrap();
    let mut changes = registry.changes();
    store.set("a", "New.");
    assert_eq!(changed(&mut changes), None);
    let _ = registry.snapshot();
    assert!(changed(&mut changes).is_some());
    store.set("a", "Newer.");
    registry.notify_availability();
    assert!(changed(&mut changes).is_some());
    assert_eq!(changed(&mut changes), None);
}

#[test]
fn listener_keeps_neither_tools_nor_the_registry() {
    let is_connected = Arc::new(AtomicBool::new(true));
    let definition = ToolDefinition::new("find", "Finds.", json!({ "type": "object" }));
    let registry = Registry::new();
    let tool = Arc::new(Connected(definition, Arc::clone(&is_connected)));
    registry.register_from("server", tool).unwrap();
    let mut changes = registry.changes();
    drop(registry.unregister_provider("server"));
    assert_eq!(Arc::strong_count(&is_connected), 1);
    let view = registry.only(["a"]);
    drop(registry);
    assert_eq!(changed(&mut changes), Some(Vec::new()));
    drop(view);
    let mut next = pin!(changes.changed());
    assert!(matches!(
        next.as_mut().poll(&mut Context::from_waker(Waker::noop())),
        Poll::Ready(None)
    ));
}

/// The listener finds the last contents, however its polls interleave with the changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn last_of_many_changes_is_never_missed() {
    let registry = Registry::new();
    let mut changes = registry.changes();
    let writers = ["a", "b"].map(|provider| {
        let registry = registry.clone();
        thread::spawn(move || {
            for round in 0..200 {
                registry.replace_all_from(provider, list_of(&format!("t{round}"))).unwrap();
            }
        })
    });
    loop {
        let snapshot = changes.changed().await.unwrap();
        if snapshot.entries().map(|entry| entry.name()).eq(["a__t199", "b__t199"]) {
            break;
        }
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}
