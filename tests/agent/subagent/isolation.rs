//! What is a sub-agent's own: its tools, limits, secrets and name.

use tool_runtime::agent::Limits;
use tool_runtime::{Effect, Policy, ScriptedTurn, Tool};

use super::*;

#[tokio::test]
async fn sub_agent_and_caller_do_not_share_tools() {
    let inner = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("pay", "{}")).expect_tools(["echo", "refuse"]),
        ScriptedTurn::new(ChatReply::text("Found.")).expect_last("There is no tool named `pay`"),
    ]);
    let helper = Agent::new(inner, tools![echo, refuse]);
    let helper = helper.into_tool("helper", "Looks for things.");
    let outer = ScriptedModel::new([
        ScriptedTurn::new(ask("helper")).expect_tools(["helper", "pay"]),
        ScriptedTurn::new(echo_call("a")).expect_last("Found."),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("There is no tool named `echo`"),
    ]);
    let agent =
        Agent::new(outer, tools![pay].with(helper)).policy(Policy::new().approver(AskLater));
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
}

/// Each limit of the sub-agent stops its run only, and the caller's model is given the limit.
#[tokio::test(start_paused = true)]
async fn limits_of_a_sub_agent_stop_only_its_own_run() {
    struct Slow;
    #[async_trait]
    impl ChatModel for Slow {
        async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(ChatReply::text("late"))
        }
    }
    let endless = || story([0, 1, 2, 3, 4].map(|n| echo_call(&n.to_string())));
    let inner = |model| Agent::new(model, tools![echo]);
    for (agent, output) in [
        (
            inner(endless()).limits(Limits::default().max_tokens(22)),
            "(TOKEN_LIMIT): it used 22 of 22 tokens.",
        ),
        (
            inner(endless()).max_iterations(3),
            "(ITERATION_LIMIT): it reached its limit of 3 model requests.",
        ),
        (
            Agent::new(Slow, Tools::new()).run_timeout(Duration::from_secs(2)),
            "(TIMEOUT): it reached its time limit of 2s.",
        ),
        (inner(story([])), "(MODEL_SETUP)."),
    ] {
        let outer = caller_of(agent.into_tool("helper", "Looks for things."), "helper");
        let answer = outer.limits(Limits::default().max_tokens(1_000)).run("Go").await.unwrap();
        assert_eq!(answer.text, "Done.");
        let result = &results(&answer.transcript[2])[0];
        assert_eq!(result.text, format!("The agent stopped without an answer {output}"));
        assert_eq!(result.error.as_deref(), Some("TOOL_EXECUTION_FAILED"));
    }
}

/// Secrets of the caller are redacted in the nested run as well, and secrets of the sub-agent also
/// in the result that its caller gets.
#[tokio::test]
async fn secrets_of_sub_agent_and_caller_are_redacted_in_both_runs() {
    const OUTER: &str = "0ut3r-s3cr3t";
    const INNER: &str = "1nn3r-s3cr3t";
    let both_secrets = format!("{OUTER} and {INNER}");
    struct Fails(String);
    #[async_trait]
    impl ChatModel for Fails {
        async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
            Err(ModelError::Setup(self.0.clone()))
        }
    }
    let model = story([echo_call(&both_secrets), ChatReply::text(&both_secrets)]);
    let helper = Agent::new(model, tools![echo]).policy(Policy::new().secrets([INNER]));
    let fails = Agent::new(Fails(both_secrets.clone()), Tools::new())
        .policy(Policy::new().secrets([INNER]));
    let calls = ChatReply::default()
        .call("helper", json!({ "task": OUTER }))
        .call("fails", json!({ "task": OUTER }));
    let tools = Tools::new()
        .with(helper.into_tool("helper", "Looks for things."))
        .with(fails.into_tool("fails", "Fails."));
    let agent = Agent::new(story([calls, ChatReply::text("Done.")]), tools)
        .policy(Policy::new().secrets([OUTER]));
    let (agent, output) = with_recorder(agent);
    let answer = agent.run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].text, "[redacted] and [redacted]");
    let output = output.lock().unwrap();
    assert!(output.iter().filter(|event| event.origin.depth == 1).count() > 8);
    let causes: Vec<_> = output.iter().filter_map(|it| it.execution()?.cause.clone()).collect();
    assert_eq!(causes.len(), 1);
    assert!(causes[0].contains("[redacted] and [redacted]"), "{causes:?}");
    for event in output.iter() {
        let text = serde_json::to_string(event).unwrap();
        assert!(!text.contains(OUTER) && !text.contains(INNER), "{text}");
    }
}

#[tokio::test]
async fn events_of_a_sub_agent_carry_its_name() {
    let inner = || Agent::new(story([ChatReply::text("Found.")]), Tools::new());
    for (helper, name) in [(inner(), "helper"), (inner().name("Ada"), "Ada")] {
        let agent =
            caller_of(helper.into_tool("helper", "Looks for things."), "helper").name("chief");
        let (agent, output) = with_recorder(agent);
        agent.run("Go").await.unwrap();
        let output = output.lock().unwrap();
        let names = output.iter().filter_map(|event| match &event.kind {
            EventKind::Run(RunEvent::Started { agent, parent_run: parent, .. }) => {
                Some((agent.as_deref(), *parent))
            }
            _ => None,
        });
        let outer = output[0].origin.run;
        assert_eq!(names.collect::<Vec<_>>(), [(Some("chief"), None), (Some(name), Some(outer))]);
    }
    let (agent, output) = with_recorder(inner());
    agent.run("Go").await.unwrap();
    let started = serde_json::to_value(&output.lock().unwrap()[0]).unwrap();
    assert_eq!((started.get("agent"), started.get("parent_run")), (None, None));
}

#[test]
fn sub_agent_effect_is_external_by_default() {
    let helper = || Agent::new(story([]), Tools::new()).into_tool("helper", "Looks for things.");
    assert_eq!(helper().definition().effect, Effect::External);
    assert_eq!(helper().effect(Effect::Read).definition().effect, Effect::Read);
}
