//! Servers on HTTP that repeat the secrets which they received.

use serde_json::json;
use tool_mcp::McpClient;
use tool_runtime::Registry;

use crate::http::{connect, good, json_reply, progress_of_call, serve};
use crate::server::{Action, call, error, text};

#[tokio::test]
async fn secrets_that_the_server_returns_are_redacted_in_the_error() {
    let echo = "got bearer-secret, header-secret and query-secret";
    let server = serve(move |_| (400, vec![("content-type", "text/plain")], echo.into())).await;
    let client = McpClient::http(format!("{}?key=query-secret", server.url))
        .bearer("bearer-secret")
        .header("x-key", "header-secret");
    let error = client.connect("s", &Registry::new()).await.unwrap_err().to_string();
    assert!(error.contains("got [redacted], [redacted] and [redacted]"), "{error}");
    assert!(!error.contains("-secret"), "{error}");
}

#[tokio::test]
async fn secret_that_a_server_repeats_in_progress_is_redacted() {
    for is_modern in [false, true] {
        let server = serve(move |message| {
            good(message, is_modern, |call| {
                let token = &call["params"]["_meta"]["progressToken"];
                let params = json!({
                    "progressToken": token, "progress": 1, "message": "received bearer-secret",
                });
                let progress = json!({
                    "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
                });
                let Some(Action::Send(result)) = text(call, "ok").into_iter().next() else {
                    unreachable!("a text is sent")
                };
                let body = format!("data: {progress}\n\ndata: {result}\n\n");
                (200, vec![("content-type", "text/event-stream")], body)
            })
        })
        .await;
        let progress = progress_of_call(McpClient::http(&server.url)).await;
        assert_eq!(progress, ["received [redacted]"], "{is_modern}");
    }
}

#[tokio::test]
async fn secret_that_a_server_repeats_in_an_error_is_redacted() {
    let client = |url: &str| {
        let url = format!("{url}?key=query-secret");
        McpClient::http(url).bearer("bearer-secret").header("x-key", "header-secret")
    };
    for repeated in [
        "bearer-secret",
        "query-secret",
        "header-secret",
        "Bearer bearer-secret!",
        "bearer-\u{200b}secret",
        "header-secretheader-secret",
    ] {
        let server = serve(move |message| {
            good(message, false, |call| {
                let data = json!({ "received": [repeated], repeated: 1 });
                let error = json!({ "code": -32602, "message": repeated, "data": data });
                let error = json!({ "jsonrpc": "2.0", "id": call["id"], "error": error });
                json_reply(vec![Action::Send(error)])
            })
        })
        .await;
        let (registry, connection) = connect(client(&server.url)).await.unwrap();
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains("[redacted]"), "{}", execution.result.text);
        let record = format!("{execution:?} {}", serde_json::to_string(&execution).unwrap());
        for secret in ["bearer-secret", "query-secret", "header-secret", "\u{200b}"] {
            assert!(!record.contains(secret), "{repeated:?}: {record}");
        }
        drop(connection);

        // A request of the program.
        let server = serve(move |message| {
            if message["method"] == "resources/list" {
                return json_reply(error(message, -32000, repeated));
            }
            good(message, false, |call| json_reply(text(call, "done")))
        })
        .await;
        let (_registry, connection) = connect(client(&server.url)).await.unwrap();
        let failed = connection.resources().await.unwrap_err();
        let record = format!("{failed} {failed:?}");
        assert!(record.contains("[redacted]"), "{repeated:?}: {record}");
        assert!(!record.contains("-secret"), "{repeated:?}: {record}");
    }
}

#[tokio::test]
async fn credentials_that_a_server_repeats_at_a_step_are_redacted() {
    /// Of `ada:hunter#22`.
    const BASIC: &str = "Basic YWRhOmh1bnRlciMyMg==";
    for step in ["initialize", "tools/list", "tools/call"] {
        for repeated in ["hunter#22", "ada:hunter#22", "hunter%2322", BASIC, "header-secret"] {
            for is_in_url in [true, false] {
                if repeated.contains('%') && !is_in_url {
                    continue;
                }
                let server = serve(move |message| {
                    if message["method"] == step {
                        return json_reply(error(message, -32000, repeated));
                    }
                    good(message, false, |_| unreachable!())
                })
                .await;
                let client = if is_in_url {
                    McpClient::http(server.url.replace("//", "//ada:hunter%2322@"))
                } else {
                    McpClient::http(&server.url).header("authorization", BASIC)
                };
                let record = match connect(client.header("x-key", "header-secret")).await {
                    Err(error) => format!("{error} {error:?}"),
                    Ok((registry, _connection)) => {
                        format!("{:?}", call(&registry, "s__go", "{}").await)
                    }
                };
                let headers = server.headers.lock().unwrap().last().cloned().unwrap();
                assert_eq!(headers["authorization"], BASIC);
                assert!(record.contains("[redacted]"), "{step}: {repeated}: {record}");
                for secret in ["hunter", "YWRhOmh1bnRl", "header-secret"] {
                    assert!(!record.contains(secret), "{step}: {repeated}: {record}");
                }
            }
        }
    }
}
