//! Agents that make a tool and use it in the next turn.

use tool_runtime::{Agent, ChatReply, ScriptedModel};

use super::fixture::{Fixture, allowed, pieces};

#[tokio::test]
async fn made_tool_is_callable_in_the_next_turn() {
    let fixture = Fixture::new().await;
    let new_pieces = pieces("answer", "return 6 * 7;").to_string();
    let model = ScriptedModel::new([
        ChatReply::default().call("answer", "{}"),
        ChatReply::default().call("new_tool", new_pieces.as_str()),
        ChatReply::default().call("answer", "{}"),
        ChatReply::text("It is 42."),
    ]);
    let agent = Agent::new(model, fixture.registry.clone()).policy(allowed());
    let answer = agent.run("What is the answer?").await.unwrap();
    let results: Vec<_> = answer
        .transcript
        .iter()
        .filter_map(|message| match message {
            tool_runtime::Message::Tool { results } => Some(results[0].text.clone()),
            _ => None,
        })
        .collect();
    assert!(results[0].contains("answer") && results[1].contains("registered"), "{results:?}");
    assert_eq!(results[2], "42");
}
