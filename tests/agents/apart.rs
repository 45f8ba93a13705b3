//! Isolation of a sub-agent: tools, limits, secrets and name.

use tool_runtime::agent::Limits;
use tool_runtime::{Effect, Policy, ScriptedTurn, Tool};

use super::*;

#[tokio::test]
async fn parent_and_sub_agent_have_separate_tools() {
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

/// A limit of the sub-agent stops it alone. The parent receives the name of the limit.
#[tokio::test(start_paused = true)]
async fn sub_agent_limits_stop_the_sub_agent_alone() {
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
    for (agent, told) in [
        (
            inner(endless()).limits(Limits::default().tokens(22)),
            "(TOKENS_SPENT): the run took 22 tokens, of 22 that it may.",
        ),
        (
            inner(endless()).max_iterations(3),
            "(MAX_ITERATIONS): the model was asked 3 times, as often as it may be, and has not answered.",
        ),
        (
            Agent::new(Slow, Tools::new()).time_limit(Duration::from_secs(2)),
            "(TIME_LIMIT): the run took 2s, as long as it may.",
        ),
        (inner(story([])), "(MODEL_FAILED)."),
    ] {
        let outer = above(agent.into_tool("helper", "Looks for things."), "helper");
        let answer = outer.limits(Limits::default().tokens(1_000)).run("Go").await.unwrap();
        assert_eq!(answer.text, "Done.");
        let result = &results(&answer.transcript[2])[0];
        assert_eq!(result.text, format!("It came to no answer {told}"));
        assert_eq!(result.error.as_deref(), Some("TOOL_EXECUTION_FAILED"));
    }
}

/// Secrets of the parent are redacted in nested runs. Secrets of the sub-agent are redacted in its
/// result.
#[tokio::test]
async fn secrets_of_parent_and_sub_agent_are_redacted() {
    const OUTER: &str = "0ut3r-s3cr3t";
    const INNER: &str = "1nn3r-s3cr3t";
    let both = format!("{OUTER} and {INNER}");
    struct Fails(String);
    #[async_trait]
    impl ChatModel for Fails {
        async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
            Err(ModelError::Setup(self.0.clone()))
        }
    }
    let says = story([echo_call(&both), ChatReply::text(&both)]);
    let helper = Agent::new(says, tools![echo]).policy(Policy::new().secrets([INNER]));
    let fails =
        Agent::new(Fails(both.clone()), Tools::new()).policy(Policy::new().secrets([INNER]));
    let calls = ChatReply::default()
        .call("helper", json!({ "task": OUTER }))
        .call("fails", json!({ "task": OUTER }));
    let tools = Tools::new()
        .with(helper.into_tool("helper", "Looks for things."))
        .with(fails.into_tool("fails", "Fails."));
    let agent = Agent::new(story([calls, ChatReply::text("Done.")]), tools)
        .policy(Policy::new().secrets([OUTER]));
    let (agent, told) = watched(agent);
    let answer = agent.run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].text, "[redacted] and [redacted]");
    let told = told.lock().unwrap();
    assert!(told.iter().filter(|event| event.origin.depth == 1).count() > 8);
    let causes: Vec<_> = told.iter().filter_map(|it| it.finished()?.cause.clone()).collect();
    assert_eq!(causes.len(), 1);
    assert!(causes[0].contains("[redacted] and [redacted]"), "{causes:?}");
    for event in told.iter() {
        let text = serde_json::to_string(event).unwrap();
        assert!(!text.contains(OUTER) && !text.contains(INNER), "{text}");
    }
}

#[tokio::test]
async fn events_hold_the_name_of_the_sub_agent() {
    let inner = || Agent::new(story([ChatReply::text("Found.")]), Tools::new());
    for (helper, name) in [(inner(), "helper"), (inner().name("Ada"), "Ada")] {
        let agent = above(helper.into_tool("helper", "Looks for things."), "helper").name("chief");
        let (agent, told) = watched(agent);
        agent.run("Go").await.unwrap();
        let told = told.lock().unwrap();
        let names = told.iter().filter_map(|event| match &event.kind {
            EventKind::Run(RunEvent::Started { agent, within, .. }) => {
                Some((agent.as_deref(), *within))
            }
            _ => None,
        });
        let outer = told[0].origin.run;
        assert_eq!(names.collect::<Vec<_>>(), [(Some("chief"), None), (Some(name), Some(outer))]);
    }
    let (agent, told) = watched(inner());
    agent.run("Go").await.unwrap();
    let began = serde_json::to_value(&told.lock().unwrap()[0]).unwrap();
    assert_eq!((began.get("agent"), began.get("within")), (None, None));
}

#[test]
fn sub_agent_effect_is_configurable() {
    let helper = || Agent::new(story([]), Tools::new()).into_tool("helper", "Looks for things.");
    assert_eq!(helper().definition().effect, Effect::External);
    assert_eq!(helper().effect(Effect::Read).definition().effect, Effect::Read);
}
