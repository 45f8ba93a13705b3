//! A web server that streams runs to its clients as server-sent events, with axum.
//!
//! `cargo run --example axum_sse --features axum`, then in another terminal:
//!
//! - `curl -N -d 'What should I wear in Oslo?' http://127.0.0.1:3000/ask` for one prompt;
//! - `curl -N -d 'What should I wear in Oslo?' http://127.0.0.1:3000/sessions/ada` for a
//!   conversation that the server remembers;
//! - `curl -N -d 'Buy it.' http://127.0.0.1:3000/sessions/ada` for a call that needs an approval,
//!   `curl http://127.0.0.1:3000/approvals` for the calls of all sessions that await one, and
//!   `curl -N -d approve http://127.0.0.1:3000/sessions/ada/approvals/CALL` to approve the call and
//!   receive the rest of the answer.
//!
//! Interrupt `curl` to see that the run is cancelled when its client disconnects.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use futures_util::{Stream, StreamExt as _};
use tokio::net::TcpListener;
use tool_runtime::agent::session::{
    MemorySessions, Session, SessionError, SessionInfo, SessionQuery, SessionStatus, SessionStore,
};
use tool_runtime::agent::{RunStream, StreamItem};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::event::{EventKind, ModelEvent, RunEvent, ToolEvent};
use tool_runtime::message::visible;
use tool_runtime::models::DeltaSink;
use tool_runtime::{
    Agent, CallId, ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError, Policy,
    StopReason, Stopped, async_trait, tool, tools,
};

/// Returns the temperature in a city.
#[tool(effect = "read")]
async fn temperature(
    /// City name.
    city: String,
) -> String {
    tokio::time::sleep(Duration::from_millis(500)).await;
    format!("4 degrees in {city}")
}

/// Buys a coat.
#[tool(effect = "external", permission = "ask")]
async fn buy_coat(
    /// Color of the coat.
    color: String,
) -> String {
    format!("a {color} coat is on its way")
}

#[derive(Clone)]
struct App {
    agent: Agent,
    sessions: MemorySessions,
}

impl App {
    /// Returns a session that refuses a request while another one is served.
    fn session(&self, name: String) -> Session {
        self.agent.session(self.sessions.clone(), name).fail_if_busy()
    }
}

/// The status and the text of a failed request.
struct Failure(StatusCode, String);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::StaleDecision { .. }
            | SessionError::Conflict { .. }
            | SessionError::Busy { .. }
            | SessionError::LeaseLost { .. } => Self(StatusCode::CONFLICT, error.to_string()),
            // The text quotes the store, so it is for the operator.
            _ => {
                eprintln!("{error}");
                let code = StopReason::Session(error).code();
                Self(StatusCode::INTERNAL_SERVER_ERROR, code.into())
            }
        }
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        match stopped.reason {
            StopReason::Session(error) => error.into(),
            // Names the tools of the calls that await an approval.
            reason @ StopReason::PromptRefused(_) => Self(StatusCode::CONFLICT, reason.to_string()),
            // The text of an error may quote anything; the code is for clients.
            reason => Self(StatusCode::INTERNAL_SERVER_ERROR, reason.code().into()),
        }
    }
}

/// Streams a run of the agent.
async fn ask(
    State(app): State<App>,
    prompt: String,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    sse(app.agent.stream(prompt))
}

/// Streams a run that continues the conversation of this name.
async fn chat(
    State(app): State<App>,
    Path(name): Path<String>,
    prompt: String,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Failure> {
    Ok(sse(app.session(name).stream(prompt).await?))
}

/// Lists the calls that await an approval: one line for each, with its session and its id. Only the
/// sessions that wait are read.
async fn approvals(State(app): State<App>) -> Result<String, Failure> {
    let mut lines = String::new();
    let waiting = SessionQuery::all().status(SessionStatus::Paused);
    for SessionInfo { session, .. } in app.sessions.list(waiting).await? {
        // By now, another request may have decided.
        let Some(paused) = app.session(session.clone()).paused().await? else { continue };
        for pending in paused.pending() {
            let (call, arguments) = (&pending.call.id, pending.redacted_arguments_json());
            lines += &format!("{session} {call} {} {arguments}\n", pending.tool);
            let preview = pending.preview().unwrap_or_default();
            lines.extend(preview.lines().map(|line| format!("  {line}\n")));
        }
    }
    Ok(lines)
}

/// Decides on a call, and streams the rest of its run.
async fn decide(
    State(app): State<App>,
    Path((name, call)): Path<(String, CallId)>,
    decision: String,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Failure> {
    let approval = match decision.as_str() {
        "approve" => Approval::Once,
        reason => Approval::Deny(reason.to_owned()),
    };
    let session = app.session(name);
    let not_found = || Failure(StatusCode::NOT_FOUND, "no call awaits an approval".into());
    let mut paused = session.paused().await?.ok_or_else(not_found)?;
    // A real server takes the name from the login.
    let decided = paused.decide(&call, approval, "curl");
    decided.map_err(|error| Failure(StatusCode::NOT_FOUND, error.to_string()))?;
    Ok(sse(session.resume_with(paused).await?.stream()))
}

/// The run advances while axum polls the stream. When the client disconnects, axum drops the
/// stream, which cancels the run and its calls, and frees the session.
fn sse(run: RunStream) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    Sse::new(run.map(|item| Ok(event(item)))).keep_alive(KeepAlive::default())
}

fn event(item: StreamItem) -> Event {
    match item {
        StreamItem::Text(text) => Event::default().event("text").data(text),
        StreamItem::Event(event) => match &event.kind {
            EventKind::Tool(ToolEvent::Started { call, .. }) => {
                Event::default().event("call").data(call.to_string())
            }
            // Three lines of data. In events, secret arguments are redacted.
            EventKind::Tool(ToolEvent::ApprovalRequested { call, tool, arguments, .. }) => {
                let arguments = visible(arguments);
                Event::default().event("approval").data(format!("{call}\n{tool}\n{arguments}"))
            }
            // The model is asked again. A client discards the text of the reply.
            EventKind::Model(
                ModelEvent::ExtractionFailed { reason, .. }
                | ModelEvent::ValidationFailed { reason, .. },
            ) if event.origin.depth == 0 => Event::default().event("discard").data(reason),
            // A pending call finishes a second time, after the decision: send only that result.
            EventKind::Tool(ToolEvent::Finished(execution)) if !execution.is_pending() => {
                Event::default().event("result").data(&execution.result.text)
            }
            // Nested runs emit this event, too, at a depth above 0: skip them.
            EventKind::Run(RunEvent::Finished { code, .. }) if event.origin.depth == 0 => {
                Event::default().event("end").data(code.as_deref().unwrap_or("ANSWERED"))
            }
            _ => Event::default().comment(event.name()),
        },
        _ => Event::default().comment(""),
    }
}

/// Replies without a network, word by word. Replace it with a provider, such as
/// `OpenAi::from_env()?`.
struct Scripted;

#[async_trait]
impl ChatModel for Scripted {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(match request.messages.last() {
            Some(Message::Tool { results }) if results[0].tool == "temperature" => {
                ChatReply::text(format!("It is {}. Take a coat.", results[0].text))
            }
            Some(Message::Tool { results }) => ChatReply::text(format!("{}.", results[0].text)),
            Some(message) if message.text().contains("Buy") => {
                ChatReply::default().call("buy_coat", r#"{"color": "red"}"#)
            }
            _ => ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#),
        })
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let reply = self.reply(request).await?;
        for word in reply.to_text().split_inclusive(' ') {
            tokio::time::sleep(Duration::from_millis(200)).await;
            deltas(Delta::Text(word));
        }
        Ok(reply)
    }
}

pub fn routes(agent: Agent, sessions: MemorySessions) -> Router {
    // Calls that need an approval wait for one, in the session.
    let agent = agent.policy(Policy::new().approver(AskLater));
    Router::new()
        .route("/ask", post(ask))
        .route("/sessions/{name}", post(chat))
        .route("/approvals", get(approvals))
        .route("/sessions/{name}/approvals/{call}", post(decide))
        .with_state(App { agent, sessions })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::new(Scripted, tools![temperature, buy_coat]).on_event(|event| {
        if let EventKind::Run(RunEvent::Finished { code, .. }) = &event.kind {
            println!("run {} ended: {}", event.origin.run, code.as_deref().unwrap_or("answered"));
        }
    });
    let app = routes(agent, MemorySessions::new());
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener, app).await?;
    Ok(())
}

/// Serves the app with `TCP_NODELAY`: without it, the kernel delays the end of each answer on a
/// kept-alive connection by 40 ms.
pub async fn serve(listener: TcpListener, app: Router) -> std::io::Result<()> {
    let listener = listener.tap_io(|stream| {
        // Without it, answers are only slower.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, app).await
}
