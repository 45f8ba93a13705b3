//! Clients of all providers over real connections, with and without faults of servers, connections
//! and proxies. Tests of single providers are in the tests of that provider.

mod checks;
mod credentials;
mod faults;
mod limits;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use support::server::{Reply, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tool_runtime::providers::{
    Anthropic, Gemini, HttpRequest, HttpResponse, Mistral, Ollama, OpenAi, OpenAiResponses,
    ReqwestTransport, Transport, TransportError,
};
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError, async_trait};

const KEY: &str = "sk-very-secret";

/// Setup of a client, beside its key and a header.
struct Setup<'s> {
    base: &'s str,
    timeout: Duration,
    connect: Option<Duration>,
    first_byte: Option<Duration>,
    transport: Option<Shared>,
}

impl<'s> Setup<'s> {
    fn new(base: &'s str) -> Self {
        let timeout = Duration::from_secs(60);
        Self { base, timeout, connect: None, first_byte: None, transport: None }
    }
}

/// Transport that several clients share.
#[derive(Clone)]
struct Shared(Arc<dyn Transport>);

#[async_trait]
impl Transport for Shared {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.0.send(request).await
    }
}

struct Provider {
    /// Name of the provider and of its folder of fixtures.
    name: &'static str,
    model: fn(Setup<'_>) -> Box<dyn ChatModel>,
}

macro_rules! providers {
    ($($name:literal: $client:ident;)*) => {
        const PROVIDERS: [Provider; 6] = [$(Provider {
            name: $name,
            model: |setup| {
                let model = $client::new(setup.base, "m").key(KEY).header("x-team", "blue");
                let mut model = model.max_retries(0).timeout(setup.timeout);
                if let Some(limit) = setup.connect {
                    model = model.connect_timeout(limit);
                }
                if let Some(limit) = setup.first_byte {
                    model = model.first_byte_timeout(limit);
                }
                if let Some(transport) = setup.transport {
                    model = model.transport(transport);
                }
                Box::new(model)
            },
        }),*];
    };
}

providers! {
    "anthropic": Anthropic;
    "gemini": Gemini;
    "mistral": Mistral;
    "ollama": Ollama;
    "openai": OpenAi;
    "responses": OpenAiResponses;
}

impl Provider {
    fn file(&self, name: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(self.name);
        fs::read_to_string(folder.join("text").join(name)).expect("a fixture")
    }

    /// Returns a valid reply of this provider and its content type.
    fn good(&self, is_streamed: bool) -> (&'static str, String) {
        match (is_streamed, self.name) {
            (false, _) => ("content-type: application/json", self.file("reply.json")),
            (true, "ollama") => ("content-type: application/x-ndjson", self.file("stream.jsonl")),
            (true, _) => ("content-type: text/event-stream", self.file("stream.sse")),
        }
    }

    /// Returns the result for this reply. Checks that an error contains no secret.
    async fn result_of(&self, is_streamed: bool, reply: Reply) -> Result<ChatReply, ModelError> {
        let server = Server::start([reply]).await;
        self.send(is_streamed, Setup::new(&server.base_url())).await
    }

    async fn send(&self, is_streamed: bool, setup: Setup<'_>) -> Result<ChatReply, ModelError> {
        let messages = [Message::user("Hello")];
        self.send_request(is_streamed, setup, ChatRequest::new(&messages)).await
    }

    async fn send_request(
        &self,
        is_streamed: bool,
        setup: Setup<'_>,
        request: ChatRequest<'_>,
    ) -> Result<ChatReply, ModelError> {
        let model = (self.model)(setup);
        let answer = match is_streamed {
            true => model.stream(request, &mut |_: Delta<'_>| {}).await,
            false => model.reply(request).await,
        };
        if let Err(error) = &answer {
            assert!(!format!("{error} {error:?}").contains(KEY), "{}: {error:?}", self.name);
        }
        answer
    }
}

/// Returns each provider twice: for a whole reply and for a stream.
fn exchange_kinds() -> impl Iterator<Item = (&'static Provider, bool)> {
    const { &PROVIDERS }.iter().flat_map(|provider| [(provider, false), (provider, true)])
}

#[tokio::test]
async fn replies_arrive_and_headers_are_sent() {
    for (provider, is_streamed) in exchange_kinds() {
        let (header, body) = provider.good(is_streamed);
        let server = Server::start([Reply::with_header(200, header, &body)]).await;
        let reply = provider.send(is_streamed, Setup::new(&server.base_url())).await;
        let expected: ChatReply = serde_json::from_str(&provider.file("expected.json")).unwrap();
        assert_eq!(reply.unwrap(), expected, "{}", provider.name);
        let [request] = server.requests().try_into().unwrap();
        assert_eq!(request.header("x-team"), Some("blue"), "{}", provider.name);
        assert_eq!(request.header("content-type"), Some("application/json"));
        let has_key = request.headers.iter().any(|(_, value)| value.contains(KEY));
        assert!(has_key, "{}: {request:?}", provider.name);
        assert!(!request.line.contains(KEY));
    }
}

/// A custom reqwest client keeps its settings.
#[tokio::test]
async fn custom_proxy_is_used() {
    for (provider, is_streamed) in exchange_kinds() {
        let (header, body) = provider.good(is_streamed);
        let server = Server::start([Reply::with_header(200, header, &body)]).await;
        let address = server.base_url();
        let proxy = reqwest::Proxy::http(address.trim_end_matches("/v1")).unwrap();
        let client = reqwest::Client::builder().proxy(proxy).tls_certs_only([]);
        let setup = Setup {
            transport: Some(Shared(Arc::new(ReqwestTransport::from_builder(client)))),
            ..Setup::new("http://models.invalid/v1")
        };
        provider.send(is_streamed, setup).await.unwrap();
        let [request] = server.requests().try_into().unwrap();
        let start = "POST http://models.invalid/v1/";
        assert!(request.line.starts_with(start), "{}: {}", provider.name, request.line);
        assert_eq!(request.header("x-team"), Some("blue"));
    }
}

/// The connection is closed, and no task keeps running.
#[tokio::test]
async fn dropped_stream_closes_connection_and_tasks() {
    for provider in &PROVIDERS {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let (header, body) = provider.good(true);
        let server = tokio::spawn(async move {
            let (mut line, _) = listener.accept().await.unwrap();
            let started = body.trim_end().len() - 1;
            let reply = format!("HTTP/1.1 200 -\r\n{header}\r\n\r\n{}", &body[..started]);
            let mut bytes = [0; 1_024];
            assert!(line.read(&mut bytes).await.unwrap() > 0);
            line.write_all(reply.as_bytes()).await.unwrap();
            // Until the client closes the connection.
            while line.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
        });
        let model = (provider.model)(Setup::new(&base));
        let emitted = Notify::new();
        let messages = [Message::user("Hello")];
        let mut deltas = |_: Delta<'_>| emitted.notify_one();
        tokio::select! {
            reply = model.stream(ChatRequest::new(&messages), &mut deltas) => {
                panic!("{}: {reply:?}", provider.name)
            }
            () = emitted.notified() => {}
        }
        server.await.unwrap();
        drop(model);
        let metrics = Handle::current().metrics();
        while metrics.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
