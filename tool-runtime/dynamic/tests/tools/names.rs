//! Tools that were not made at run time can't be touched.

use serde_json::json;

use super::fixture::{Fixture, spec};

#[tokio::test]
async fn name_of_a_built_in_tool_is_refused() {
    let fixture = Fixture::new().await;
    for name in ["double", "new_tool", "tool_list"] {
        let execution = fixture.make(name, "return 1;").await;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{name}");
        assert!(execution.result.text.contains("which can't be changed"), "{name}");
    }
    assert!(fixture.names().is_empty());
    assert_eq!(fixture.text("double", json!({ "n": 2 })).await, "4");
}

#[tokio::test]
async fn name_that_contains_a_provider_is_refused_before_the_body_is_built() {
    let fixture = Fixture::new().await;
    let execution = fixture.make("docs__find", "this does not parse").await;
    assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"));
    let text = execution.result.text;
    assert!(text.contains("`name`") && text.contains("without `__`"), "{text}");
    assert!(!text.contains("`body`"), "{text}");
}

#[tokio::test]
async fn spec_that_is_too_large_to_store_is_refused_before_an_example_runs() {
    let fixture = Fixture::new().await;
    let mut large = spec("large", "throw new Error('it ran');");
    let field = |n: usize| json!({ "name": format!("f{n}"), "type": "string", "default": "x".repeat(16_000) });
    large["fields"] = (0..80).map(field).collect();
    large["examples"] = json!([{ "arguments": {} }]);
    let text = fixture.call("new_tool", large).await.result.text;
    assert!(text.contains("at most 1048576"), "{text}");
}

#[tokio::test]
async fn built_in_tools_are_not_found() {
    let fixture = Fixture::new().await;
    for (tool, arguments) in [
        ("unregister_tool", json!({ "name": "double" })),
        ("unregister_tool", json!({ "name": "new_tool" })),
        ("tool_source", json!({ "name": "double" })),
        ("tool_test", json!({ "name": "double", "examples": [{ "arguments": { "n": 1 } }] })),
        ("tool_rollback", json!({ "name": "double", "version": 1, "fingerprint": "" })),
    ] {
        let execution = fixture.call(tool, arguments).await;
        let text = "No tool `double` was made by `new_tool`: see `tool_list`.";
        let expected = execution.result.text.replace("`new_tool` was", "`double` was");
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{tool}");
        assert!(expected == text || expected.contains("was made by"), "{expected}");
    }
    assert_eq!(fixture.text("double", json!({ "n": 2 })).await, "4");
}

#[tokio::test]
async fn made_tool_can_not_call_the_tools_that_make_tools_unasked() {
    use super::fixture::allowed;
    use tool_runtime::Policy;
    use tool_runtime::records::MemoryRecords;

    let policy = Policy::new();
    let store = MemoryRecords::new();
    // Made with permission, by another program on the same catalog.
    let maker = Fixture::on(store.clone(), allowed()).await;
    let body = "return await call_tool('new_tool', args.spec).catch(e => e.message);";
    let mut spawner = spec("spawner", body);
    spawner["tools"] = json!(["new_tool"]);
    spawner["fields"] = json!([{ "name": "spec", "type": "map", "items": { "type": "string" } }]);
    maker.text("new_tool", spawner).await;
    let fixture = Fixture::on(store, policy).await;
    fixture.registrar.wait_until_settled(std::time::Duration::from_secs(10)).await;
    let child = spec("child", "return 1;");
    let text = fixture.text("spawner", json!({ "spec": child })).await;
    assert!(text.contains("needs approval"), "{text}");
    assert_eq!(fixture.names(), ["spawner"]);
}
