//! The tools by which a model connects to servers.

use serde_json::{Value, json};
use tool_mcp::McpConnections;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::{
    Dispatcher, Policy, Registry, RunContext, ToolCall, ToolErrorKind, ToolExecution, async_trait,
};

use crate::server::names;

struct Yes;

#[async_trait]
impl Approver for Yes {
    async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        Approval::Once
    }
}

async fn use_tool(dispatcher: &Dispatcher, name: &str, arguments: Value) -> ToolExecution {
    let call = ToolCall::new("1", name, arguments.to_string());
    dispatcher.dispatch(vec![call]).await.remove(0)
}

#[cfg(unix)]
#[tokio::test]
async fn model_connects_lists_and_disconnects_within_the_allow_list() {
    const SERVER: &str = r#"while read -r line; do
        id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        case $line in
        *'"initialize"'*) r='"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}' ;;
        *'"tools/list"'*) r='"tools":[{"name":"go","description":"Goes.","inputSchema":{"type":"object"}}]' ;;
        *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":{%s}}\n' "$id" "$r"
    done"#;
    let registry = Registry::new();
    let connections = McpConnections::new(&registry)
        .allow_command(["sh", "-c", SERVER])
        .configure(|client| client.connect_timeout(std::time::Duration::from_secs(2)));
    registry.register_all(tool_mcp::tools(&connections)).unwrap();
    let without_approver = Dispatcher::new(registry.clone());
    let connect = json!({ "name": "shell", "command": ["sh", "-c", SERVER] });
    let denied = use_tool(&without_approver, "mcp_connect", connect.clone()).await;
    assert_eq!(denied.result.error.as_deref(), Some(ToolErrorKind::Denied.code()), "no approver");

    let dispatcher = without_approver.clone().policy(Policy::default().approver(Yes));
    let connected = use_tool(&dispatcher, "mcp_connect", connect).await;
    assert!(connected.result.text.contains("shell__go"), "{}", connected.result.text);
    assert!(names(&registry).contains(&"shell__go".to_owned()));
    let listed = use_tool(&dispatcher, "mcp_list", json!({})).await.result.text;
    let expected = r#"[{"name":"shell","state":"connected","tools":["shell__go"]}]"#;
    assert_eq!(listed, expected);
    let disconnect = json!({ "name": "shell" });
    let denied = use_tool(&without_approver, "mcp_disconnect", disconnect.clone()).await;
    assert_eq!(denied.result.error.as_deref(), Some(ToolErrorKind::Denied.code()), "no approver");
    assert!(names(&registry).contains(&"shell__go".to_owned()));
    use_tool(&dispatcher, "mcp_disconnect", disconnect).await;
    assert!(!names(&registry).contains(&"shell__go".to_owned()));
    assert_eq!(use_tool(&dispatcher, "mcp_list", json!({})).await.result.text, "[]");
}

#[tokio::test]
async fn what_is_not_on_the_allow_list_is_denied() {
    let registry = Registry::new();
    let connections = McpConnections::new(&registry)
        .allow_command(["npx", "-y", "good"])
        .allow_host("127.0.0.1:3001")
        .allow_host("mcp.example");
    registry.register_all(tool_mcp::tools(&connections)).unwrap();
    let policy = Policy::default().approver(Yes);
    let dispatcher = Dispatcher::new(registry).policy(policy);
    for request in [
        json!({ "command": ["sh", "-c", "true"] }),
        json!({ "command": ["npx", "-y", "evil"] }),
        json!({ "command": ["npx"] }),
        json!({ "command": [] }),
        json!({ "url": "http://127.0.0.1:3002/mcp" }),
        json!({ "url": "http://mcp.example/mcp" }),
        json!({ "url": "https://mcp.example.evil/mcp" }),
        json!({ "url": "https://user:key@mcp.example/mcp" }),
        json!({ "url": "https://evil/?mcp.example" }),
        json!({ "url": "file:///mcp.example" }),
    ] {
        let mut arguments = request.clone();
        arguments["name"] = "x".into();
        let execution = use_tool(&dispatcher, "mcp_connect", arguments).await;
        assert_eq!(
            execution.result.error.as_deref(),
            Some(ToolErrorKind::Denied.code()),
            "{request}: {}",
            execution.result.text
        );
    }
    let ambiguous =
        json!({ "name": "x", "url": "https://mcp.example", "command": ["npx", "-y", "good"] });
    let execution = use_tool(&dispatcher, "mcp_connect", ambiguous).await;
    assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::InvalidArguments.code()));
}

#[cfg(unix)]
#[tokio::test]
async fn connections_that_are_being_made_count_towards_the_limit() {
    let registry = Registry::new();
    // Servers that never answer.
    let connections = McpConnections::new(&registry)
        .allow_command(["sleep"])
        .configure(|client| client.connect_timeout(std::time::Duration::from_secs(600)));
    registry.register_all(tool_mcp::tools(&connections)).unwrap();
    let policy = Policy::default().approver(Yes);
    let dispatcher = Dispatcher::new(registry).policy(policy);
    let connect = |number: usize| {
        let dispatcher = dispatcher.clone();
        let arguments = json!({ "name": format!("s{number}"), "command": ["sleep", "600"] });
        async move { use_tool(&dispatcher, "mcp_connect", arguments).await }
    };
    let mut connecting = tokio::task::JoinSet::new();
    for number in 0..30 {
        connecting.spawn(connect(number));
    }
    // Twenty are being made; the others are refused at once.
    for _ in 0..10 {
        let execution = connecting.join_next().await.unwrap().unwrap();
        assert!(execution.result.text.contains("Too many"), "{}", execution.result.text);
    }
    // Those that were given up give their places back.
    connecting.shutdown().await;
    for number in 0..21 {
        connecting.spawn(connect(number));
    }
    let execution = connecting.join_next().await.unwrap().unwrap();
    assert!(execution.result.text.contains("Too many"), "{}", execution.result.text);
    assert_eq!(connecting.len(), 20);
}

#[tokio::test]
async fn connect_after_the_registry_is_dropped_tells_the_model_to_continue() {
    let dropped = Registry::new();
    let connections = McpConnections::new(&dropped).allow_command(["sh"]);
    drop(dropped);
    let registry = Registry::new();
    registry.register_all(tool_mcp::tools(&connections)).unwrap();
    let dispatcher = Dispatcher::new(registry).policy(Policy::default().approver(Yes));
    let connect = json!({ "name": "shell", "command": ["sh"] });
    let result = use_tool(&dispatcher, "mcp_connect", connect).await.result;
    assert_eq!(result.error.as_deref(), Some(ToolErrorKind::Unavailable.code()));
    let text = "No server can be connected any more: continue with the tools you have.";
    assert_eq!(result.text, text);
}

#[cfg(unix)]
#[tokio::test]
async fn model_reads_no_standard_error_of_failed_connections() {
    const SERVER: &str = r#"while read -r line; do
        id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        case $line in
        *'"initialize"'*) r='"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}' ;;
        *'"tools/list"'*) r='"tools":[{"name":"go","description":"Goes.","inputSchema":{"type":"object"}}]' ;;
        *'"tools/call"'*) echo leaked >&2; exit 1 ;;
        *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":{%s}}\n' "$id" "$r"
    done"#;
    const FAILS: &str = "echo leaked >&2; exit 1";
    let registry = Registry::new();
    let connections = McpConnections::new(&registry)
        .allow_command(["sh", "-c"])
        .configure(|client| client.connect_timeout(std::time::Duration::from_secs(2)));
    registry.register_all(tool_mcp::tools(&connections)).unwrap();
    let dispatcher = Dispatcher::new(registry).policy(Policy::default().approver(Yes));
    let connect = json!({ "name": "fails", "command": ["sh", "-c", FAILS] });
    let failed = use_tool(&dispatcher, "mcp_connect", connect).await.result.text;
    assert_eq!(failed, "MCP server `fails`: connection failed; check its command or URL");

    let connect = json!({ "name": "ends", "command": ["sh", "-c", SERVER] });
    use_tool(&dispatcher, "mcp_connect", connect).await;
    let mut status = connections.connections()[0].status_changes();
    use_tool(&dispatcher, "ends__go", json!({})).await;
    let down = status.wait_for(|status| !status.is_connected()).await.unwrap().clone();
    assert!(down.to_string().contains("leaked"), "{down}");
    let listed = use_tool(&dispatcher, "mcp_list", json!({})).await.result.text;
    assert!(listed.contains("ends") && !listed.contains("leaked"), "{listed}");
}
