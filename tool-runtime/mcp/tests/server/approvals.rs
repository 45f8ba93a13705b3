//! Approvals: by elicitation, by input that is required, or denied.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tool_mcp::McpServer;
use tool_runtime::{Dispatcher, Policy, Registry, ToolContext, tool, tools};

use crate::client::{Client, NEW, OLD, text};

/// Pays an order.
#[tool(permission = "ask")]
async fn pay(amount: u32, #[arg(secret)] card: String, ctx: &ToolContext) -> String {
    if let Some(paid) = ctx.get::<Arc<AtomicU32>>() {
        paid.fetch_add(amount, Ordering::Relaxed);
    }
    format!("{amount} paid, {} digits", card.len())
}

fn server(paid: &Arc<AtomicU32>) -> McpServer {
    let policy = Policy::new().approver(tool_runtime::dispatch::AskLater);
    let dispatcher = Dispatcher::new(Registry::try_from(tools![pay]).unwrap())
        .policy(policy)
        .extension(Arc::clone(paid));
    McpServer::new(dispatcher)
}

fn order(amount: u32) -> Value {
    json!({ "name": "pay", "arguments": { "amount": amount, "card": "4111" } })
}

/// The replies that a user can give, and the text that the model then reads.
const REPLIES: [(&str, Option<bool>, &str); 4] = [
    ("accept", Some(true), "5 paid, 10 digits"),
    ("accept", Some(false), "`pay` was not approved: the user declined"),
    ("decline", None, "`pay` was not approved: the user declined"),
    ("cancel", None, "`pay` was not approved: the user declined"),
];

fn reply(action: &str, approve: Option<bool>) -> Value {
    match approve {
        Some(approve) => json!({ "action": action, "content": { "approve": approve } }),
        None => json!({ "action": action }),
    }
}

fn check_question(params: &Value) {
    let message = params["message"].as_str().unwrap();
    assert_eq!(message, r#"Allow `pay` with {"amount":5,"card":"[redacted]"}?"#);
    assert_eq!(params["requestedSchema"]["required"], json!(["approve"]));
}

#[tokio::test]
async fn sessions_ask_the_user_for_approval() {
    for (action, approve, expected) in REPLIES {
        let paid = Arc::<AtomicU32>::default();
        let mut client = Client::connect(server(&paid), OLD).await;
        let id = client.start("tools/call", order(5)).await;
        let question = client.next().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        check_question(&question["params"]);
        assert_eq!(paid.load(Ordering::Relaxed), 0);
        client.answer(&question, reply(action, approve)).await;
        let result = client.response(id).await["result"].clone();
        assert_eq!(text(&result).replace("4 digits", "10 digits"), expected, "{action}");
        assert_eq!(paid.load(Ordering::Relaxed) == 5, approve == Some(true));
    }
}

#[tokio::test]
async fn stateless_clients_send_the_call_again_with_the_approval() {
    for (action, approve, expected) in REPLIES {
        let paid = Arc::<AtomicU32>::default();
        let mut client = Client::connect(server(&paid), NEW).await;
        let pending = client.request("tools/call", order(5)).await["result"].clone();
        assert_eq!(pending["resultType"], "input_required", "{pending}");
        let question = &pending["inputRequests"]["answer"];
        assert_eq!(question["method"], "elicitation/create");
        check_question(&question["params"]);

        let mut retry = order(5);
        retry["requestState"] = pending["requestState"].clone();
        retry["inputResponses"] = json!({ "answer": reply(action, approve) });
        let result = client.request("tools/call", retry).await["result"].clone();
        assert_eq!(text(&result).replace("4 digits", "10 digits"), expected, "{action}");
        assert_eq!(paid.load(Ordering::Relaxed) == 5, approve == Some(true));
    }
}

#[tokio::test]
async fn approvals_are_void_for_anything_else_than_was_asked() {
    let paid = Arc::<AtomicU32>::default();
    let mut client = Client::connect(server(&paid), NEW).await;
    let pending = client.request("tools/call", order(5)).await["result"].clone();
    let state = pending["requestState"].as_str().unwrap();
    let yes = json!({ "answer": reply("accept", Some(true)) });

    let (head, tail) = state.split_at(state.len() / 2);
    let flipped = if tail.starts_with('A') { 'B' } else { 'A' };
    let forged = format!("{head}{flipped}{}", &tail[1..]);
    for (amount, state) in [(500, state), (5, &forged), (5, ""), (5, "x.y.z")] {
        let mut retry = order(amount);
        retry["requestState"] = state.into();
        retry["inputResponses"] = yes.clone();
        let refused = client.request("tools/call", retry).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    // Without an answer, or with one to something else, the question is repeated.
    for responses in
        [json!({}), json!({ "other": reply("accept", Some(true)) }), json!({ "answer": 7 })]
    {
        let mut retry = order(5);
        retry["requestState"] = state.into();
        retry["inputResponses"] = responses;
        let result = client.request("tools/call", retry).await["result"].clone();
        assert_eq!(result["resultType"], "input_required", "{result}");
    }
    // An answer without a state approves nothing.
    let mut retry = order(5);
    retry["inputResponses"] = yes;
    let result = client.request("tools/call", retry).await["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert_eq!(paid.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn approvals_are_void_after_the_tool_has_changed() {
    mod changed {
        use super::*;

        /// Pays an order, and closes the account.
        #[tool(permission = "ask")]
        pub(super) async fn pay(amount: u32, #[arg(secret)] card: String) -> String {
            format!("{amount} paid, {} digits, closed", card.len())
        }
    }

    let registry = Registry::try_from(tools![pay]).unwrap();
    let mut client = Client::connect(McpServer::new(registry.clone()), NEW).await;
    let approved = |pending: &Value| {
        let mut retry = order(5);
        retry["requestState"] = pending["requestState"].clone();
        retry["inputResponses"] = json!({ "answer": reply("accept", Some(true)) });
        retry
    };
    let pending = client.request("tools/call", order(5)).await["result"].clone();
    registry.register_all(tools![changed::pay]).unwrap();
    let asked_again = client.request("tools/call", approved(&pending)).await["result"].clone();
    assert_eq!(asked_again["resultType"], "input_required", "{asked_again}");
    let result = client.request("tools/call", approved(&asked_again)).await["result"].clone();
    assert_eq!(text(&result), "5 paid, 4 digits, closed");
}

#[tokio::test]
async fn clients_that_cannot_ask_are_denied() {
    for revision in [OLD, NEW] {
        let paid = Arc::<AtomicU32>::default();
        let mut client = Client::with(server(&paid), revision, json!({})).await;
        let result = client.request("tools/call", order(5)).await["result"].clone();
        let expected = "`pay` needs an approval or other input, which this client can't give: it \
                        does not support `elicitation`. Go on without this tool.";
        assert_eq!((text(&result), &result["isError"]), (expected, &json!(true)));
        assert_eq!(paid.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn tools_without_a_policy_ask_the_user() {
    let mut client = Client::connect(McpServer::new(tools![pay]), NEW).await;
    let pending = client.request("tools/call", order(5)).await["result"].clone();
    assert_eq!(pending["resultType"], "input_required", "{pending}");
}

#[tokio::test]
async fn answers_that_fit_no_question_end_the_call() {
    for answer in [json!({}), json!({ "action": "accept", "content": { "approve": "yes" } })] {
        let paid = Arc::<AtomicU32>::default();
        let mut client = Client::connect(server(&paid), OLD).await;
        let id = client.start("tools/call", order(5)).await;
        let question = client.next().await;
        client.answer(&question, answer).await;
        let result = client.response(id).await["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(paid.load(Ordering::Relaxed), 0);
    }
}
