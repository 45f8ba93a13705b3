//! Agents that make a tool and use it in the next turn.

use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, ScriptedTurn};

use super::fixture::{Fixture, allowed, spec};

#[tokio::test]
async fn made_tool_is_callable_in_the_next_turn() {
    let fixture = Fixture::new().await;
    let new_spec = spec("answer", "return 6 * 7;").to_string();
    let model = ScriptedModel::new([
        ChatReply::default().call("answer", "{}"),
        ChatReply::default().call("new_tool", new_spec.as_str()),
        ChatReply::default().call("answer", "{}"),
        ChatReply::text("It is 42."),
    ]);
    let agent = Agent::new(model, fixture.registry.clone()).policy(allowed());
    let answer = agent.run("What is the answer?").await.unwrap();
    let results: Vec<_> = answer
        .transcript
        .iter()
        .filter_map(|message| match message {
            Message::Tool { results } => Some(results[0].text.clone()),
            _ => None,
        })
        .collect();
    assert!(results[0].contains("answer") && results[1].contains("registered"), "{results:?}");
    assert_eq!(results[2], "42");
}

#[tokio::test]
async fn model_corrects_a_body_by_the_error_that_it_receives() {
    let fixture = Fixture::new().await;
    let make = |line: &str| {
        let new_spec = spec("answer", &format!("const six = 6;\n{line}")).to_string();
        ChatReply::default().call("new_tool", new_spec.as_str())
    };
    let model = ScriptedModel::new([
        ScriptedTurn::new(make("return six *;")),
        ScriptedTurn::new(make("return six * 7;")).expect_last("at line 2: `return six *;`"),
        ScriptedTurn::new(ChatReply::default().call("answer", "{}"))
            .expect_last("Version 1 is registered"),
        ScriptedTurn::new(ChatReply::text("It is 42.")).expect_last("42"),
    ]);
    let agent = Agent::new(model, fixture.registry.clone()).policy(allowed());
    let answer = agent.run("What is the answer?").await.unwrap();
    let errors: Vec<_> = answer
        .transcript
        .iter()
        .filter_map(|message| match message {
            Message::Tool { results } => Some(results[0].error.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(errors, [Some("TOOL_INVALID_ARGUMENTS".into()), None, None]);
    assert_eq!(fixture.names(), ["answer"]);
}
