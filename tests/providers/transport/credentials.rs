//! Credentials, which are sent once, and requests that are not sent at all.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::http::{HttpRequest, HttpResponse, Transport, TransportError};
use tool_runtime::providers::OpenAi;
use tool_runtime::{
    ChatModel, ChatOptions, ChatRequest, Message, ModelError, ToolChoice, ToolDefinition,
    async_trait,
};

use super::exchange_kinds;
use crate::provider::{KEY, Setup, Shared};
use support::server::{Reply, Server};

/// The header for the user and the password in the URL of these tests, `me:p@ss-word`.
const BASIC: &str = "Basic bWU6cEBzcy13b3Jk";

fn with_user(base: &str) -> String {
    base.replace("http://", "http://me:p%40ss-word@")
}

/// A header of the program takes precedence over a key, and a key over the credentials in the URL.
#[tokio::test]
async fn credentials_are_sent_once() {
    for (provider, is_streamed) in exchange_kinds() {
        let (header, body) = provider.good(is_streamed);
        let server = Server::start([Reply::with_header(200, header, &body)]).await;
        let base = with_user(&server.base_url());
        provider.send(is_streamed, Setup::new(&base)).await.unwrap();
        let [request] = server.requests().try_into().unwrap();
        let all: Vec<_> =
            request.headers.iter().filter(|(name, _)| name == "authorization").collect();
        // These two send the key in a separate header.
        let expected = match provider.name {
            "anthropic" | "gemini" => BASIC.to_owned(),
            _ => format!("Bearer {KEY}"),
        };
        assert_eq!(all, [&("authorization".to_owned(), expected)], "{}", provider.name);
    }
    let reply = || Reply::message(json!({ "content": "Hi" }));
    let server = Server::start([reply(), reply(), reply()]).await;
    let model = OpenAi::new(with_user(&server.base_url()), "m");
    for (model, expected) in [
        (model.clone(), BASIC),
        (model.clone().key("sk-1"), "Bearer sk-1"),
        (model.key("sk-1").header("Authorization", "Own 2"), "Own 2"),
    ] {
        model.reply(ChatRequest::new(&[Message::user("Hello")])).await.unwrap();
        let last = server.requests().pop().unwrap();
        let all = last.headers.iter().filter(|(name, _)| name == "authorization");
        assert_eq!(all.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), [expected]);
    }
}

/// In every form in which a server quotes them.
#[tokio::test]
async fn credentials_are_redacted_in_errors() {
    let quoted = format!("I don't know p%40ss-word, p@ss-word or {BASIC}");
    for (provider, is_streamed) in exchange_kinds() {
        for status in [401, 200] {
            let server = Server::start([Reply::new(status, &quoted)]).await;
            let base = with_user(&server.base_url());
            let error = provider.send(is_streamed, Setup::new(&base)).await.unwrap_err();
            let printed = format!("{error} {error:?}");
            for secret in ["ss-word", "bWU6cEBzcy13b3Jk", "me:"] {
                assert!(!printed.contains(secret), "{}: {printed}", provider.name);
            }
        }
    }
}

/// Transport without a connection.
struct Disconnected;

#[async_trait]
impl Transport for Disconnected {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Err(TransportError::Connection("disconnected".into()))
    }
}

/// A required tool has to be offered.
#[tokio::test]
async fn required_tool_has_to_be_offered() {
    let tool = |name: &str| ToolDefinition::new(name, "Does.", json!({ "type": "object" }));
    let (now, date) = (tool("now"), tool("date.of"));
    let definitions: Vec<_> = (0..25).map(|number| tool(&format!("t{number}"))).collect();
    let definitions: Vec<_> = definitions.iter().collect();
    let named = |name: &str| ToolChoice::Tool(name.to_owned());
    for (choice, tools, expected) in [
        (ToolChoice::Required, &[][..], Some("`ToolChoice::Required`, but no tool is offered")),
        (
            named("now"),
            &[],
            Some("tool choice: `ToolChoice::Tool(\"now\")`, but no tool is offered"),
        ),
        (named("time"), &[&now, &date], Some("`ToolChoice::Tool(\"time\")`, but")),
        (named("time"), &[&now, &date], Some("but the offered tools are `now`, `date.of`")),
        // The program's name counts, not the one that is sent.
        (named("date_of"), &[&now, &date], Some("`ToolChoice::Tool(\"date_of\")`, but")),
        (named("now"), &definitions, Some("`t18`, `t19` and 5 more")),
        (ToolChoice::Auto, &[], None),
        (ToolChoice::None, &[], None),
        (ToolChoice::Required, &[&now], None),
        (named("date.of"), &[&now, &date], None),
    ] {
        let options = ChatOptions::default().tool_choice(choice.clone());
        for (provider, is_streamed) in exchange_kinds() {
            let setup = Setup {
                transport: Some(Shared(Arc::new(Disconnected))),
                ..Setup::new("http://models.invalid/v1")
            };
            let messages = [Message::user("Hello")];
            let request = ChatRequest::new(&messages).tools(tools).options(&options);
            let error = provider.send_request(is_streamed, setup, request).await.unwrap_err();
            let text = error.to_string();
            match (&error, expected) {
                (ModelError::Setup(_), Some(expected)) => {
                    assert!(text.contains(expected), "{text}")
                }
                (ModelError::Unreachable { .. }, None) => {}
                // The API cannot express these.
                (ModelError::Setup(_), None) if provider.name == "ollama" => {
                    assert!(text.contains("unsupported by Ollama"), "{text}");
                }
                _ => panic!("{}: {choice:?}: {error:?}", provider.name),
            }
        }
    }
}
