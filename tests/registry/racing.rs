//! Calls while tools come, go, are replaced and change their names.

use tool_runtime::{Dispatcher, ToolCall};

use super::*;

const ROUNDS: usize = 300;

/// A tool that says whose it is.
fn whose(provider: &str) -> Arc<dyn Tool> {
    named("find", &format!("By {provider}."))
}

/// Comes, is replaced and goes, over and over, and once comes back as it went.
fn come_and_go(registry: &Registry, provider: &str) {
    for round in 0..ROUNDS {
        registry.register_from(provider, whose(provider)).unwrap();
        registry.register_from(provider, whose(provider)).unwrap();
        let gone = registry.withdraw(provider);
        assert_eq!(gone.len(), 1);
        if round % 3 == 0 {
            registry.restore(gone).unwrap();
            assert!(registry.unregister(&format!("{provider}__find")).is_some());
        }
    }
}

/// Whoever calls a tool by its full name is answered by that tool or told that there is none, and
/// calls on a snapshot are answered by the tools that it shows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_never_reaches_anothers_tool() {
    let registry = Registry::new();
    registry.register(named("stays", "By nobody.")).unwrap();
    let dispatcher = Dispatcher::new(registry.clone());
    let writers: Vec<_> = ["a", "b"]
        .map(|provider| {
            let registry = registry.clone();
            thread::spawn(move || come_and_go(&registry, provider))
        })
        .into();
    let said = ["a__find", "find", "b__find", "stays"];
    while !writers.iter().all(thread::JoinHandle::is_finished) {
        let snapshot = registry.snapshot();
        let calls = said.map(|name| ToolCall::new(name, name, "{}")).to_vec();
        let done = dispatcher.dispatch_on(&snapshot, calls.clone()).await;
        let shown = said.map(|name| snapshot.definition(name).map(|it| it.description.as_str()));
        for (execution, shown) in done.iter().zip(shown) {
            let result = &execution.result;
            match shown {
                Some(shown) => assert_eq!(result.text, shown),
                None => assert_eq!(result.error.as_deref(), Some("TOOL_NOT_FOUND")),
            }
        }
        assert!(
            done.iter().map(|execution| &execution.result.call).eq(calls.iter().map(|it| &it.id))
        );
        // What is there by the time that it is called.
        let done = dispatcher.dispatch(calls).await;
        for (execution, whose) in done.iter().zip(["By a.", "By ", "By b.", "By nobody."]) {
            let result = &execution.result;
            let is_gone = result.error.as_deref() == Some("TOOL_NOT_FOUND");
            assert!(is_gone || result.text.starts_with(whose), "{result:?}");
        }
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(names(&registry), ["stays"]);
}
