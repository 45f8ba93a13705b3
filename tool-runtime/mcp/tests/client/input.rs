//! Requests of a server during a call: elicitation, sampling, roots.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::{
    ElicitLater, Elicitation, ElicitationAction, ElicitationHandler, McpClient, Sampling,
};
use tool_runtime::agent::{Limits, Paused, Prices};
use tool_runtime::models::ModelInfo;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, EffectRecord, Message, ModelError, ScriptedModel,
    StopReason, ToolErrorKind, Usage, async_trait,
};

use crate::server::{Action, Server, answer, call, connect, error, text, wait_until, with_go};

fn form() -> Value {
    json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form", "message": "Which se\u{430}t?",
            "requestedSchema": {
                "type": "object",
                "properties": { "seat": { "type": "string", "enum": ["window", "aisle"] } },
                "required": ["seat"],
            },
        },
    })
}

/// A server of the revision 2026-07-28 whose tool asks for a seat.
fn asking_client(server: &Server) -> McpClient {
    server.simple(with_go(true, |call| {
        let answer_of = &call["params"]["inputResponses"]["seat"];
        if answer_of.is_null() {
            return answer(
                call,
                json!({
                    "resultType": "input_required", "requestState": "sealed",
                    "inputRequests": { "seat": form() },
                }),
            );
        }
        if call["params"]["requestState"] != "sealed" {
            return error(call, -32602, "wrong state");
        }
        text(call, &format!("{}: {}", answer_of["action"], answer_of["content"]["seat"]))
    }))
}

struct Answers(Mutex<Vec<Elicitation>>, ElicitationAction);

#[async_trait]
impl ElicitationHandler for Answers {
    async fn elicit(&self, request: Elicitation) -> ElicitationAction {
        self.0.lock().unwrap().push(request);
        self.1.clone()
    }
}

fn answers(answer: ElicitationAction) -> Arc<Answers> {
    Arc::new(Answers(Mutex::default(), answer))
}

#[tokio::test]
async fn handler_answers_in_both_revisions() {
    let accept = ElicitationAction::Accept(json!({ "seat": "aisle" }));
    for (answer, expected) in [
        (accept, r#""accept": "aisle""#),
        (ElicitationAction::Decline, r#""decline": null"#),
        (ElicitationAction::Cancel, r#""cancel": null"#),
    ] {
        let handler = answers(answer);
        let client = asking_client(&Server::default()).elicitation(Arc::clone(&handler));
        let (registry, _) = connect(client).await;
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains(expected), "{}", execution.result.text);
        let question = handler.0.lock().unwrap().remove(0);
        assert_eq!((question.server.as_str(), question.tool.as_deref()), ("s", Some("go")));
        assert_eq!(question.message, "Which se<U+0430>t?");

        let (server, pending) = (Server::default(), Arc::new(Mutex::new(Value::Null)));
        let client = server.simple({
            let mut other = with_go(false, {
                let pending = Arc::clone(&pending);
                move |call| {
                    *pending.lock().unwrap() = call.clone();
                    let mut question = form();
                    question["jsonrpc"] = "2.0".into();
                    question["id"] = 77.into();
                    vec![Action::Send(question)]
                }
            });
            move |message| {
                if message["id"] == 77 {
                    let result = &message["result"];
                    let reply = format!("{}: {}", result["action"], result["content"]["seat"]);
                    text(&pending.lock().unwrap().clone(), &reply)
                } else {
                    other(message)
                }
            }
        });
        let (registry, _) = connect(client.elicitation(Arc::clone(&handler))).await;
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains(expected), "{}", execution.result.text);
    }
}

#[tokio::test]
async fn answer_that_does_not_match_is_not_sent() {
    let server = Server::default();
    let wrong = answers(ElicitationAction::Accept(json!({ "seat": "roof" })));
    let (registry, _) = connect(asking_client(&server).elicitation(wrong)).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::ExecutionFailed.code()));
    assert_eq!(server.received("tools/call").len(), 1);
}

#[tokio::test]
async fn question_pauses_a_run_that_another_process_resumes() {
    let model = || {
        ScriptedModel::new([ChatReply::default().call("s__go", "{}"), ChatReply::text("Booked.")])
    };
    let (registry, _) = connect(asking_client(&Server::default()).elicitation(ElicitLater)).await;
    let stopped = Agent::new(model(), registry).run("Book a seat.").await.unwrap_err();
    let StopReason::AwaitingApproval(paused) = stopped.reason else { panic!() };
    let saved = serde_json::to_string(&paused).unwrap();

    // Another process: a new connection, and the run from its saved state.
    let (registry, _) = connect(asking_client(&Server::default()).elicitation(ElicitLater)).await;
    let mut paused: Paused = serde_json::from_str(&saved).unwrap();
    let pending = &paused.pending()[0];
    let question = pending.question().unwrap().into_owned();
    assert!(question.contains("MCP server `s` asks: Which"), "{question}");
    assert!(pending.answer_schema().unwrap()["properties"].get("seat").is_some());
    let id = pending.call.id.clone();
    paused.answer(&id, json!({ "seat": "roof" }), "Ada").unwrap();
    let model = ScriptedModel::new([ChatReply::text("Booked.")]);
    let agent = Agent::new(model, registry);
    let stopped = agent.resume(paused).finish().await.unwrap_err();
    let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!() };
    let question = paused.pending()[0].question().unwrap().into_owned();
    assert!(question.starts_with("The answer does not match"), "{question}");
    paused.answer(&id, json!({ "seat": "aisle" }), "Ada").unwrap();
    let answer = agent.resume(*paused).finish().await.unwrap();
    assert_eq!(answer.text, "Booked.");
}

#[tokio::test]
async fn endless_questions_end() {
    let server = Server::default();
    let client = server.simple(with_go(true, |call| {
        answer(call, json!({ "resultType": "input_required", "inputRequests": { "seat": form() } }))
    }));
    let (registry, _) = connect(client.elicitation(answers(ElicitationAction::Decline))).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.text.contains("more than 10 times"), "{}", execution.result.text);
    assert_eq!(server.received("tools/call").len(), 11);
}

/// A server that asks the model `count` times before it answers a call.
fn sampling_client(server: &Server, count: usize) -> McpClient {
    let pending = Arc::new(Mutex::new((Value::Null, Vec::new())));
    let ask = |id: usize| {
        Action::Send(json!({
            "jsonrpc": "2.0", "id": 1_000 + id, "method": "sampling/createMessage",
            "params": {
                "maxTokens": 100_000, "systemPrompt": "Be short.",
                "messages": [{ "role": "user", "content": { "type": "text", "text": "Hi?" } }],
            },
        }))
    };
    let mut other = with_go(false, {
        let pending = Arc::clone(&pending);
        move |call| {
            pending.lock().unwrap().0 = call.clone();
            vec![ask(0)]
        }
    });
    server.simple(move |message| {
        if message.get("method").is_some() {
            return other(message);
        }
        let mut pending = pending.lock().unwrap();
        let result = &message["result"];
        let reply = result["content"]["text"].as_str();
        let reply = reply.map(|text| format!("{text} by {}", result["model"].as_str().unwrap()));
        let failure = || message["error"]["message"].as_str().unwrap_or("?").to_owned();
        let reply = reply.unwrap_or_else(failure);
        pending.1.push(reply);
        if pending.1.len() < count {
            vec![ask(pending.1.len())]
        } else {
            text(&pending.0, &pending.1.join("; "))
        }
    })
}

#[tokio::test]
async fn sampling_is_off_by_default_and_limited() {
    let (registry, _) = connect(sampling_client(&Server::default(), 1)).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.text.contains("sampling is off"), "{}", execution.result.text);

    let reply = || ChatReply::text("Hello.").usage(Usage::new(10, 2));
    let model = ScriptedModel::new([reply(), reply()]);
    let sampling = Sampling::new(model).max_requests(2).max_tokens(50);
    let client = sampling_client(&Server::default(), 4).sampling(sampling);
    let (registry, _) = connect(client).await;
    let execution = call(&registry, "s__go", "{}").await;
    let text = &execution.result.text;
    assert!(
        text.contains(
            "Hello. by unknown; Hello. by unknown; sampling limit of 2 requests exceeded"
        ),
        "{text}"
    );
    let tokens = execution.effects.iter().filter_map(|effect| match effect {
        EffectRecord::TokensSpent { usage, .. } => Some(usage.input_tokens + usage.output_tokens),
        _ => None,
    });
    assert_eq!(tokens.sum::<u64>(), 24, "the run pays");
}

/// A model that reports these usages, one after the other, and keeps the lengths that replies may
/// have.
#[derive(Clone)]
struct Reporting {
    usages: Arc<Mutex<VecDeque<Option<Usage>>>>,
    lengths: Arc<Mutex<Vec<u32>>>,
}

#[async_trait]
impl ChatModel for Reporting {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.lengths.lock().unwrap().push(request.options.max_tokens.unwrap());
        let mut reply = ChatReply::text("Hello.");
        reply.usage = self.usages.lock().unwrap().pop_front().unwrap();
        Ok(reply)
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::new("reporting-1")
    }
}

fn reporting(usages: impl IntoIterator<Item = Option<Usage>>) -> Reporting {
    let usages = usages.into_iter().collect();
    Reporting { usages: Arc::new(Mutex::new(usages)), lengths: Arc::default() }
}

#[tokio::test]
async fn server_receives_the_name_of_the_model_and_the_run_its_cost() {
    let prices = |input: f64, output: f64| Prices { input, cached: 0.0, output };
    for (model_prices, expected) in
        [(None, 0.5 * 20.0 + 20.0), (Some(prices(1e6, 2e6)), 20.0 + 2.0 * 4.0)]
    {
        let mut sampling = Sampling::new(reporting([Some(Usage::new(20, 4))]));
        if let Some(prices) = model_prices {
            sampling = sampling.prices(prices);
        }
        let client = sampling_client(&Server::default(), 1).sampling(sampling);
        let (registry, _) = connect(client).await;
        let call = ChatReply::default().call("s__go", "{}").usage(Usage::new(0, 0));
        let last = ChatReply::text("Done.").usage(Usage::new(0, 0));
        let limits = Limits::default().max_cost(1_000.0, prices(5e5, 5e6));
        let agent = Agent::new(ScriptedModel::new([call, last]), registry).limits(limits);
        let answer = agent.run("Go.").await.unwrap();
        assert_eq!(answer.cost, Some(expected));
        let Some(Message::Tool { results }) = answer.transcript.iter().rev().nth(1) else {
            panic!()
        };
        assert!(results[0].text.contains("Hello. by reporting-1"), "{}", results[0].text);
    }
}

#[tokio::test]
async fn sampling_never_exceeds_the_token_budget_of_the_run() {
    // The prompt has 3 tokens, and a reply without usage 1. The run has 80 tokens left.
    for (usages, expected) in [
        (vec![Some(Usage::new(30, 40)), Some(Usage::new(3, 7))], vec![77, 7]),
        (vec![Some(Usage::new(3, 77))], vec![77]),
        (vec![None, Some(Usage::new(70, 6))], vec![77, 73]),
    ] {
        let model = reporting(usages);
        let client = sampling_client(&Server::default(), 4).sampling(Sampling::new(model.clone()));
        let (registry, _) = connect(client).await;
        let reply = ChatReply::default().call("s__go", "{}").usage(Usage::new(10, 10));
        let agent = Agent::new(ScriptedModel::new([reply]), registry);
        let stopped = agent.limits(Limits::default().max_tokens(100)).run("Go.").await.unwrap_err();
        let StopReason::TokenLimit { usage, .. } = &stopped.reason else { panic!("{stopped}") };
        assert_eq!(usage.input_tokens + usage.output_tokens, 100);
        assert_eq!(*model.lengths.lock().unwrap(), expected);
        let Some(Message::Tool { results }) = stopped.transcript.last() else { panic!() };
        let text = &results[0].text;
        assert_eq!(text.matches("token budget exceeded").count(), 4 - expected.len(), "{text}");
    }
}

#[tokio::test]
async fn request_outside_of_a_call_is_refused() {
    let server = Server::default();
    let client = server.simple(with_go(false, |call| text(call, "ok")));
    let sampling = Sampling::new(ScriptedModel::default());
    let (_registry, _) = connect(client.sampling(sampling).elicitation(ElicitLater)).await;
    let mut question = form();
    question["jsonrpc"] = "2.0".into();
    question["id"] = 5.into();
    server.send(Action::Send(question));
    wait_until(|| !server.answers().is_empty()).await;
    assert!(server.answers()[0]["error"]["message"].as_str().unwrap().contains("no call"));
}

#[tokio::test]
async fn roots_are_those_of_the_program() {
    let server = Server::default();
    let client = server.simple(with_go(true, |call| {
        let roots = &call["params"]["inputResponses"]["r"]["roots"];
        if roots.is_null() {
            return answer(
                call,
                json!({
                    "resultType": "input_required",
                    "inputRequests": { "r": { "method": "roots/list" } },
                }),
            );
        }
        text(call, &roots.to_string())
    }));
    let (registry, _) = connect(client.add_root("file:///srv", "srv")).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.text.contains("file:///srv"), "{}", execution.result.text);
}

#[tokio::test(start_paused = true)]
async fn question_ends_with_its_call() {
    struct Never;

    #[async_trait]
    impl ElicitationHandler for Never {
        async fn elicit(&self, _: Elicitation) -> ElicitationAction {
            std::future::pending().await
        }
    }

    let client = asking_client(&Server::default()).elicitation(Never);
    let (registry, _) = connect(client.call_timeout(Duration::from_secs(5))).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::Timeout.code()));
}

/// A model that never replies, and lets the server end the call as soon as it is asked.
struct Silent(Server, Arc<Mutex<Value>>);

#[async_trait]
impl ChatModel for Silent {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let call = self.1.lock().unwrap().clone();
        text(&call, "changed my mind").into_iter().for_each(|action| self.0.send(action));
        std::future::pending().await
    }
}

#[tokio::test]
async fn prompt_of_an_abandoned_sampling_request_is_paid() {
    let (server, pending) = (Server::default(), Arc::new(Mutex::new(Value::Null)));
    let client = server.simple(with_go(false, {
        let pending = Arc::clone(&pending);
        move |call| {
            *pending.lock().unwrap() = call.clone();
            let content = json!({ "type": "text", "text": "x".repeat(4_000) });
            vec![Action::Send(json!({
                "jsonrpc": "2.0", "id": 5, "method": "sampling/createMessage",
                "params": { "messages": [{ "role": "user", "content": content }], "maxTokens": 9 },
            }))]
        }
    }));
    let model = Silent(server.clone(), pending);
    let (registry, _) = connect(client.sampling(Sampling::new(model))).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.text.contains("changed my mind"), "{execution:?}");
    let spent = execution.effects.iter().find_map(|effect| match effect {
        EffectRecord::TokensSpent { usage, .. } => Some((usage.input_tokens, usage.output_tokens)),
        _ => None,
    });
    assert_eq!(spent, Some((1_000, 0)));
}
