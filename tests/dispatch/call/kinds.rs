//! Executions and events record the kind of tool that ran.

use tool_runtime::dispatch::Permissions;
use tool_runtime::event::{Recorder, ToolEvent};
use tool_runtime::{CancellationToken, Permission, Policy, ToolKind};

use super::*;

/// A tool of this kind, which has the name of the kind.
struct OfKind(ToolDefinition);

#[async_trait]
impl Tool for OfKind {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("It always fails."))
    }
}

fn kinds() -> [ToolKind; 4] {
    [
        ToolKind::Function,
        ToolKind::Program("git".into()),
        ToolKind::Remote("github".into()),
        ToolKind::Dynamic("rust".into()),
    ]
}

fn registry() -> Registry {
    let registry = Registry::new();
    for kind in kinds() {
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        let mut definition = ToolDefinition::new(kind.name(), "It.", schema);
        definition.kind = kind;
        registry.register(Arc::new(OfKind(definition))).unwrap();
    }
    registry
}

#[tokio::test]
async fn execution_and_event_have_the_kind_of_the_tool_on_each_path() {
    let denies = Permissions::default()
        .tool("remote", Permission::Deny)
        .when(|request, _| (request.tool.name == "dynamic").then_some(Permission::Deny));
    for policy in [None, Some(Policy::new()), Some(Policy::new().permissions(denies))] {
        for arguments in ["{}", r#"{"n": "x"}"#, "{"] {
            for can_be_cancelled in [false, true] {
                let recorder = Recorder::new(100);
                let mut dispatcher = Dispatcher::new(registry()).observer(recorder.clone());
                if let Some(policy) = policy.clone() {
                    dispatcher = dispatcher.policy(policy);
                }
                let call = |kind: ToolKind| ToolCall::new(kind.name(), kind.name(), arguments);
                let mut batch = tool_runtime::dispatch::Batch::from(kinds().map(call).to_vec());
                batch.cancellation = can_be_cancelled.then(CancellationToken::new);
                let executions =
                    tool_runtime::dispatch::Dispatch::dispatch(&dispatcher, batch).await;
                let found = executions.iter().map(|it| it.tool_kind.clone());
                assert!(found.eq(kinds().map(Some)), "{arguments}: {executions:?}");
                let events = recorder.events();
                let mut in_events: Vec<_> = events
                    .iter()
                    .filter_map(|event| match event.tool_event() {
                        Some(ToolEvent::Finished(execution)) => execution.tool_kind.clone(),
                        _ => None,
                    })
                    .map(|kind| kind.to_string())
                    .collect();
                in_events.sort();
                assert_eq!(in_events, ["dynamic rust", "function", "program git", "remote github"]);
            }
        }
    }
}

#[tokio::test]
async fn unknown_tool_has_no_kind() {
    let executions =
        Dispatcher::new(registry()).dispatch(vec![ToolCall::new("1", "absent", "{}")]).await;
    assert_eq!(executions[0].tool_kind, None);
}

#[test]
fn kind_of_an_execution_is_read_back() {
    let call = ToolCall::new("1", "now", "{}");
    let result = tool_runtime::ToolResult::success(&call, "noon");
    for kind in kinds().map(Some).into_iter().chain([None]) {
        let mut execution = ToolExecution::new(call.clone(), result.clone());
        execution.tool_kind = kind;
        let json = serde_json::to_string(&execution).unwrap();
        assert_eq!(serde_json::from_str::<ToolExecution>(&json).unwrap(), execution);
    }
}
