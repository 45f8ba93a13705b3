//! Lists of tools: what is registered, skipped and replaced.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::{ListLimits, McpEvent};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Effect, ModelError, Registry, ToolKind, async_trait,
};

use crate::server::{
    Server, answer, call, connect, error, handshake, names, notification, text, tool, wait_until,
    with_tools,
};

#[tokio::test]
async fn invalid_tools_are_skipped_and_reported() {
    let mut long = tool("long");
    long["description"] = Value::from("x".repeat(100_000));
    let mut bidi = tool("bidi");
    bidi["description"] = Value::from("Adds\u{202e} \u{e0041}two\u{7f} numbers.");
    let mut hidden = tool("hidden");
    hidden["inputSchema"]["properties"] = json!({ "a\u{200b}": { "type": "string" } });
    let mut silent = tool("silent");
    silent.as_object_mut().unwrap().remove("description");
    let bare = json!({ "name": "bare", "inputSchema": {} });
    let mut malformed = tool("malformed");
    malformed["inputSchema"]["properties"] = json!({ "a": { "minimum": "0" } });
    let tools = json!([
        tool("good"), { "name": 5 }, { "name": "no_schema" }, tool("not valid"), tool("good"),
        long, bidi, hidden, silent, bare, "text", tool(&"n".repeat(200)), tool("with__separator"),
        malformed,
    ]);
    let server = Server::default();
    let client = server.simple(with_tools(false, tools, |call| text(call, "ok")));
    let (registry, connection) = connect(client).await;
    let report = connection.tools().await;
    let registered =
        ["s__good", "s__long", "s__bidi", "s__silent", "s__bare", "s__with__separator"];
    assert_eq!(report.registered, registered);
    let skipped: Vec<_> = report.skipped.iter().map(|tool| tool.index).collect();
    assert_eq!(skipped, [1, 2, 3, 4, 7, 10, 11, 13]);
    let reason = &report.skipped[7].reason;
    assert!(reason.contains("keyword `properties.a.minimum` is \"0\""), "{reason}");
    assert!(!report.is_truncated);
    let tools = registry.snapshot();
    let entry = tools.entry("s__bidi").unwrap();
    let definition = entry.definition();
    assert!(definition.description.ends_with("Adds two numbers."));
    assert!(definition.description.contains("MCP server `s`, unverified"));
    assert_eq!(definition.kind, ToolKind::Remote("s".into()));
    assert_eq!((definition.effect, definition.idempotent), (Effect::External, false));
    assert_eq!(entry.provider(), Some("s"));
    assert!(entry.labels().eq(["dynamic"]));
    assert!(tools.get("good").is_none(), "only the prefixed name is called");
    assert!(call(&registry, "s__with__separator", "{}").await.result.error.is_none());
}

#[tokio::test]
async fn names_of_two_servers_do_not_collide() {
    let registry = Registry::new();
    for name in ["a", "b"] {
        let server = Server::default();
        let script = with_tools(false, json!([tool("find")]), move |call| text(call, name));
        server.simple(script).connect(name, &registry).await.unwrap();
    }
    assert_eq!(names(&registry), ["a__find", "b__find"]);
    assert!(call(&registry, "b__find", "{}").await.result.text.contains("\nb\n"));
    let client = Server::default().simple(with_tools(false, json!([]), |_| Vec::new()));
    let error = client.connect("a", &registry).await.unwrap_err();
    assert!(error.to_string().contains("already has a provider"), "{error}");
}

/// A script that answers lists by `page`.
fn paged(
    page: impl FnMut(Option<&str>) -> Value + Clone + Send + Sync + 'static,
) -> impl FnMut(&Value) -> Vec<crate::server::Action> + Clone + Send + Sync + 'static {
    let mut page = page;
    move |message| {
        handshake(message, false).unwrap_or_else(|| match message["method"].as_str() {
            Some("tools/list") => answer(message, page(message["params"]["cursor"].as_str())),
            _ => Vec::new(),
        })
    }
}

#[tokio::test]
async fn endless_and_huge_lists_are_cut() {
    let server = Server::default();
    let mut number = 0;
    let endless = paged(move |_| {
        number += 1;
        json!({ "tools": [tool(&format!("t{number}"))], "nextCursor": format!("c{number}") })
    });
    let client = server.simple(endless).list_limits(ListLimits::default().max_pages(5));
    let (_registry, connection) = connect(client).await;
    let report = connection.tools().await;
    assert_eq!((report.registered.len(), report.is_truncated), (5, true));
    assert_eq!(server.received("tools/list").len(), 5);

    let all: Vec<_> = (0..10_000).map(|n| tool(&format!("t{n}"))).collect();
    let huge = paged(move |_| json!({ "tools": all }));
    let (registry, connection) = connect(Server::default().simple(huge)).await;
    assert!(connection.tools().await.is_truncated);
    assert_eq!(registry.snapshot().entries().count(), 2_000);

    let big = paged(|_| json!({ "tools": [tool("a"), { "name": "x".repeat(9_000) }, tool("b")] }));
    let client = Server::default().simple(big).list_limits(ListLimits::default().max_bytes(8_000));
    let (registry, _) = connect(client).await;
    assert_eq!(names(&registry), ["s__a"]);
}

#[tokio::test]
async fn item_that_is_nested_too_deeply_is_skipped_alone() {
    for member in ["inputSchema", "outputSchema", "_meta", "annotations", "unknown"] {
        let mut deep = tool("deep");
        // Text, since a value of this depth can't be built by the tests either.
        let mark = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
        deep[member] = json!({ "type": "object", "x": "MARK" });
        let page = json!({ "tools": [tool("a"), deep, tool("b")] }).to_string();
        let page = page.replace("\"MARK\"", &mark);
        let script = move |message: &Value| {
            handshake(message, false).unwrap_or_else(|| {
                let id = &message["id"];
                let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{page}}}\n");
                vec![crate::server::Action::Raw(line.into_bytes())]
            })
        };
        let (registry, connection) = connect(Server::default().simple(script)).await;
        assert_eq!(names(&registry), ["s__a", "s__b"], "{member}");
        let skipped = connection.tools().await.skipped.remove(0);
        assert_eq!((skipped.index, skipped.name.as_deref()), (1, Some("deep")));
        assert!(skipped.reason.contains("nested too deeply"), "{}", skipped.reason);
    }
}

#[tokio::test]
async fn invalid_cursor_and_missing_list_are_errors() {
    let long = "c".repeat(8_193);
    for (page, expected) in [
        (json!({ "tools": [], "nextCursor": long }), "a cursor has 8193 bytes"),
        (json!({ "tools": [], "nextCursor": "same" }), "a cursor was repeated"),
        (json!({ "tool": [] }), "member `tools` is missing"),
        (json!({ "tools": {} }), "member `tools` is missing"),
    ] {
        let registry = Registry::new();
        let client = Server::default().simple(paged(move |_| page.clone()));
        let error = client.connect("s", &registry).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(names(&registry).is_empty());
    }
}

/// The tools of a server that the test changes.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<&'static str>>>);

impl Shelf {
    fn set(&self, names: &[&'static str]) {
        *self.0.lock().unwrap() = names.to_vec();
    }

    fn script(
        &self,
        is_modern: bool,
        ttl_ms: Option<u64>,
    ) -> impl FnMut(&Value) -> Vec<crate::server::Action> + Clone + Send + Sync + use<> + 'static
    {
        let shelf = self.clone();
        move |message| {
            if let Some(actions) = handshake(message, is_modern) {
                return actions;
            }
            let names = shelf.0.lock().unwrap().clone();
            match message["method"].as_str() {
                Some("tools/list") if names == ["broken"] => error(message, -32603, "broken"),
                Some("tools/list") => {
                    let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
                    let mut list = json!({ "tools": tools });
                    if let Some(ttl) = ttl_ms {
                        list["ttlMs"] = ttl.into();
                    }
                    answer(message, list)
                }
                _ => Vec::new(),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changed_list_is_replaced_without_a_gap_in_both_revisions() {
    for is_modern in [false, true] {
        let (server, shelf) = (Server::default(), Shelf::default());
        shelf.set(&["a", "b"]);
        let (registry, _) = connect(server.simple(shelf.script(is_modern, None))).await;
        wait_until(|| !is_modern || !server.received("subscriptions/listen").is_empty()).await;
        let mut changes = registry.changes();
        shelf.set(&["b", "c"]);
        let params = if !is_modern {
            json!({})
        } else {
            let id = &server.received("subscriptions/listen")[0]["id"];
            json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": id } })
        };
        server.send(notification("notifications/tools/list_changed", params));
        let tools = changes.changed().await.unwrap();
        let names: Vec<_> = tools.entries().map(|entry| entry.name()).collect();
        assert_eq!(names, ["s__b", "s__c"], "one change");
    }
}

#[tokio::test(start_paused = true)]
async fn flood_of_changes_is_one_list() {
    let (server, shelf) = (Server::default(), Shelf::default());
    shelf.set(&["a"]);
    let (registry, _) = connect(server.simple(shelf.script(false, None))).await;
    let mut changes = registry.changes();
    shelf.set(&["b"]);
    for _ in 0..5_000 {
        server.send(notification("notifications/tools/list_changed", json!({})));
    }
    changes.changed().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let lists = server.received("tools/list").len();
    assert!(lists < 30, "{lists} lists");
}

#[tokio::test(start_paused = true)]
async fn expired_list_is_requested_again() {
    let (server, shelf) = (Server::default(), Shelf::default());
    shelf.set(&["a"]);
    let (registry, _) = connect(server.simple(shelf.script(true, Some(60_000)))).await;
    let mut changes = registry.changes();
    shelf.set(&["b"]);
    let started = tokio::time::Instant::now();
    changes.changed().await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn list_that_expires_at_once_is_requested_once_a_second() {
    let (server, shelf) = (Server::default(), Shelf::default());
    shelf.set(&["a"]);
    let (_registry, _connection) = connect(server.simple(shelf.script(true, Some(1)))).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let lists = server.received("tools/list").len();
    assert!((50..=61).contains(&lists), "{lists} lists");
}

#[tokio::test(start_paused = true)]
async fn failed_list_is_an_error_and_keeps_the_tools() {
    let (server, shelf) = (Server::default(), Shelf::default());
    shelf.set(&["a"]);
    let failures = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&failures);
    let client = server.simple(shelf.script(false, None)).on_event(move |server, event| {
        if let McpEvent::ListFailed { reason } = event {
            reported.lock().unwrap().push(format!("{server}: {reason}"));
        }
    });
    let (registry, connection) = connect(client).await;
    shelf.set(&["broken"]);
    let error = connection.refresh().await.unwrap_err();
    assert!(error.to_string().contains("broken (code -32603)"), "{error}");
    server.send(notification("notifications/tools/list_changed", json!({})));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!failures.lock().unwrap().is_empty());
    assert_eq!(names(&registry), ["s__a"]);
    shelf.set(&["c"]);
    assert_eq!(connection.refresh().await.unwrap().registered, ["s__c"]);
}

#[tokio::test(start_paused = true)]
async fn equal_list_is_no_change() {
    let (server, shelf) = (Server::default(), Shelf::default());
    shelf.set(&["a", "b"]);
    let (registry, connection) = connect(server.simple(shelf.script(false, None))).await;
    let before = registry.snapshot();
    connection.refresh().await.unwrap();
    let after = registry.snapshot();
    for (old, new) in before.entries().zip(after.entries()) {
        assert!(Arc::ptr_eq(old.tool(), new.tool()));
    }
}

/// Records the definitions that it is offered.
#[derive(Clone, Default)]
struct Offered(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl ChatModel for Offered {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.0.lock().unwrap().push(serde_json::to_string(request.tools).unwrap());
        Ok(ChatReply::text("Done."))
    }
}

/// A prompt cache of a model provider is valid only for the same bytes.
#[tokio::test]
async fn order_of_a_list_does_not_change_what_models_are_offered() {
    let model = Offered::default();
    for first in [["c", "a", "b"], ["b", "a", "c"]] {
        let (server, shelf) = (Server::default(), Shelf::default());
        shelf.set(&first);
        let (registry, connection) = connect(server.simple(shelf.script(false, None))).await;
        let agent = Agent::new(model.clone(), registry.clone());
        let before = registry.snapshot();
        for order in [first, ["b", "c", "a"], ["a", "b", "c"]] {
            shelf.set(&order);
            connection.refresh().await.unwrap();
            agent.run("Go.").await.unwrap();
        }
        let after = registry.snapshot();
        for (old, new) in before.entries().zip(after.entries()) {
            assert!(Arc::ptr_eq(old.tool(), new.tool()), "the tools are not registered again");
        }
    }
    let offered = model.0.lock().unwrap();
    assert!(offered[0].contains("s__c"), "{}", offered[0]);
    assert!(offered.iter().all(|tools| *tools == offered[0]), "{offered:#?}");
    assert_eq!(offered.len(), 6);
}

#[tokio::test]
async fn keywords_of_a_schema_are_preserved() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": { "$anchor": "address", "type": "object", "properties": { "city": { "type": "string" } } },
        },
        "properties": {
            "name": { "type": "string", "description": "The name." },
            "address": { "$ref": "#/$defs/address" },
        },
        "additionalProperties": false,
        "allOf": [{ "anyOf": [{ "required": ["name"] }, { "required": ["address"] }] }],
        "if": { "required": ["name"] },
        "then": { "properties": { "name": { "minLength": 1 } } },
        "else": { "required": ["address"] },
    });
    let mut rich = tool("rich");
    rich["inputSchema"] = schema.clone();
    let client = Server::default().simple(paged(move |_| json!({ "tools": [rich] })));
    let (registry, _) = connect(client).await;
    let tools = registry.snapshot();
    assert_eq!(tools.definition("s__rich").unwrap().parameters.as_value(), &schema);
}
