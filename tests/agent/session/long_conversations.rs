//! A run of a long conversation loads and writes what its window needs, and otherwise does the same
//! as a run that loads all of it.

use std::error::Error;
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;
use tool_runtime::agent::session::{MemorySessions, Session, SessionStore};
use tool_runtime::agent::window::{EvictedMessages, Summarizer, Window};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, Policy, StopReason, async_trait,
    tool, tools,
};

use super::process::Process;

/// Replies to texts as they ask: with calls, or with an answer. Records all requests.
#[derive(Clone, Default)]
struct Echo(Arc<Mutex<Vec<Vec<Message>>>>);

#[async_trait]
impl ChatModel for Echo {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.0.lock().unwrap().push(request.messages.to_vec());
        let last = request.messages.last().map(Message::text).unwrap_or_default();
        Ok(match last.lines().last().unwrap_or_default().split(' ').next() {
            // Without ids, as some servers reply.
            Some("look") => ChatReply::default().call("look", "{}"),
            Some("pay") => ChatReply::default().call("look", "{}").call("pay", "{}"),
            _ => ChatReply::text(format!("Answer. {}", "word ".repeat(20))),
        })
    }
}

/// Summarizes messages by their number; fails every third time.
struct Summary(Mutex<usize>);

#[async_trait]
impl Summarizer for Summary {
    async fn summarize(
        &self,
        evicted: &EvictedMessages,
    ) -> Result<String, Box<dyn Error + Send + Sync>> {
        let mut calls = self.0.lock().unwrap();
        *calls += 1;
        if calls.is_multiple_of(3) {
            return Err("not now".into());
        }
        let before = evicted.earlier_summary.clone().unwrap_or_default();
        Ok(format!("{before} {}", evicted.messages.len()))
    }
}

/// Looks something up.
#[tool(effect = "read")]
async fn look() -> String {
    "found ".repeat(20)
}

/// Pays a person.
#[tool(permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

fn window(is_summarized: bool) -> Window {
    let window = Window::new().max_tokens(400);
    if is_summarized { window.summarizer(Summary(Mutex::default())) } else { window }
}

/// What happens to a conversation.
#[derive(Clone, Copy, Debug)]
enum Action {
    Prompt,
    Look,
    /// A paused run, which is decided on or abandoned.
    Pay,
    Decide,
    /// A run that is dropped after its first step.
    Drop,
    Resume,
    EditSystem,
    Fork,
    Truncate,
    /// An agent without a window loads all messages.
    LoadAll,
}

fn any_action() -> impl Strategy<Value = Action> {
    use Action::*;
    prop_oneof![
        8 => Just(Prompt),
        3 => Just(Look),
        2 => Just(Pay),
        2 => Just(Decide),
        2 => Just(Drop),
        1 => Just(Resume),
        1 => Just(EditSystem),
        1 => Just(Fork),
        1 => Just(Truncate),
        1 => Just(LoadAll),
    ]
}

/// Does what the action says, and returns the name of the session from then on.
async fn act(session: &Session, action: Action, number: usize) -> String {
    let ended = match action {
        Action::Prompt => session.run(format!("prompt {number} {}", "word ".repeat(20))).await,
        Action::Look => session.run(format!("look {number}")).await,
        Action::Pay => session.run(format!("pay {number}")).await,
        Action::Decide => {
            let Some(mut paused) = session.paused().await.unwrap() else {
                return session.name().into();
            };
            paused.decide_each(|_| Approval::Once, "Grace");
            session.resume_with(paused).await.unwrap().finish().await
        }
        Action::Drop => {
            if let Ok(mut run) = session.start(format!("look {number}")).await {
                run.next().await;
            }
            return session.name().into();
        }
        Action::Resume => match session.resume().await.unwrap() {
            Some(run) => run.finish().await,
            None => return session.name().into(),
        },
        Action::EditSystem => {
            // It abandons a paused run, and other prompts are refused.
            let session = session.clone().abandon_paused();
            let mut run = session.start(format!("edit {number}")).await.unwrap();
            run.turn_mut().edit(|messages| messages[0] = Message::system(format!("v{number}")));
            run.finish().await
        }
        Action::Fork => {
            let count = session.messages().await.unwrap().len();
            let fork = session.fork(format!("s{number}"), count - count / 8).await;
            return fork.map_or(session.name().into(), |fork| fork.name().to_owned());
        }
        Action::Truncate => {
            let count = session.messages().await.unwrap().len();
            _ = session.truncate(count - count / 4).await;
            return session.name().into();
        }
        Action::LoadAll => session.run(format!("all {number}")).await,
    };
    if let Err(stopped) = ended {
        let is_pause = matches!(
            stopped.reason,
            StopReason::AwaitingApproval(_) | StopReason::PromptRefused(_)
        );
        assert!(is_pause, "{stopped}");
    }
    session.name().to_owned()
}

/// Makes its agent load all messages, for the secrets of earlier calls. It is hidden, so that the
/// requests have the same size without it.
#[tool(hidden)]
async fn secret(#[arg(secret)] key: String) -> usize {
    key.len()
}

/// Runs the actions, and returns all requests and the final conversation, without call ids.
async fn play(
    actions: &[Action],
    is_summarized: bool,
    loads_all: bool,
) -> (Vec<Vec<String>>, Vec<String>) {
    let (model, store) = (Echo::default(), MemorySessions::new());
    let tools = if loads_all { tools![look, pay, secret] } else { tools![look, pay] };
    let whole = Agent::new(model.clone(), tools)
        .system("Be brief.")
        .policy(Policy::new().approver(AskLater));
    let windowed = whole.clone().window(window(is_summarized));
    let mut name = "s".to_owned();
    for (number, action) in actions.iter().enumerate() {
        let agent = if matches!(action, Action::LoadAll) { &whole } else { &windowed };
        name = act(&agent.session(store.clone(), &name), *action, number).await;
    }
    let messages = store.load(&name).await.unwrap().map(|it| it.messages).unwrap_or_default();
    let requests = model.0.lock().unwrap().iter().map(|messages| lines(messages)).collect();
    (requests, lines(&messages))
}

/// Returns one line for each message.
fn lines(messages: &[Message]) -> Vec<String> {
    let line = |message: &Message| match message {
        Message::System { text } => format!("system {text}"),
        Message::User { .. } => format!("user {}", message.text()),
        Message::Assistant { .. } => {
            let calls: Vec<_> = message.calls().map(|call| call.name.as_str()).collect();
            format!("assistant {} {calls:?}", message.text())
        }
        Message::Tool { results } => {
            let results = results.iter().map(|it| format!("{:?} {}", it.error, it.text));
            format!("tool {:?}", results.collect::<Vec<_>>())
        }
        other => panic!("{other:?}"),
    };
    messages.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn session_loaded_in_parts_behaves_like_a_whole_one(
        actions in vec(any_action(), 1..40),
        is_summarized in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let whole = play(&actions, is_summarized, true).await;
            let parts = play(&actions, is_summarized, false).await;
            for (number, (parts, whole)) in parts.0.iter().zip(&whole.0).enumerate() {
                assert_eq!(parts, whole, "request {number}");
            }
            assert_eq!(parts.1, whole.1, "the stored conversation");
            assert_eq!(parts.0.len(), whole.0.len());
        });
    }
}

#[tokio::test]
async fn prompt_loads_and_saves_what_its_window_needs() {
    let process = Process::default();
    let agent = Agent::new(Echo::default(), tools![look]).system("Be brief.");
    let session = agent.clone().window(window(false)).session(process.clone(), "ada");
    let mut largest = (0, 0);
    for number in 0..300 {
        session.run(format!("prompt {number} {}", "word ".repeat(20))).await.unwrap();
        let (loaded, saved) = process.take_counts();
        largest = (largest.0.max(loaded), largest.1.max(saved));
    }
    assert!(largest.0 < 40 && largest.1 <= 3, "{largest:?}");
    assert_eq!(session.messages().await.unwrap().len(), 601);
    process.take_counts();
    // An agent without a window sends, and so loads, the whole conversation.
    let answer = agent.session(process.clone(), "ada").run("All of it").await.unwrap();
    assert_eq!((answer.transcript.len(), process.take_counts().0), (603, 601));
}

#[tokio::test]
async fn earlier_calls_with_the_ids_of_open_calls_are_renamed() {
    let process = Process::default();
    let store = &process.store;
    let agent = Agent::new(Echo::default(), tools![look, pay])
        .policy(Policy::new().approver(AskLater))
        .window(window(false));
    let session = agent.session(process.clone(), "ada");
    session.run("look").await.unwrap();
    for number in 0..30 {
        session.run(format!("prompt {number} {}", "word ".repeat(20))).await.unwrap();
    }
    session.run("pay").await.unwrap_err();
    let ids = |messages: &[Message]| -> Vec<String> {
        messages.iter().flat_map(Message::calls).map(|call| call.id.to_string()).collect()
    };
    let stored = store.load("ada").await.unwrap().unwrap().messages;
    assert_eq!(ids(&stored), ["call_1", "call_1", "call_2"], "the first was not loaded");
    // A run that loads all of them keeps the ids under which calls may have started.
    let whole = agent.clone().window(Window::new()).session(process.clone(), "ada");
    let mut paused = whole.paused().await.unwrap().unwrap();
    paused.decide_each(|_| Approval::Once, "Grace");
    whole.resume_with(paused).await.unwrap().finish().await.unwrap();
    let stored = store.load("ada").await.unwrap().unwrap().messages;
    assert_eq!(ids(&stored)[1..], ["call_1", "call_2"]);
    assert_ne!(ids(&stored)[0], "call_1");
    let results = stored.iter().filter_map(|message| match message {
        Message::Tool { results } => Some(results.iter().map(|it| it.error.clone())),
        _ => None,
    });
    assert!(results.flatten().all(|error| error.is_none()), "{stored:?}");
}
