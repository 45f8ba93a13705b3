//! Questions of a server that a client must not pass on.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_mcp::{Elicitation, ElicitationAction, ElicitationHandler, McpClient, Sampling};
use tool_runtime::{ChatReply, ScriptedModel, async_trait};

use crate::server::{Action, Server, answer, call, connect, text, tool, with_go, with_tools};

/// Agrees to everything and records what it was asked.
#[derive(Clone, Default)]
pub(crate) struct Agrees(Arc<Mutex<Vec<Elicitation>>>);

#[async_trait]
impl ElicitationHandler for Agrees {
    async fn elicit(&self, request: Elicitation) -> ElicitationAction {
        self.0.lock().unwrap().push(request);
        ElicitationAction::Accept(json!({}))
    }
}

impl Agrees {
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A server that sends the same request `count` times during a call, each after the answer to the
/// one before, and returns the answers.
fn client_of_asking_server(count: usize, method: &'static str, params: Value) -> McpClient {
    let state = Arc::new(Mutex::new((Value::Null, Vec::new())));
    let ask = move |id: usize| {
        let request = json!({
            "jsonrpc": "2.0", "id": 1_000 + id, "method": method, "params": params,
        });
        vec![Action::Send(request)]
    };
    let mut other = with_go(false, {
        let (state, ask) = (Arc::clone(&state), ask.clone());
        move |call| {
            *state.lock().unwrap() = (call.clone(), Vec::new());
            ask(0)
        }
    });
    Server::default().simple(move |message| {
        if message.get("method").is_some() {
            return other(message);
        }
        let mut state = state.lock().unwrap();
        let error = message["error"]["message"].as_str().map(str::to_owned);
        let answer = error.unwrap_or_else(|| message["result"].to_string());
        state.1.push(answer);
        if state.1.len() < count { ask(state.1.len()) } else { text(&state.0, &state.1.join(";")) }
    })
}

#[tokio::test]
async fn only_safe_addresses_are_shown_in_both_revisions() {
    let request =
        |url: &str| json!({ "mode": "url", "message": "Pay.", "url": url, "elicitationId": "1" });
    let long = format!("https://a.example/{}", "x".repeat(3_000));
    for (url, is_shown) in [
        ("https://a.example/pay", true),
        ("file:///etc/passwd", false),
        ("javascript:alert(1)", false),
        ("https://bank.example@evil.example/", false),
        (&*long, false),
    ] {
        let user = Agrees::default();
        let client = client_of_asking_server(1, "elicitation/create", request(url));
        let (registry, _) = connect(client.elicitation(user.clone())).await;
        let execution = call(&registry, "s__go", "{}").await;
        let has_error = execution.result.text.contains("the address");
        assert_eq!((user.count() == 1, has_error), (is_shown, !is_shown), "{url}: {execution:?}");

        let params = request(url);
        let client = Server::default().simple(with_go(true, move |call| {
            if call["params"]["inputResponses"]["pay"].is_null() {
                let pay = json!({ "method": "elicitation/create", "params": params });
                let requests = json!({ "pay": pay });
                let required = json!({ "resultType": "input_required", "inputRequests": requests });
                return answer(call, required);
            }
            text(call, "paid")
        }));
        let user = Agrees::default();
        let (registry, _) = connect(client.elicitation(user.clone())).await;
        let execution = call(&registry, "s__go", "{}").await;
        assert_eq!(user.count() == 1, is_shown, "{url}");
        assert_eq!(execution.result.text.contains("paid"), is_shown, "{url}: {execution:?}");
    }
}

/// Questions are saved with a paused run.
#[tokio::test]
async fn huge_questions_and_states_are_refused() {
    let form = |text: &str| {
        let properties = json!({ "seat": { "type": "string", "description": text } });
        let schema = json!({ "type": "object", "properties": properties });
        json!({ "mode": "form", "message": "Which seat?", "requestedSchema": schema })
    };
    for (form_bytes, state_bytes, expected) in [
        (1_000, 1_000, "seated"),
        (70_000, 1_000, "the form is too large"),
        (1_000, 2 << 20, "its state is too large"),
        // A question that is asked first, beside a large request for sampling.
        (0, 1_000, "its requests for input are too large"),
    ] {
        let (params, state) = (form(&"x".repeat(form_bytes)), "x".repeat(state_bytes));
        let client = Server::default().simple(with_go(true, move |call| {
            if call["params"]["inputResponses"]["seat"].is_null() {
                let seat = json!({ "method": "elicitation/create", "params": params });
                let mut required = json!({
                    "resultType": "input_required", "requestState": state,
                    "inputRequests": { "seat": seat },
                });
                if form_bytes == 0 {
                    let content = json!({ "type": "text", "text": "x".repeat(2 << 20) });
                    let params = json!({
                        "messages": [{ "role": "user", "content": content }], "maxTokens": 1,
                    });
                    let sampling = json!({ "method": "sampling/createMessage", "params": params });
                    required["inputRequests"]["text"] = sampling;
                }
                return answer(call, required);
            }
            text(call, "seated")
        }));
        let (registry, _) = connect(client.elicitation(Agrees::default())).await;
        let text = call(&registry, "s__go", "{}").await.result.text;
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[tokio::test]
async fn number_of_questions_during_a_call_is_limited() {
    let form = json!({
        "mode": "form", "message": "Sure?",
        "requestedSchema": { "type": "object", "properties": {} },
    });
    let user = Agrees::default();
    let client = client_of_asking_server(30, "elicitation/create", form).elicitation(user.clone());
    let (registry, _) = connect(client).await;
    for calls in 1..3 {
        let execution = call(&registry, "s__go", "{}").await;
        let text = &execution.result.text;
        assert_eq!(text.matches("limit of 20 questions").count(), 10, "{text}");
        assert_eq!(user.count(), 20 * calls, "each call has its own limit");
    }
}

#[tokio::test]
async fn prompt_of_a_server_is_bounded_before_it_is_paid() {
    for (parts, is_sent) in [
        (vec![json!({ "type": "text", "text": "x".repeat(900) })], true),
        (vec![json!({ "type": "text", "text": "x".repeat(1_100) })], false),
        (vec![json!({ "type": "text", "text": "x".repeat(400) }); 3], false),
        (
            vec![json!({ "type": "image", "data": "aaaa".repeat(300), "mimeType": "image/png" })],
            false,
        ),
    ] {
        let messages = json!([{ "role": "user", "content": parts }]);
        let params = json!({ "maxTokens": 10, "systemPrompt": "Hi.", "messages": messages });
        let model = ScriptedModel::new([ChatReply::text("Hello.")]);
        let sampling = Sampling::new(model).max_prompt_bytes(1_000);
        let client =
            client_of_asking_server(1, "sampling/createMessage", params).sampling(sampling);
        let (registry, _) = connect(client).await;
        let text = call(&registry, "s__go", "{}").await.result.text;
        assert_eq!(text.contains("Hello."), is_sent, "{text}");
        assert_eq!(text.contains("prompt limit of 1000 bytes exceeded"), !is_sent, "{text}");
    }
}

#[tokio::test]
async fn number_of_questions_is_limited_over_all_rounds_of_a_call() {
    let form = json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form", "message": "Sure?",
            "requestedSchema": { "type": "object", "properties": {} },
        },
    });
    let user = Agrees::default();
    let client = Server::default().simple(with_go(true, move |call| {
        let requests = json!({ "a": form, "b": form, "c": form });
        answer(call, json!({ "resultType": "input_required", "inputRequests": requests }))
    }));
    let (registry, _) = connect(client.elicitation(user.clone())).await;
    let text = call(&registry, "s__go", "{}").await.result.text;
    assert!(text.contains("it asked more than 20 questions"), "{text}");
    assert_eq!(user.count(), 20);
}

/// While a user is asked, ends the newest call. Accepts the next question.
struct Outlived {
    server: Server,
    calls: Arc<Mutex<Vec<Value>>>,
    tools: Arc<Mutex<Vec<Option<String>>>>,
}

#[async_trait]
impl ElicitationHandler for Outlived {
    async fn elicit(&self, request: Elicitation) -> ElicitationAction {
        let is_first = {
            let mut tools = self.tools.lock().unwrap();
            tools.push(request.tool);
            tools.len() == 1
        };
        if is_first {
            let newest = self.calls.lock().unwrap()[1].clone();
            text(&newest, "quick").into_iter().for_each(|action| self.server.send(action));
            std::future::pending::<()>().await;
        }
        ElicitationAction::Accept(json!({}))
    }
}

#[tokio::test]
async fn question_of_an_unknown_call_names_no_tool_and_outlives_the_newest_call() {
    let form = json!({
        "mode": "form", "message": "Sure?",
        "requestedSchema": { "type": "object", "properties": {} },
    });
    let user = Agrees::default();
    let client = client_of_asking_server(1, "elicitation/create", form.clone());
    let (registry, _) = connect(client.elicitation(user.clone())).await;
    call(&registry, "s__go", "{}").await;
    let only = user.0.lock().unwrap().remove(0);
    assert_eq!(only.tool.as_deref(), Some("go"), "a single call in flight is the one");

    let (server, calls) = (Server::default(), Arc::new(Mutex::new(Vec::new())));
    let tools = json!([tool("slow"), tool("quick")]);
    let mut other = with_tools(false, tools, {
        let calls = Arc::clone(&calls);
        move |call| {
            let mut calls = calls.lock().unwrap();
            calls.push(call.clone());
            let question = json!({
                "jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": form,
            });
            if calls.len() == 2 { vec![Action::Send(question)] } else { Vec::new() }
        }
    });
    let client = server.simple({
        let calls = Arc::clone(&calls);
        move |message| match message["result"]["action"].as_str() {
            Some(action) => text(&calls.lock().unwrap()[0], action),
            None => other(message),
        }
    });
    let tools = Arc::default();
    let user =
        Outlived { server: server.clone(), calls: Arc::clone(&calls), tools: Arc::clone(&tools) };
    let (registry, _) = connect(client.elicitation(user)).await;
    let (slow, quick) =
        tokio::join!(call(&registry, "s__slow", "{}"), call(&registry, "s__quick", "{}"));
    assert_eq!(calls.lock().unwrap()[0]["params"]["name"], "slow", "the calls are in this order");
    assert!(quick.result.text.contains("quick"), "{}", quick.result.text);
    assert!(slow.result.text.contains("accept"), "{}", slow.result.text);
    assert_eq!(*tools.lock().unwrap(), [None, None], "no call is named that may not have asked");
}
