//! What is said once, and what isn't said at all.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::providers::{HttpReply, HttpRequest, OpenAi, Transport, TransportError};
use tool_runtime::{
    ChatModel, ChatOptions, ChatRequest, Message, ModelError, ToolChoice, ToolDefinition,
    async_trait,
};

use crate::server::{Reply, Server};
use crate::{KEY, Setup, Shared, both};

/// What the address of these tests says in front of its host, as a header: `me:p@ss-word`.
const BASIC: &str = "Basic bWU6cEBzcy13b3Jk";

fn with_user(base: &str) -> String {
    base.replace("http://", "http://me:p%40ss-word@")
}

/// A header that a program sets wins over a key, and a key over what stands in the address.
#[tokio::test]
async fn who_asks_is_said_once() {
    for (provider, is_streamed) in both() {
        let (header, body) = provider.good(is_streamed);
        let server = Server::start([Reply::with_header(200, header, &body)]).await;
        let base = with_user(&server.base_url());
        provider.asks(is_streamed, Setup::new(&base)).await.unwrap();
        let [request] = server.requests().try_into().unwrap();
        let all: Vec<_> =
            request.headers.iter().filter(|(name, _)| name == "authorization").collect();
        // These two have a header of their own for a key.
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

/// However it is quoted.
#[tokio::test]
async fn who_asks_is_in_no_error() {
    let quoted = format!("I don't know p%40ss-word, p@ss-word or {BASIC}");
    for (provider, is_streamed) in both() {
        for status in [401, 200] {
            let server = Server::start([Reply::new(status, &quoted)]).await;
            let base = with_user(&server.base_url());
            let error = provider.asks(is_streamed, Setup::new(&base)).await.unwrap_err();
            let shown = format!("{error} {error:?}");
            for secret in ["ss-word", "bWU6cEBzcy13b3Jk", "me:"] {
                assert!(!shown.contains(secret), "{}: {shown}", provider.name);
            }
        }
    }
}

/// Nobody can be reached by it.
struct Unasked;

#[async_trait]
impl Transport for Unasked {
    async fn send(&self, _: &HttpRequest) -> Result<HttpReply, TransportError> {
        Err(TransportError::Broken("somebody asked".into()))
    }
}

/// None is asked to have a tool called that it isn't told of.
#[tokio::test]
async fn what_has_to_be_called_is_offered() {
    let tool = |name: &str| ToolDefinition::new(name, "Does.", json!({ "type": "object" }));
    let (now, date) = (tool("now"), tool("date.of"));
    let many: Vec<_> = (0..25).map(|number| tool(&format!("t{number}"))).collect();
    let many: Vec<_> = many.iter().collect();
    let named = |name: &str| ToolChoice::Tool(name.to_owned());
    for (choice, tools, expected) in [
        (ToolChoice::Required, &[][..], Some("`ToolChoice::Required`), but no tool is offered")),
        (named("now"), &[], Some("`now` has to be called (`ToolChoice::Tool`), but no tool is")),
        (named("time"), &[&now, &date], Some("`time` has to be called")),
        (named("time"), &[&now, &date], Some("but what is offered is `now`, `date.of`")),
        // By the name that it has here, not by the one that it is sent under.
        (named("date_of"), &[&now, &date], Some("`date_of` has to be called")),
        (named("now"), &many, Some("`t18`, `t19` and 5 more")),
        (ToolChoice::Auto, &[], None),
        (ToolChoice::None, &[], None),
        (ToolChoice::Required, &[&now], None),
        (named("date.of"), &[&now, &date], None),
    ] {
        let options = ChatOptions::default().tool_choice(choice.clone());
        for (provider, is_streamed) in both() {
            let setup = Setup {
                transport: Some(Shared(Arc::new(Unasked))),
                ..Setup::new("http://models.invalid/v1")
            };
            let messages = [Message::user("Hello")];
            let request = ChatRequest::new(&messages).tools(tools).options(&options);
            let error = provider.asks_for(is_streamed, setup, request).await.unwrap_err();
            let told = error.to_string();
            match (&error, expected) {
                (ModelError::Setup(_), Some(expected)) => {
                    assert!(told.contains(expected), "{told}")
                }
                (ModelError::Unreachable { .. }, None) => {}
                // It has no word for these.
                (ModelError::Setup(_), None) if provider.name == "ollama" => {
                    assert!(told.contains("Ollama can't be told"), "{told}");
                }
                _ => panic!("{}: {choice:?}: {error:?}", provider.name),
            }
        }
    }
}
