//! Nested runs that are interrupted anywhere and resumed in any way: no call is made twice, and
//! none without approval.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use serde_json::Value;
use support::sessions::{Intercepted, OnSave};
use tool_runtime::agent::Steering;
use tool_runtime::agent::session::{MemorySessions, SessionError, SessionStore, SessionWrite};

use tool_runtime::{Policy, ToolResult};

use super::*;

/// What was done, with the idempotency keys.
type ActionLog = Arc<Mutex<Vec<(String, String)>>>;

async fn record_action(action: &str, ctx: &ToolContext) {
    tokio::task::yield_now().await;
    ctx.get::<ActionLog>().unwrap().lock().unwrap().push((action.into(), ctx.idempotency_key()));
    tokio::task::yield_now().await;
}

/// Acts at once.
#[tool]
async fn act(action: String, ctx: &ToolContext) -> &'static str {
    record_action(&action, ctx).await;
    // Some calls take longer.
    for _ in 0..action.len() * action.len() % 13 {
        tokio::task::yield_now().await;
    }
    "done"
}

/// Acts, once that is approved.
#[tool(permission = "ask")]
async fn dare(action: String, ctx: &ToolContext) -> &'static str {
    record_action(&action, ctx).await;
    "done"
}

/// Makes the scripted calls, each with different arguments.
#[derive(Clone)]
struct ScriptedCalls(Arc<Mutex<(std::vec::IntoIter<Vec<u8>>, u32)>>);

#[async_trait]
impl ChatModel for ScriptedCalls {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        assert_complete(request.messages);
        tokio::task::yield_now().await;
        let (replies, count) = &mut *self.0.lock().unwrap();
        let reply = ChatReply::text("So.").usage(Usage::new(10, 1));
        let calls = replies.next().unwrap_or_default().into_iter();
        Ok(calls.fold(reply, |reply, call| {
            *count += 1;
            match call {
                0 => reply.call("act", json!({ "action": format!("act {count}") })),
                1 => reply.call("dare", json!({ "action": format!("dare {count}") })),
                _ => reply.call("helper", json!({ "task": "Go on." })),
            }
        }))
    }
}

/// Returns the output, or `None` if the future is dropped after so many polls.
async fn poll_at_most<T>(polls: u8, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    for _ in 0..polls {
        let now = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if let Poll::Ready(output) = now {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// A slow save that records which early results it has acknowledged.
#[derive(Clone, Debug, Default)]
struct Acknowledging(Arc<Mutex<Vec<Value>>>);

#[async_trait]
impl OnSave for Acknowledging {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        tokio::task::yield_now().await;
        let saved = store.save(session, write).await?;
        let state: Value = serde_json::from_str(write.state).unwrap();
        if let Some(Value::Array(early)) = state["turn"].get("early_results") {
            self.0.lock().unwrap().extend(early.iter().cloned());
        }
        tokio::task::yield_now().await;
        Ok(saved)
    }
}

fn any_replies() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(0..3_u8, 0..4), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn interrupted_nested_runs_repeat_no_call_and_run_none_without_approval(
        replies in any_replies(),
        steps in vec((0..4_u8, any::<u8>(), 0..60_u8), 1..10),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let log = ActionLog::default();
            let model = ScriptedCalls(Arc::new(Mutex::new((replies.into_iter(), 0))));
            let steering = Steering::new();
            let inner = Agent::new(model.clone(), tools![act, dare]).extension(Arc::clone(&log)).policy(Policy::new().approver(AskLater));
            let middle = inner.clone().into_tool("helper", "Helps.");
            let middle = Agent::new(model.clone(), tools![act, dare].with(middle)).extension(Arc::clone(&log)).policy(Policy::new().approver(AskLater));
            let agent = Agent::new(model, tools![act, dare].with(middle.into_tool("helper", "Helps.")))
                .extension(Arc::clone(&log)).policy(Policy::new().approver(AskLater)).steering(&steering);
            let store = Intercepted::<Acknowledging>::default();
            let session = agent.session(store.clone(), "s");
            let (mut waiting, mut allowed) = (None::<Paused>, BTreeSet::new());
            for (action, bits_seed, polls) in steps {
                let polls = if polls < 30 { polls * 3 } else { u8::MAX };
                if bits_seed % 5 == 0 {
                    steering.push("Well?").unwrap();
                }
                let ended = match (action, waiting.take()) {
                    (0, _) => poll_at_most(polls, session.clone().abandon_paused().run("Go")).await,
                    (1, _) => {
                        let resumed = async {
                            match session.resume().await? {
                                Some(run) => run.finish().await.map(Some),
                                None => Ok(None),
                            }
                        };
                        poll_at_most(polls, resumed).await.and_then(Result::transpose)
                    }
                    (_, Some(mut paused)) => {
                        let mut bits = bits_seed;
                        paused.decide_each(|pending| {
                            bits = bits.rotate_left(3);
                            match bits % 3 {
                                0 => Approval::Defer,
                                1 => Approval::Deny("no".into()),
                                _ => {
                                    allowed.insert(pending.arguments["action"].as_str().unwrap().to_owned());
                                    Approval::Once
                                }
                            }
                        }, "Grace");
                        let resumed = async { session.resume_with(paused).await?.finish().await };
                        poll_at_most(polls, resumed).await
                    }
                    (_, None) => poll_at_most(polls, session.run("More")).await,
                };
                match ended {
                    None => {}
                    Some(Ok(answer)) => {
                        assert_complete(&answer.transcript);
                        assert_eq!(session.messages().await.unwrap(), answer.transcript);
                    }
                    Some(Err(stopped)) => {
                        assert_complete(&stopped.transcript);
                        match stopped.reason {
                            StopReason::AwaitingApproval(paused) | StopReason::PromptRefused(paused) => waiting = Some(*paused),
                            StopReason::IterationLimit(_) | StopReason::RepeatedCall { .. } => {}
                            StopReason::MissingUserMessage | StopReason::Session(_) => {}
                            other => panic!("{other}"),
                        }
                    }
                }
            }
            // Acknowledged results stay, however the other calls of the batch end.
            let messages = session.messages().await.unwrap();
            let results: Vec<_> = messages.iter().filter(|it| matches!(it, Message::Tool { .. })).flat_map(results).collect();
            let state = store.load("s").await.unwrap().map(|it| it.state).unwrap_or_default();
            for early in store.on_save.0.lock().unwrap().iter() {
                let early: ToolResult = serde_json::from_value(early.clone()).unwrap();
                let is_in_transcript = results.iter().any(|result| result.call == early.call && result.text.starts_with(&early.text));
                assert!(is_in_transcript || state.contains(&serde_json::to_string(&early).unwrap()), "{early:?} is lost");
            }
            let all = log.lock().unwrap();
            let keys: BTreeSet<_> = all.iter().map(|(_, key)| key).collect();
            assert_eq!(keys.len(), all.len(), "{all:?}");
            for (action, _) in all.iter() {
                assert!(action.starts_with("act") || allowed.contains(action), "{action}");
            }
        });
    }
}
