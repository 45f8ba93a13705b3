//! Servers whose answer to `server/discover` takes longer than the SDK waits.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tool_runtime::Registry;

use crate::server::{Action, Server, answer, call, error, handshake, text, with_go};

/// How a server answers one of the two requests of a handshake.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reply {
    Silent,
    Good(u64),
    Unknown(u64),
}

/// Answers a message after some seconds.
fn later(server: &Server, seconds: u64, actions: Vec<Action>) -> Vec<Action> {
    let server = server.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        actions.into_iter().for_each(|action| server.send(action));
    });
    Vec::new()
}

async fn connected(discover: Reply, initialize: Reply) -> (Server, Option<String>, Duration) {
    let server = Server::default();
    let sender = server.clone();
    let client = server.simple(move |message| {
        let is_modern = message["method"] == "server/discover";
        let reply = match message["method"].as_str() {
            Some("server/discover") => discover,
            Some("initialize") => initialize,
            _ => {
                let is_modern = is_modern_request(message);
                return with_go(is_modern, |call| text(call, "ran"))(message);
            }
        };
        match reply {
            Reply::Silent => Vec::new(),
            Reply::Good(seconds) => later(&sender, seconds, handshake(message, is_modern).unwrap()),
            Reply::Unknown(seconds) => later(&sender, seconds, error(message, -32601, "unknown")),
        }
    });
    let (started, registry) = (Instant::now(), Registry::new());
    let connection = client.connect("s", &registry).await;
    let elapsed = started.elapsed();
    let status = connection.ok().map(|connection| connection.status().to_string());
    if status.is_some() {
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains("ran"), "{discover:?} {initialize:?}");
    }
    (server, status, elapsed)
}

fn is_modern_request(message: &Value) -> bool {
    let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    version == "2026-07-28"
}

#[tokio::test(start_paused = true)]
async fn slow_server_connects_on_its_first_transport() {
    use Reply::{Good, Silent, Unknown};
    const NEW: &str = "connected (2026-07-28)";
    const OLD: &str = "connected (2025-11-25)";
    for (discover, initialize, expected, seconds) in [
        // A server of the newest revision, which starts slowly.
        (Good(12), Unknown(0), NEW, 12),
        (Good(12), Unknown(1), NEW, 12),
        (Good(12), Unknown(3), NEW, 13),
        (Good(12), Unknown(5), NEW, 14),
        (Good(12), Silent, NEW, 14),
        (Good(40), Unknown(0), NEW, 40),
        (Good(40), Unknown(31), NEW, 41),
        // One that knows both.
        (Good(12), Good(3), OLD, 13),
        (Good(12), Good(1), OLD, 11),
        // A server of an older revision, which starts slowly, or ignores what it does not know.
        (Unknown(12), Good(2), OLD, 12),
        (Unknown(11), Good(30), OLD, 40),
        (Silent, Good(0), OLD, 10),
        // One that is fast.
        (Good(1), Unknown(0), NEW, 1),
        (Unknown(1), Good(1), OLD, 2),
    ] {
        let (server, status, elapsed) = connected(discover, initialize).await;
        let case = format!("{discover:?} {initialize:?}");
        assert_eq!(status.as_deref(), Some(expected), "{case}");
        assert_eq!((server.connections(), elapsed.as_secs()), (1, seconds), "{case}");
        let notified = server.received("notifications/initialized").len();
        assert_eq!(notified, usize::from(expected == OLD), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_answers_nothing_fails_in_time() {
    let (server, status, elapsed) = connected(Reply::Silent, Reply::Silent).await;
    assert_eq!(status, None);
    // The second attempt is made on a fresh transport.
    assert_eq!((server.connections(), elapsed.as_secs()), (2, 60));
    let (_, status, elapsed) = connected(Reply::Unknown(12), Reply::Unknown(0)).await;
    assert_eq!(status, None);
    assert!(elapsed < Duration::from_secs(60), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn answer_with_another_id_answers_nothing() {
    for id_of in [
        (|id: &Value| Value::from(id.to_string())) as fn(&Value) -> Value,
        |id| Value::from(format!(" {id}")),
        |id| Value::from(format!("0{id}")),
        |id| Value::from(id.as_u64().unwrap() + 1_000),
        |id| Value::from(id.as_f64().unwrap() + 0.5),
        |id| Value::from(-id.as_i64().unwrap() - 1),
        |id| json!([id]),
        |id| json!({ "id": id }),
        |_| json!(true),
        |_| Value::Null,
    ] {
        for is_error in [false, true] {
            let server = Server::default();
            let client = server.simple(with_go(true, move |call| {
                let stolen = json!({ "id": id_of(&call["id"]) });
                let mut actions = if is_error {
                    error(&stolen, -32603, "wrong")
                } else {
                    answer(&stolen, json!({ "content": [{ "type": "text", "text": "wrong" }] }))
                };
                let cancelled = json!({ "requestId": stolen["id"] });
                actions.push(crate::server::notification("notifications/cancelled", cancelled));
                actions.extend(text(call, "right"));
                actions
            }));
            let (registry, _connection) = crate::server::connect(client).await;
            let execution = call(&registry, "s__go", "{}").await;
            assert!(execution.result.text.contains("right"), "{is_error}: {execution:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answer_with_another_spelling_of_the_number_is_taken() {
    let server = Server::default();
    let client = server.simple(with_go(true, |call| {
        let spelled = Value::from(call["id"].as_f64().unwrap());
        assert!(spelled.to_string().ends_with(".0"));
        text(&json!({ "id": spelled }), "right")
    }));
    let (registry, _connection) = crate::server::connect(client).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.text.contains("right"), "{execution:?}");
}
