//! A web server that streams runs to its clients as server-sent events, with axum.
//!
//! `cargo run --example axum_sse --features axum`, then in another terminal:
//!
//! - `curl -N -d 'What should I wear in Oslo?' http://127.0.0.1:3000/ask` for one prompt;
//! - `curl -N -d 'What should I wear in Oslo?' http://127.0.0.1:3000/sessions/ada` for a
//!   conversation that the server remembers.
//!
//! Interrupt `curl` to see that the run is cancelled when its client disconnects.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::post;
use futures_util::{Stream, StreamExt as _};
use tool_runtime::agent::session::MemoryStore;
use tool_runtime::agent::{RunStream, StreamItem};
use tool_runtime::event::{EventKind, RunEvent, ToolEvent};
use tool_runtime::models::DeltaSink;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError, async_trait, tool, tools,
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

#[derive(Clone)]
struct App {
    agent: Agent,
    sessions: MemoryStore,
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
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, (StatusCode, String)> {
    match app.agent.session(app.sessions, name).stream(prompt).await {
        Ok(run) => Ok(sse(run)),
        Err(stopped) => Err((StatusCode::INTERNAL_SERVER_ERROR, stopped.to_string())),
    }
}

/// The run advances while axum polls the stream. When the client disconnects, axum drops the
/// stream, which cancels the run and its calls.
fn sse(run: RunStream) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    Sse::new(run.map(|item| Ok(event(item)))).keep_alive(KeepAlive::default())
}

fn event(item: StreamItem) -> Event {
    match item {
        StreamItem::Text(text) => Event::default().event("text").data(text),
        StreamItem::Event(event) => match &event.kind {
            EventKind::Tool(ToolEvent::Started { call }) => {
                Event::default().event("call").data(call.to_string())
            }
            // Three lines of data. In events, secret arguments are redacted.
            EventKind::Tool(ToolEvent::ApprovalRequested { call, tool, arguments }) => {
                Event::default().event("approval").data(format!("{call}\n{tool}\n{arguments}"))
            }
            // A pending call ends again, with its result, after the decision.
            EventKind::Tool(ToolEvent::Finished(execution)) if !execution.is_pending() => {
                Event::default().event("result").data(&execution.result.text)
            }
            // Nested runs end as well, at a depth above 0.
            EventKind::Run(RunEvent::Finished { code, .. }) if event.origin.depth == 0 => {
                Event::default().event("end").data(code.as_deref().unwrap_or("ANSWERED"))
            }
            _ => Event::default().comment(event.action()),
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
            Some(Message::Tool { results }) => {
                ChatReply::text(format!("It is {}. Take a coat.", results[0].text))
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

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::new(Scripted, tools![temperature]).on_event(|event| {
        if let EventKind::Run(RunEvent::Finished { code, .. }) = &event.kind {
            println!("run {} ended: {}", event.origin.run, code.as_deref().unwrap_or("answered"));
        }
    });
    let app = Router::new()
        .route("/ask", post(ask))
        .route("/sessions/{name}", post(chat))
        .with_state(App { agent, sessions: MemoryStore::new() });

    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
