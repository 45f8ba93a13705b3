//! Tools that are implemented by hand are treated as `#[tool]` functions are.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tool_runtime::{
    Arguments, Dispatcher, Effect, Permission, Policy, RateLimit, Registry, Tool, ToolCall,
    ToolContext, ToolDefinition, ToolError, ToolExecution, ToolOutput, ToolPreference, async_trait,
    tool, tools,
};

/// Copies lines of a file.
#[tool(effect = "write")]
async fn write_lines(
    path: String,
    lines: Vec<u32>,
    #[arg(secret)] password: Option<String>,
) -> String {
    format!("{path} {lines:?} {password:?}")
}

/// Reads lines of a file.
#[tool(effect = "read")]
async fn read_lines(
    path: String,
    lines: Vec<u32>,
    #[arg(secret)] password: Option<String>,
) -> String {
    format!("{path} {lines:?} {password:?}")
}

/// Has the definition of another tool, and decodes its arguments without any leniency.
struct ByHand(ToolDefinition);

#[derive(serde::Deserialize)]
struct Lines {
    path: String,
    lines: Vec<u32>,
    password: Option<String>,
}

#[async_trait]
impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Lines { path, lines, password } = serde_json::from_str(&args.to_text())
            .map_err(|error| ToolError::failed(format!("not validated: {error}")))?;
        Ok(ToolOutput::text(format!("{path} {lines:?} {password:?}")))
    }
}

/// Arguments as models write them: valid, repairable, refused.
const ARGUMENTS: [&str; 19] = [
    r#"{"path": "a", "lines": [1, 2]}"#,
    r#"{path: 'a', lines: [1,],}"#,
    r#"{"path": "a", "lines": "[1, 2]"}"#,
    r#"{"path": "a", "lines": 3}"#,
    r#"{"path": "a", "lines": ["1"]}"#,
    r#"{"path": "a", "lines": [1.0]}"#,
    "```json\n{\"path\": \"a\", \"lines\": []}\n```",
    r#"{"path": "a", "lines": [1"#,
    r#"{"path": "a"}"#,
    r#"{"lines": "x"}"#,
    r#"{"path": 7, "lines": [-1, "x"], "more": true}"#,
    r#"{"name": "delete_all", "arguments": {"path": "a", "lines": [1]}}"#,
    r#"{"path": "a", "path": "b", "lines": [1]}"#,
    r#"{"path": "a", "lines": [1], "password": "hunter22"}"#,
    r#"{"path": "a", "lines": "hunter22", "password": "hunter22"}"#,
    r#"{"path": "a", "lines": [1], "password": 7"#,
    "[]",
    "",
    "path = a",
];

async fn execute(tools: tool_runtime::Tools, policy: Policy, arguments: &str) -> ToolExecution {
    let registry = Registry::try_from(tools).unwrap();
    let name = registry.snapshot().all_definitions()[0].name.clone();
    let dispatcher = Dispatcher::new(registry).policy(policy);
    dispatcher.dispatch(vec![ToolCall::new("1", name, arguments)]).await.remove(0)
}

#[tokio::test]
async fn hand_written_tool_gets_the_arguments_that_a_function_would_get() {
    let mut refused = 0;
    for arguments in ARGUMENTS {
        for is_write in [true, false] {
            let function = || if is_write { tools![write_lines] } else { tools![read_lines] };
            let definition = function().into_iter().next().unwrap().definition().clone();
            let by_hand = || tools![].with(ByHand(definition.clone()));
            let expected = execute(function(), Policy::new(), arguments).await;
            let retried = || Policy::new().max_retries(1);
            for policy in [Policy::new, retried] {
                let execution = execute(by_hand(), policy(), arguments).await;
                assert_eq!(execution.result, expected.result, "{arguments}");
                assert_eq!(execution.fixes, expected.fixes, "{arguments}");
                assert_eq!(execution.attempts, expected.attempts, "{arguments}");
                assert_eq!(execution.arguments(), expected.arguments(), "{arguments}");
            }
            let is_refused = expected.failed_with("TOOL_INVALID_ARGUMENTS");
            assert_eq!(expected.did_run(), !is_refused, "{arguments}");
            assert_eq!(expected.attempts, u32::from(!is_refused), "{arguments}");
            assert!(!expected.result.text.contains("hunter22"), "{arguments}");
            refused += usize::from(is_refused);
        }
    }
    assert!((10..30).contains(&refused), "{refused} of the calls were refused");
}

#[tokio::test]
async fn refused_arguments_need_no_approval_and_take_no_attempt() {
    let definition = tools![write_lines].into_iter().next().unwrap().definition().clone();
    let ask = || {
        let permissions =
            tool_runtime::dispatch::Permissions::default().tool("write_lines", Permission::Ask);
        Policy::new().permissions(permissions).approver(tool_runtime::dispatch::AskLater)
    };
    for tools in [tools![write_lines], tools![].with(ByHand(definition))] {
        let execution = execute(tools, ask(), r#"{"lines": "x"}"#).await;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS") && !execution.is_pending());
        assert!(!execution.did_run());
    }
}

/// Runs another tool, whose arguments it makes up.
#[tool]
async fn wrong_inside(ctx: &ToolContext) -> Result<String, ToolError> {
    Ok(read_lines {}.call("[]".into(), ctx).await?.as_text().to_owned())
}

#[tokio::test]
async fn tool_that_calls_a_function_with_wrong_arguments_did_run() {
    let execution = execute(tools![wrong_inside], Policy::new(), "{}").await;
    assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS") && execution.did_run());
}

/// Passes everything on to another tool.
struct Wrapper(Arc<dyn Tool>);

#[async_trait]
impl Tool for Wrapper {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.call(args, ctx).await
    }
}

#[tokio::test]
async fn wrapped_function_gets_the_same_arguments() {
    for arguments in ARGUMENTS {
        let function = tools![read_lines].into_iter().next().unwrap();
        let wrapped = execute(tools![].with(Wrapper(function)), Policy::new(), arguments).await;
        let expected = execute(tools![read_lines], Policy::new(), arguments).await;
        assert_eq!(wrapped.result, expected.result, "{arguments}");
        assert_eq!(wrapped.attempts, expected.attempts, "{arguments}");
    }
}

#[test]
fn setters_set_the_members_of_a_serialized_definition() {
    let schema = || json!({ "type": "object" });
    let built = ToolDefinition::new("sync", "Synchronizes the calendar.", schema())
        .title("Synchronize")
        .output(schema())
        .effect(Effect::Write)
        .idempotent()
        .sequential()
        .permission(Permission::Ask)
        .requires("network")
        .requires("calendar")
        .max_retries(2)
        .rate_limit(RateLimit::per_minute(10))
        .timeout(Duration::from_secs(5))
        .finds_tools()
        .preference(ToolPreference::default().hidden());
    let read: ToolDefinition = serde_json::from_value(json!({
        "name": "sync",
        "title": "Synchronize",
        "description": "Synchronizes the calendar.",
        "parameters": schema(),
        "output": schema(),
        "effect": "write",
        "idempotent": true,
        "sequential": true,
        "permission": "ask",
        "requires": ["network", "calendar"],
        "max_retries": 2,
        "rate_limit": "10/min",
        "timeout": "5s",
        "finds_tools": true,
        "preference": serde_json::to_value(ToolPreference::default().hidden()).unwrap(),
    }))
    .unwrap();
    assert_eq!(built, read);
    assert_eq!(built.validate(), Ok(()));
}
