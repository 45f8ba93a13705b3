//! An agent that makes a tool in Rust.

use std::time::Duration;

use serde_json::json;
use tool_dynamic::{Catalog, DynamicTools, Registrar};
use tool_runtime::dispatch::Permissions;
use tool_runtime::records::MemoryRecords;
use tool_runtime::{
    Agent, ChatReply, Message, Permission, Policy, Registry, ScriptedModel, ScriptedTurn, tools,
};

use super::fixture::backend;

#[tokio::test]
async fn model_corrects_a_body_by_the_errors_of_the_compiler() {
    let registry = Registry::new();
    let registrar = Registrar::builder(Catalog::new(MemoryRecords::new()))
        .backend(backend())
        .attempt_timeout(Duration::from_secs(900));
    let registrar = registrar.start(&registry).await.unwrap();
    registry.register_all(tools![..DynamicTools::new(registrar)]).unwrap();
    let make = |body: &str| {
        let spec = json!({
            "name": "count_letters", "description": "Counts the letters of a text.",
            "language": "rust", "effect": "none", "body": body,
            "fields": [{ "name": "text", "type": "string" }],
            // A fraction with the value of an integer.
            "examples": [{ "arguments": { "text": "abc" }, "output": 3 }],
        });
        ChatReply::default().call("new_tool", spec.to_string().as_str())
    };
    let model = ScriptedModel::new([
        ScriptedTurn::new(make("Ok(args.text.lenght() as f64)")),
        ScriptedTurn::new(make("Ok(args.text.len() as f64)"))
            .expect_last("line 1, column 14: “no method named `lenght` found"),
        ScriptedTurn::new(ChatReply::default().call("count_letters", r#"{"text": "abcd"}"#))
            .expect_last("Version 1 is registered"),
        ScriptedTurn::new(ChatReply::text("It has 4.")).expect_last("4.0"),
    ]);
    let allowed = Permissions::default().tool("new_tool", Permission::Allow);
    let agent = Agent::new(model, registry).policy(Policy::new().permissions(allowed));
    let answer = agent.run("How many letters has `abcd`?").await.unwrap();
    let errors: Vec<_> = answer
        .transcript
        .iter()
        .filter_map(|message| match message {
            Message::Tool { results } => Some(results[0].error.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(errors, [Some("TOOL_INVALID_ARGUMENTS".into()), None, None]);
}
