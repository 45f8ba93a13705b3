//! Calls while tools are added, replaced, removed and renamed.

use tool_runtime::{Dispatcher, ToolCall};

use super::*;

const ROUNDS: usize = 300;

/// A tool tool_of output is the name of its provider.
fn tool_of(provider: &str) -> Arc<dyn Tool> {
    named("find", &format!("By {provider}."))
}

/// Registers, replaces, removes and restores tools in a loop.
fn come_and_go(registry: &Registry, provider: &str) {
    for round in 0..ROUNDS {
        registry.register_from(provider, tool_of(provider)).unwrap();
        registry.register_from(provider, tool_of(provider)).unwrap();
        let withdrawn = registry.unregister_provider(provider);
        assert_eq!(withdrawn.len(), 1);
        if round % 3 == 0 {
            registry.restore(withdrawn).unwrap();
            assert!(registry.unregister(&format!("{provider}__find")).is_some());
        }
    }
}

/// A call by full name reaches that tool or none, and calls on a snapshot reach the tools of the
/// snapshot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_never_reaches_a_tool_of_another_name() {
    let registry = Registry::new();
    registry.register(named("stays", "Without provider.")).unwrap();
    let dispatcher = Dispatcher::new(registry.clone());
    let writers: Vec<_> = ["a", "b"]
        .map(|provider| {
            let registry = registry.clone();
            thread::spawn(move || come_and_go(&registry, provider))
        })
        .into();
    let called_names = ["a__find", "find", "b__find", "stays"];
    while !writers.iter().all(thread::JoinHandle::is_finished) {
        let snapshot = registry.snapshot();
        let calls = called_names.map(|name| ToolCall::new(name, name, "{}")).to_vec();
        let executions = dispatcher.dispatch_on(&snapshot, calls.clone()).await;
        let expected =
            called_names.map(|name| snapshot.definition(name).map(|it| it.description.as_str()));
        for (execution, expected) in executions.iter().zip(expected) {
            let result = &execution.result;
            match expected {
                Some(expected) => assert_eq!(result.text, expected),
                None => assert_eq!(result.error.as_deref(), Some("TOOL_NOT_FOUND")),
            }
        }
        assert!(
            executions
                .iter()
                .map(|execution| &execution.result.call)
                .eq(calls.iter().map(|it| &it.id))
        );
        // The tool that is registered at the time of the call.
        let executions = dispatcher.dispatch(calls).await;
        for (execution, owner_text) in
            executions.iter().zip(["By a.", "By ", "By b.", "Without provider."])
        {
            let result = &execution.result;
            let is_missing = result.error.as_deref() == Some("TOOL_NOT_FOUND");
            assert!(is_missing || result.text.starts_with(owner_text), "{result:?}");
        }
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(names(&registry), ["stays"]);
}

/// Two writers replace the tools of one provider. A reader finds the tools of one list: never none,
/// and never a mixture.
#[test]
fn replaced_provider_is_never_empty_or_mixed() {
    let list = |writer: &str, round: usize| -> Tools {
        let count = 1 + round % 3;
        (0..count).map(|n| named(&format!("{writer}_{n}_of_{count}"), "It.")).collect()
    };
    let registry = Registry::new();
    registry.register_all_from("p", list("first", 0)).unwrap();
    registry.register(named("stays", "It.")).unwrap();
    let view = registry.only_from(["p"]);
    thread::scope(|threads| {
        let writers = ["a", "b"].map(|writer| {
            let registry = &registry;
            threads.spawn(move || {
                for round in 0..ROUNDS {
                    if round % 2 == 0 {
                        let removed = registry.replace_all_from("p", list(writer, round)).unwrap();
                        assert!(!removed.is_empty());
                    } else {
                        registry.replace_valid_from("p", list(writer, round)).unwrap();
                    }
                }
            })
        });
        while !writers.iter().all(|writer| writer.is_finished()) {
            let names = names(&view);
            let (writer, count) = names[0].split_once("_0_of_").expect("the first of a list");
            let count: usize = count.parse().unwrap();
            let expected: Vec<_> = (0..count).map(|n| format!("{writer}_{n}_of_{count}")).collect();
            assert_eq!(names, expected);
        }
    });
    assert!(registry.snapshot().get("stays").is_some());
}
