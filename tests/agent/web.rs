//! Runs that a web server streams to a client: over HTTP, on the loopback interface.
//!
//! Nothing here sleeps. A channel releases each piece of the model's reply, and a channel reports
//! what was dropped.

use std::time::Duration;

use axum_sse::routes;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tool_runtime::agent::AnswerValidator;
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::event::{EventKind, RunEvent};
use tool_runtime::models::DeltaSink;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Delta, ModelError, RunContext, ScriptedModel,
    ToolContext, Tools, async_trait, tool, tools,
};

/// The program whose handlers are tested.
#[path = "../../examples/axum_sse.rs"]
#[expect(dead_code, reason = "a test does not call the `main` of the example")]
mod axum_sse;

/// Serves runs of this agent, and returns the address.
async fn serve(agent: Agent, sessions: MemorySessions) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum_sse::serve(listener, routes(agent, sessions)).await.unwrap() });
    format!("http://{address}")
}

/// Uses the loopback interface only, whatever proxy the environment names.
fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Returns the status and the text of a response.
async fn read(request: reqwest::RequestBuilder) -> (u16, String) {
    let response = with_timeout(request.send()).await.unwrap();
    (response.status().as_u16(), with_timeout(response.text()).await.unwrap())
}

/// A response that is read as it arrives.
struct Client {
    response: reqwest::Response,
    unread: String,
}

impl Client {
    async fn post(url: &str, prompt: &str) -> Self {
        let response = http().post(url).body(prompt.to_owned()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, unread: String::new() }
    }

    /// Returns the next event and its data; `None` at the end of the response. Skips comments.
    async fn next(&mut self) -> Option<(String, String)> {
        loop {
            while let Some((frame, rest)) = self.unread.split_once("\n\n") {
                let field = |name| {
                    let line = frame.lines().find_map(|line| line.strip_prefix(name));
                    line.map(str::to_owned)
                };
                let item = field("event: ").zip(field("data: "));
                self.unread = rest.to_owned();
                if item.is_some() {
                    return item;
                }
            }
            let bytes = with_timeout(self.response.chunk()).await.unwrap()?;
            self.unread.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    async fn expect(&mut self, event: &str, data: &str) {
        let (found, text) = self.next().await.unwrap_or_else(|| panic!("no {event}: {data}"));
        assert_eq!((found.as_str(), text.as_str()), (event, data));
    }
}

/// Fails a test that would wait forever.
async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("it takes too long")
}

/// Replies in pieces, each of which the test releases.
struct Gated(Mutex<UnboundedReceiver<&'static str>>);

#[async_trait]
impl ChatModel for Gated {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.stream(request, &mut |_| {}).await
    }

    async fn stream(
        &self,
        _: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let (mut pieces, mut text) = (self.0.lock().await, String::new());
        while let Some(piece) = pieces.recv().await {
            deltas(Delta::Text(piece));
            text.push_str(piece);
        }
        Ok(ChatReply::text(text))
    }
}

async fn assert_pieces_arrive_one_by_one(client: &mut Client, release: UnboundedSender<&str>) {
    for piece in ["Take", "a", "coat."] {
        // The model has not got the next piece yet: what is read here was sent before the reply was
        // complete.
        release.send(piece).unwrap();
        client.expect("text", piece).await;
    }
    drop(release);
    client.expect("end", "ANSWERED").await;
    assert_eq!(client.next().await, None);
}

struct IsFour;

#[async_trait]
impl AnswerValidator for IsFour {
    async fn validate(&self, answer: &str, _: &RunContext<'_>) -> Result<(), String> {
        if answer == "Four." { Ok(()) } else { Err("Answer with a number.".to_owned()) }
    }

    fn holds_back_answers(&self) -> bool {
        false
    }
}

/// A reply that the agent rejects may be streamed before it is rejected.
#[tokio::test]
async fn rejected_reply_is_discarded() {
    let model = ScriptedModel::new([ChatReply::text("No idea."), ChatReply::text("Four.")]);
    let agent = Agent::new(model, Tools::new()).answer_validator(IsFour);
    let url = serve(agent, MemorySessions::default()).await;
    let mut client = Client::post(&format!("{url}/ask"), "Two and two?").await;
    for (event, data) in [
        ("text", "No idea."),
        ("discard", "Answer with a number."),
        ("text", "Four."),
        ("end", "ANSWERED"),
    ] {
        client.expect(event, data).await;
    }
}

#[tokio::test]
async fn tokens_of_a_run_reach_the_client_one_by_one() {
    let (release, pieces) = unbounded_channel();
    let agent = Agent::new(Gated(Mutex::new(pieces)), Tools::new());
    let url = serve(agent, MemorySessions::new()).await;
    let mut client = Client::post(&format!("{url}/ask"), "What should I wear?").await;
    assert_pieces_arrive_one_by_one(&mut client, release).await;
}

#[tokio::test]
async fn tokens_of_a_session_reach_the_client_one_by_one() {
    let (release, pieces) = unbounded_channel();
    let agent = Agent::new(Gated(Mutex::new(pieces)), Tools::new());
    let store = MemorySessions::new();
    let url = serve(agent.clone(), store.clone()).await;
    let mut client = Client::post(&format!("{url}/sessions/ada"), "What should I wear?").await;
    assert_pieces_arrive_one_by_one(&mut client, release).await;
    let saved = agent.session(store, "ada").messages().await.unwrap();
    assert_eq!(saved.last().unwrap().text(), "Takeacoat.");
}

/// Reports what happens to a call.
#[derive(Clone)]
struct Reports(UnboundedSender<&'static str>);

/// Reports that the call was dropped.
struct DropGuard(Reports);

impl Drop for DropGuard {
    fn drop(&mut self) {
        let _ = self.0.0.send("dropped");
    }
}

/// Never returns.
#[tool(effect = "read")]
async fn watch(ctx: &ToolContext) -> &'static str {
    let reports = ctx.get::<Reports>().unwrap().clone();
    let _ = reports.0.send("started");
    let _guard = DropGuard(reports);
    std::future::pending().await
}

/// An agent whose call never returns, what happens to the call, and how its runs end.
fn watching() -> (Agent, UnboundedReceiver<&'static str>, UnboundedReceiver<Option<String>>) {
    let (reports, reported) = unbounded_channel();
    let (ends, ended) = unbounded_channel();
    let model = ScriptedModel::new([ChatReply::default().call("watch", "{}")]);
    let agent =
        Agent::new(model, tools![watch]).extension(Reports(reports)).on_event(move |event| {
            if let EventKind::Run(RunEvent::Finished { code, .. }) = &event.kind {
                let _ = ends.send(code.clone());
            }
        });
    (agent, reported, ended)
}

async fn assert_disconnect_cancels(
    mut client: Client,
    mut reported: UnboundedReceiver<&'static str>,
    mut ended: UnboundedReceiver<Option<String>>,
) {
    client.expect("call", "watch({})").await;
    assert_eq!(with_timeout(reported.recv()).await, Some("started"));
    assert!(reported.is_empty() && ended.is_empty());
    drop(client);
    assert_eq!(with_timeout(reported.recv()).await, Some("dropped"));
    assert_eq!(with_timeout(ended.recv()).await, Some(Some("DROPPED".to_owned())));
}

#[tokio::test]
async fn run_and_call_are_cancelled_when_the_client_disconnects() {
    let (agent, reported, ended) = watching();
    let url = serve(agent, MemorySessions::new()).await;
    let client = Client::post(&format!("{url}/ask"), "Watch.").await;
    assert_disconnect_cancels(client, reported, ended).await;
}

#[tokio::test]
async fn session_run_is_cancelled_on_disconnect_and_can_be_resumed() {
    let (agent, reported, ended) = watching();
    let store = MemorySessions::new();
    let url = serve(agent, store.clone()).await;
    let client = Client::post(&format!("{url}/sessions/ada"), "Watch.").await;
    assert_disconnect_cancels(client, reported, ended).await;

    // The call was in flight and only reads: the resumed run makes it again.
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Nothing.")]), tools![peek]);
    let run = agent.session(store, "ada").resume().await.unwrap().expect("the run is unfinished");
    assert_eq!(run.finish().await.unwrap().text, "Nothing.");
}

/// Returns at once, under the name of the tool above.
#[tool(name = "watch", effect = "read")]
async fn peek() -> &'static str {
    "nothing to see"
}

/// Pays a person.
#[tool(effect = "external", permission = "ask")]
async fn pay(to: String) -> String {
    format!("{to} is paid")
}

#[tokio::test]
async fn call_is_approved_over_http_by_another_server() {
    let store = MemorySessions::new();
    let agent = |replies: Vec<ChatReply>| Agent::new(ScriptedModel::new(replies), tools![pay]);
    let call = ChatReply::default().call("pay", r#"{"to": "Ada"}"#);
    let first = serve(agent(vec![call]), store.clone()).await;
    let mut client = Client::post(&format!("{first}/sessions/ada"), "Pay Ada.").await;
    client.expect("call", r#"pay({"to": "Ada"})"#).await;
    client.expect("approval", "call_1").await;
    client.expect("end", "AWAITING_APPROVAL").await;
    assert_eq!(client.next().await, None);

    // The second server shares nothing with the first but the store.
    let second = serve(agent(vec![ChatReply::text("Done.")]), store).await;
    let approvals = format!("{second}/sessions/ada/approvals");
    let list = format!("{second}/approvals");
    let listed = read(http().get(&list)).await;
    assert_eq!(listed, (200, "ada call_1 pay {\"to\": \"Ada\"}\n".to_owned()));
    // Another prompt does not discard the call.
    let (status, text) =
        read(http().post(format!("{second}/sessions/ada")).body("Never mind.")).await;
    assert_eq!(status, 409);
    assert!(text.starts_with("prompt refused: 1 call awaits approval: pay"), "{text}");
    let (status, text) = read(http().post(format!("{approvals}/call_2")).body("approve")).await;
    assert_eq!((status, text.as_str()), (404, "no pending call with the id `call_2`"));

    let mut client = Client::post(&format!("{approvals}/call_1"), "approve").await;
    client.expect("call", r#"pay({"to": "Ada"})"#).await;
    client.expect("result", "Ada is paid").await;
    client.expect("text", "Done.").await;
    client.expect("end", "ANSWERED").await;
    assert_eq!(client.next().await, None);
    assert_eq!(read(http().get(&list)).await, (200, String::new()));
    let (status, _) = read(http().post(format!("{approvals}/call_1")).body("approve")).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn second_request_to_a_session_is_refused() {
    let (agent, mut reported, _) = watching();
    let url = serve(agent, MemorySessions::new()).await;
    let mut client = Client::post(&format!("{url}/sessions/ada"), "Watch.").await;
    client.expect("call", "watch({})").await;
    assert_eq!(with_timeout(reported.recv()).await, Some("started"));
    let (status, text) = read(http().post(format!("{url}/sessions/ada")).body("Hello")).await;
    let busy = "session `ada` is busy: a run of it is in progress in process ";
    assert!(status == 409 && text.starts_with(busy), "{status} {text}");
}
