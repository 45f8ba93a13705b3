//! Notifications of changes, in both revisions.

use serde_json::json;
use tool_mcp::McpServer;
use tool_mcp::server::{Prompt, PromptMessage, Prompts, Resources};
use tool_runtime::message::{ResourceData, ResourceLink};
use tool_runtime::{Registry, tool, tools};

use crate::client::{Client, NEW, OLD};

/// Tells the time.
#[tool(effect = "read")]
async fn now() -> &'static str {
    "noon"
}

struct Offers {
    registry: Registry,
    resources: Resources,
    prompts: Prompts,
}

impl Offers {
    fn new() -> Self {
        let resources = Resources::new();
        insert(&resources, "a://1");
        Self { registry: Registry::new(), resources, prompts: Prompts::new() }
    }

    fn server(&self) -> McpServer {
        McpServer::new(self.registry.clone())
            .resources(self.resources.clone())
            .prompts(self.prompts.clone())
    }

    fn change_everything(&self) {
        self.registry.register_all(tools![now]).unwrap();
    }
}

fn insert(resources: &Resources, uri: &str) {
    resources.insert(ResourceLink::new(uri, "a"), |_| async { Ok(ResourceData::Text("a".into())) });
}

async fn expect(client: &mut Client, method: &str) -> serde_json::Value {
    let message = client.next().await;
    assert_eq!(message["method"], method, "{message}");
    message
}

#[tokio::test]
async fn sessions_are_notified_of_changes() {
    let offers = Offers::new();
    let mut client = Client::connect(offers.server(), OLD).await;
    // The response shows that the session has started.
    assert!(
        client.request("resources/subscribe", json!({ "uri": "a://1" })).await["error"].is_null()
    );

    offers.change_everything();
    expect(&mut client, "notifications/tools/list_changed").await;
    insert(&offers.resources, "a://2");
    expect(&mut client, "notifications/resources/list_changed").await;
    offers.prompts.insert(Prompt::new("p"), |_| async { Ok(vec![PromptMessage::user("p")]) });
    expect(&mut client, "notifications/prompts/list_changed").await;
    offers.resources.notify_updated("a://2");
    offers.resources.notify_updated("a://1");
    let updated = expect(&mut client, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "a://1", "only what was subscribed to");

    client.request("resources/unsubscribe", json!({ "uri": "a://1" })).await;
    offers.resources.notify_updated("a://1");
    assert!(offers.prompts.remove("p"));
    expect(&mut client, "notifications/prompts/list_changed").await;
}

#[tokio::test]
async fn subscriptions_are_notified_of_what_they_asked_for() {
    let offers = Offers::new();
    let mut client = Client::connect(offers.server(), NEW).await;
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a://1"] });
    let id = client.start("subscriptions/listen", json!({ "notifications": filter })).await;
    let accepted = expect(&mut client, "notifications/subscriptions/acknowledged").await;
    assert_eq!(accepted["params"]["notifications"], filter, "{accepted}");

    offers.prompts.insert(Prompt::new("p"), |_| async { Ok(vec![PromptMessage::user("p")]) });
    insert(&offers.resources, "a://2");
    offers.resources.notify_updated("a://2");
    offers.resources.notify_updated("a://1");
    let updated = expect(&mut client, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "a://1");
    offers.change_everything();
    let changed = expect(&mut client, "notifications/tools/list_changed").await;
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
}

#[tokio::test]
async fn cancelled_server_ends_sessions_and_subscriptions() {
    for revision in [OLD, NEW] {
        let stop = tool_runtime::CancellationToken::new();
        let server = Offers::new().server().cancellation(stop.clone());
        let mut client = Client::connect(server, revision).await;
        if revision == NEW {
            let filter = json!({ "notifications": { "toolsListChanged": true } });
            client.start("subscriptions/listen", filter).await;
            expect(&mut client, "notifications/subscriptions/acknowledged").await;
        }
        stop.cancel();
        while client.read().await.is_some() {}
        client.server.await.unwrap().unwrap();
    }
}
