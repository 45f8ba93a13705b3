//! Rules of the policy that apply to no tool are reported while the program runs.

use tool_runtime::dispatch::{Concurrency, Permissions};
use tool_runtime::event::{EventKind, Recorder, RunEvent};
use tool_runtime::{Permission, ToolPreference};

use super::*;

fn policy() -> Policy {
    let permissions = Permissions::default()
        .tool("gti__commit", Permission::Deny)
        .tool("git__commit", Permission::Deny)
        .provider("gti", Permission::Ask);
    Policy::new()
        .permissions(permissions)
        .concurrency(Concurrency::default().max_tool_calls("alowed", 1))
}

/// Commits.
#[tool]
async fn commit() {}

fn reported(recorder: &Recorder) -> Vec<String> {
    let events = recorder.events();
    let rules = events.iter().filter_map(|event| match &event.kind {
        EventKind::Run(RunEvent::RuleUnmatched(rule)) => Some(rule.to_string()),
        _ => None,
    });
    rules.collect()
}

fn line(rule: &str) -> String {
    format!("{rule} applies to no tool of the registry")
}

#[tokio::test]
async fn rule_is_reported_once_a_provider_has_registered_without_it() {
    let registry = Registry::try_from(tools![allowed]).unwrap();
    let recorder = Recorder::new(1_000);
    let dispatcher = Dispatcher::new(registry.clone()).policy(policy()).observer(recorder.clone());
    run(&dispatcher, &["allowed"]).await;
    let near_allowed = "; the nearest name is `allowed`";
    let of_tool = line("concurrency limit of `alowed`") + near_allowed;
    assert_eq!(reported(&recorder), [of_tool.as_str()], "no provider has registered yet");

    registry.register_all_from("git", tools![commit]).unwrap();
    for _ in 0..3 {
        run(&dispatcher, &["allowed"]).await;
        run(&dispatcher.clone(), &["git__commit"]).await;
    }
    let expected = [
        of_tool,
        line("permission of `gti__commit`") + "; the nearest name is `git__commit`",
        line("permission of provider `gti`") + "; the nearest name is `git`",
    ];
    assert_eq!(reported(&recorder), expected);

    // A preference that is set later.
    registry.set_preferences([("comit".into(), ToolPreference::default())].into()).unwrap();
    run(&dispatcher, &["allowed"]).await;
    let last = reported(&recorder).pop().unwrap();
    assert_eq!(last, line("preference of `comit`") + "; the nearest name is `commit`");
}

#[tokio::test]
async fn agent_reports_unmatched_rules_with_its_first_request() {
    let registry = Registry::new();
    registry.register_all_from("git", tools![commit]).unwrap();
    let recorder = Recorder::new(1_000);
    let model = ScriptedModel::new(["One.", "Two."].map(ChatReply::text));
    let agent =
        Agent::new(model, registry.without(["comit"])).policy(policy()).observer(recorder.clone());
    agent.run("Go").await.unwrap();
    let rules = reported(&recorder);
    assert_eq!(rules.len(), 4, "{rules:?}");
    assert!(rules.contains(&(line("view of `comit`") + "; the nearest name is `commit`")));
    let request =
        recorder.events().into_iter().position(|it| it.name() == "model.requested").unwrap();
    let first_rule = recorder.events().iter().position(|it| it.name() == "run.rule_unmatched");
    assert!(first_rule.unwrap() < request);
    agent.run("Again").await.unwrap();
    assert_eq!(reported(&recorder).len(), 4);
}
