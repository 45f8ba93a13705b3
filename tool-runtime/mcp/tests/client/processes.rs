//! Servers that are programs: their environment, their end, what they leave behind.
#![cfg(unix)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tool_mcp::{McpClient, McpError, McpEvent};
use tool_runtime::Registry;

use crate::server::{call, connect};

/// A server in shell: `$1` runs before it reads, and each call runs `$2`.
const SCRIPT: &str = r#"
eval "$1"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    case $line in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"initialize"'*) reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) reply '{"tools":[{"name":"go","description":"Goes.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) eval "$2" ;;
    esac
done
eval "$3"
"#;

fn shell(start: &str, on_call: &str, at_end: &str) -> McpClient {
    McpClient::stdio("sh").args(["-c", SCRIPT, "sh", start, on_call, at_end])
}

fn text_reply(expression: &str) -> String {
    format!(r#"reply "{{\"content\":[{{\"type\":\"text\",\"text\":\"{expression}\"}}]}}""#)
}

/// Waits until a process is gone, or a zombie.
fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

async fn ends(pid: u32) {
    let ended = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), ended).await.expect("the process ends");
}

fn number(text: &str) -> u32 {
    let digits = text.split(|c: char| !c.is_ascii_digit());
    digits.filter_map(|digits| digits.parse().ok()).next().unwrap()
}

#[tokio::test]
async fn environment_holds_no_keys_unless_they_are_passed() {
    // Cargo sets this one for tests.
    let show =
        text_reply("manifest=$CARGO_MANIFEST_DIR given=$GIVEN folder=$PWD path=${PATH:+set}");
    let client = shell("", &show, "").env("GIVEN", "yes").current_dir("/");
    let (registry, connection) = connect(client).await;
    let text = call(&registry, "s__go", "{}").await.result.text;
    assert!(text.contains("manifest= given=yes folder=/ path=set"), "{text}");
    connection.disconnect().await;
    let (registry, _) = connect(shell("", &show, "").inherit_env()).await;
    let text = call(&registry, "s__go", "{}").await.result.text;
    assert!(text.contains("manifest=/"), "{text}");
}

#[tokio::test]
async fn process_and_its_children_end_with_the_connection() {
    // Ignores the end of its input and SIGTERM, and starts a child that holds its output.
    let start = "trap '' TERM; sleep 1000 & child=$!";
    let client = shell(start, &text_reply("$child"), "while :; do sleep 1; done");
    let (registry, connection) = connect(client).await;
    let child = number(&marked(&call(&registry, "s__go", "{}").await.result.text));
    assert!(is_alive(child));
    connection.disconnect().await;
    ends(child).await;
}

fn marked(text: &str) -> String {
    text.lines().nth(2).unwrap_or(text).to_owned()
}

#[tokio::test]
async fn dead_process_is_noticed_though_a_child_holds_its_output() {
    let client = shell("sleep 1000 & child=$!", "kill -9 $$", "");
    let (registry, connection) = connect(client).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert!(connection.connected().await.is_connected());
    connection.disconnect().await;
}

#[tokio::test]
async fn dropped_connect_future_ends_the_process() {
    let file = std::env::temp_dir().join(format!("tool-mcp-pid-{}", std::process::id()));
    let start = format!("echo $$ > {}; exec sleep 1000", file.display());
    let registry = Registry::new();
    let connecting = shell(&start, "", "").connect("s", &registry);
    let written = async {
        loop {
            match std::fs::read_to_string(&file) {
                Ok(pid) if pid.ends_with('\n') => return number(&pid),
                _ => tokio::task::yield_now().await,
            }
        }
    };
    let pid = tokio::select! {
        _ = connecting => unreachable!("the server never answers"),
        pid = written => pid,
    };
    ends(pid).await;
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn standard_error_is_reported_line_by_line() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&lines);
    let client = shell("printf 'one\\033[2J\\ntwo\\n' >&2", &text_reply("ok"), "").on_event(
        move |_, event| {
            if let McpEvent::Stderr { line } = event {
                recorded.lock().unwrap().push(line.clone());
            }
        },
    );
    let (_registry, connection) = connect(client).await;
    connection.disconnect().await;
    assert_eq!(*lines.lock().unwrap(), ["one[2J", "two"]);
}

#[tokio::test]
async fn missing_program_is_an_error_at_once() {
    let registry = Registry::new();
    let error = McpClient::stdio("no-such-program-here").connect("s", &registry).await.unwrap_err();
    assert!(matches!(error, McpError::Spawn { .. }), "{error}");
}

#[tokio::test]
async fn dead_process_is_noticed_though_a_stranger_writes_to_its_output() {
    // The writer leaves the process group, and ends by itself.
    let start = r#"setsid sh -c 'for i in $(seq 100); do
        printf "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n"
        sleep 0.1
    done' &"#;
    let (registry, connection) = connect(shell(start, "kill -9 $$", "")).await;
    let mut status = connection.status_changes();
    let started = std::time::Instant::now();
    let execution = call(&registry, "s__go", "{}").await;
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_INDETERMINATE"));
    status.wait_for(|status| !status.is_connected()).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    connection.disconnect().await;
}

#[tokio::test]
async fn failed_connection_names_how_the_program_ended_and_its_standard_error() {
    for (script, expected) in [
        ("exit 3", "the program exited with status 3 and wrote nothing to its standard error"),
        (
            "echo \"no module \u{202e}'x'; key $API_KEY\" >&2; exit 1",
            "the program exited with status 1; its standard error ends with: no module 'x'; key [redacted]",
        ),
        (
            "kill -9 $$",
            "the program was killed (signal: 9 (SIGKILL)) and wrote nothing to its standard error",
        ),
        (
            "echo \"no access for $2\" >&2; exit 1",
            "the program exited with status 1; its standard error ends with: no access for [redacted]",
        ),
    ] {
        let client = McpClient::stdio("sh")
            .args(["-c", script, "sh", "--token", "arg-secret"])
            .env("API_KEY", "key-of-ada");
        let error = client.connect("s", &Registry::new()).await.unwrap_err();
        assert!(matches!(error, McpError::Connect { .. }), "{error:?}");
        assert_eq!(error.to_string(), format!("MCP server `s`: connection failed: {expected}"));
    }
    // One that reads first, and one that does not end.
    let script = "read -r line; echo \"usage: x\" >&2; exit 2";
    let client = McpClient::stdio("sh").args(["-c", script]);
    let error = client.connect("s", &Registry::new()).await.unwrap_err().to_string();
    assert!(
        error.ends_with("exited with status 2; its standard error ends with: usage: x"),
        "{error}"
    );
    let client = McpClient::stdio("sh").args(["-c", "echo waits for a login >&2; sleep 1000"]);
    let client = client.connect_timeout(Duration::from_secs(2));
    let error = client.connect("s", &Registry::new()).await.unwrap_err().to_string();
    assert!(
        error.ends_with("timed out; its standard error ends with: waits for a login"),
        "{error}"
    );
}

#[tokio::test]
async fn killed_process_is_reported_without_the_failure_of_its_list() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&events);
    let changed = r#"printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'"#;
    // The process dies when it has received the request of the list.
    let on_call = format!("{changed}; read -r line; kill -9 $$");
    let client = shell("", &on_call, "").on_event(move |_, event| {
        if let McpEvent::ListFailed { reason } | McpEvent::Disconnected { reason } = event {
            recorded.lock().unwrap().push(reason.clone());
        }
    });
    let (registry, connection) = connect(client).await;
    let mut status = connection.status_changes();
    call(&registry, "s__go", "{}").await;
    status.wait_for(|status| !status.is_connected()).await.unwrap();
    let expected =
        "the program was killed (signal: 9 (SIGKILL)) and wrote nothing to its standard error";
    assert_eq!(*events.lock().unwrap(), [expected]);
    connection.disconnect().await;
}

#[tokio::test]
async fn lost_connection_names_how_the_program_ended_and_its_standard_error() {
    let exit = "echo disk full >&2; exit 4";
    let exited = "down: the program exited with status 4; its standard error ends with: disk full";
    let attempts = [
        ("", exit, exited),
        // Another process holds the output.
        ("setsid sleep 5 &", exit, exited),
        // A server that closes its output and continues to run.
        ("", "exec >&-; sleep 2", "down: the connection ended"),
    ];
    join_all(attempts.map(async |(start, on_call, expected)| {
        let (registry, connection) = connect(shell(start, on_call, "")).await;
        let mut status = connection.status_changes();
        call(&registry, "s__go", "{}").await;
        let down = status.wait_for(|status| !status.is_connected()).await.unwrap().to_string();
        assert_eq!(down, expected);
        connection.disconnect().await;
    }))
    .await;
}

#[tokio::test]
async fn secret_that_a_program_repeats_in_an_error_is_redacted() {
    let on_call = r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s %s","data":"%s"}}\n' "$id" "$KEY" "$5" "$KEY""#;
    let client = shell("", on_call, "").args(["--token", "hunter22"]).env("KEY", "hunter33");
    let (registry, _connection) = connect(client).await;
    let execution = call(&registry, "s__go", "{}").await;
    let text = &execution.result.text;
    assert!(text.contains("[redacted] [redacted]"), "{text}");
    let record = serde_json::to_string(&execution).unwrap();
    assert!(!record.contains("hunter"), "{record}");
}

#[tokio::test]
async fn secret_that_a_program_repeats_in_a_failed_result_is_redacted() {
    for result in [
        r#"{\"content\":[{\"type\":\"text\",\"text\":\"got $KEY\"}],\"isError\":true}"#,
        r#"{\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\",\"text\":\"got $KEY\"}],\"isError\":true}"#,
        r#"{\"content\":[],\"structuredContent\":{\"key\":\"$KEY\"},\"isError\":true}"#,
        r#"{\"content\":[],\"structuredContent\":{\"$KEY\":1},\"isError\":true}"#,
        r#"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"http://x\",\"text\":\"$KEY\"}}],\"isError\":true}"#,
        r#"{\"content\":[{\"type\":\"resource_link\",\"uri\":\"http://x/$KEY\",\"name\":\"x\"}],\"isError\":true}"#,
        r#"{\"content\":[{\"type\":\"text\",\"text\":\"a$KEY$KEY\"}],\"isError\":true}"#,
    ] {
        let client = shell("", &format!("reply \"{result}\""), "").env("KEY", "hunter33");
        let (registry, _connection) = connect(client).await;
        let execution = call(&registry, "s__go", "{}").await;
        assert!(!execution.is_success(), "{result}");
        let record = serde_json::to_string(&execution).unwrap();
        assert!(record.contains("redacted") && !record.contains("hunter"), "{result}: {record}");
    }
}

#[tokio::test]
async fn secret_that_a_program_repeats_in_a_notification_is_redacted() {
    let cut = "x".repeat(1_996);
    for (method, params) in [
        ("notifications/message", r#"{\"level\":\"info\",\"data\":\"got $KEY\"}"#.to_owned()),
        ("notifications/message", r#"{\"level\":\"info\",\"data\":{\"key\":\"$KEY\"}}"#.to_owned()),
        ("notifications/message", r#"{\"level\":\"info\",\"data\":[\"$KEY\"]}"#.to_owned()),
        ("notifications/message", r#"{\"level\":\"info\",\"data\":{\"$KEY\":1}}"#.to_owned()),
        ("notifications/message", format!(r#"{{\"level\":\"info\",\"data\":\"{cut}$KEY\"}}"#)),
        ("notifications/resources/updated", r#"{\"uri\":\"http://x/$KEY\"}"#.to_owned()),
    ] {
        let events = Arc::new(Mutex::new(Vec::new()));
        let notify = format!(
            r#"printf '%s\n' "{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}""#
        );
        let on_call = format!("{notify}; {}", text_reply("ok"));
        let client = shell("", &on_call, "").env("KEY", "hunter33").on_event({
            let events = Arc::clone(&events);
            move |_, event| {
                if matches!(event, McpEvent::Log { .. } | McpEvent::ResourceUpdated { .. }) {
                    events.lock().unwrap().push(format!("{event:?}"));
                }
            }
        });
        let (registry, _connection) = connect(client).await;
        call(&registry, "s__go", "{}").await;
        let event_arrives = async {
            while events.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), event_arrives).await.expect(&params);
        let event = events.lock().unwrap().concat();
        assert!(!event.contains("hunt"), "{params}: {event}");
        assert!(event.contains("[red"), "{params}: {event}");
    }
}
