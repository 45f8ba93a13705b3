//! Every provider's client over real connections, when all goes well and when servers, lines and
//! proxies don't do what they should. What only one provider can get wrong is tested with that one.

#[path = "transport/faults.rs"]
mod faults;
#[path = "transport/limits.rs"]
mod limits;
#[path = "transport/once.rs"]
mod once;
#[expect(dead_code, reason = "other tests ask for more")]
#[path = "support/server.rs"]
mod server;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use server::{Reply, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tool_runtime::providers::{
    Anthropic, Gemini, HttpReply, HttpRequest, Mistral, Ollama, OpenAi, OpenAiResponses, Transport,
    TransportError, Web,
};
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError, async_trait};

const KEY: &str = "sk-very-secret";

/// How a client is set up, beside its key and a header of its own.
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

/// One transport for several clients.
#[derive(Clone)]
struct Shared(Arc<dyn Transport>);

#[async_trait]
impl Transport for Shared {
    async fn send(&self, request: &HttpRequest) -> Result<HttpReply, TransportError> {
        self.0.send(request).await
    }
}

struct Provider {
    /// Of its fixtures as well.
    name: &'static str,
    model: fn(Setup<'_>) -> Box<dyn ChatModel>,
}

macro_rules! providers {
    ($($name:literal: $client:ident;)*) => {
        const PROVIDERS: [Provider; 6] = [$(Provider {
            name: $name,
            model: |setup| {
                let model = $client::new(setup.base, "m").key(KEY).header("x-team", "blue");
                let mut model = model.retries(0).timeout(setup.timeout);
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

    /// A reply of this provider as it should be, and the header that goes with it.
    fn good(&self, is_streamed: bool) -> (&'static str, String) {
        match (is_streamed, self.name) {
            (false, _) => ("content-type: application/json", self.file("reply.json")),
            (true, "ollama") => ("content-type: application/x-ndjson", self.file("stream.jsonl")),
            (true, _) => ("content-type: text/event-stream", self.file("stream.sse")),
        }
    }

    /// What is made of this reply. Of an error, nothing is ever shown that is secret.
    async fn hears(&self, is_streamed: bool, reply: Reply) -> Result<ChatReply, ModelError> {
        let server = Server::start([reply]).await;
        self.asks(is_streamed, Setup::new(&server.base_url())).await
    }

    async fn asks(&self, is_streamed: bool, setup: Setup<'_>) -> Result<ChatReply, ModelError> {
        let messages = [Message::user("Hello")];
        self.asks_for(is_streamed, setup, ChatRequest::new(&messages)).await
    }

    async fn asks_for(
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

/// Each provider, for a whole reply and for a stream.
fn both() -> impl Iterator<Item = (&'static Provider, bool)> {
    const { &PROVIDERS }.iter().flat_map(|provider| [(provider, false), (provider, true)])
}

#[tokio::test]
async fn a_reply_comes_over_the_line_and_own_headers_go() {
    for (provider, is_streamed) in both() {
        let (header, body) = provider.good(is_streamed);
        let server = Server::start([Reply::with_header(200, header, &body)]).await;
        let reply = provider.asks(is_streamed, Setup::new(&server.base_url())).await;
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

/// What a program's own client is set up with goes for all that is sent by it.
#[tokio::test]
async fn a_proxy_of_the_programs_own() {
    for (provider, is_streamed) in both() {
        let (header, body) = provider.good(is_streamed);
        let proxy = Server::start([Reply::with_header(200, header, &body)]).await;
        let address = proxy.base_url();
        let through = reqwest::Proxy::http(address.trim_end_matches("/v1")).unwrap();
        let client = reqwest::Client::builder().proxy(through).tls_certs_only([]);
        let setup = Setup {
            transport: Some(Shared(Arc::new(Web::with(client)))),
            ..Setup::new("http://models.invalid/v1")
        };
        provider.asks(is_streamed, setup).await.unwrap();
        let [request] = proxy.requests().try_into().unwrap();
        let start = "POST http://models.invalid/v1/";
        assert!(request.line.starts_with(start), "{}: {}", provider.name, request.line);
        assert_eq!(request.header("x-team"), Some("blue"));
    }
}

/// The connection is closed, and no task goes on.
#[tokio::test]
async fn a_stream_that_is_dropped_leaves_nothing_behind() {
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
            // Until the client hangs up.
            while line.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
        });
        let model = (provider.model)(Setup::new(&base));
        let told = Notify::new();
        let messages = [Message::user("Hello")];
        let mut deltas = |_: Delta<'_>| told.notify_one();
        tokio::select! {
            reply = model.stream(ChatRequest::new(&messages), &mut deltas) => {
                panic!("{}: {reply:?}", provider.name)
            }
            () = told.notified() => {}
        }
        server.await.unwrap();
        drop(model);
        let metrics = Handle::current().metrics();
        while metrics.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
