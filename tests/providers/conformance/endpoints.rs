//! Requests go to the path of the API and carry the key in its header.

use std::sync::Arc;

use support::canned::{Canned, Reply};
use support::streamed::streamed;
use tool_runtime::{ChatRequest, Message};

use crate::provider::{KEY, PROVIDERS, Setup, Shared};

/// Where a provider expects its requests.
struct Endpoint {
    provider: &'static str,
    base: &'static str,
    /// The paths of a whole and of a streamed reply.
    paths: [&'static str; 2],
    key_header: &'static str,
    key_prefix: &'static str,
}

const ENDPOINTS: [Endpoint; 6] = [
    Endpoint {
        provider: "anthropic",
        base: "https://models.invalid/v1",
        paths: ["/messages"; 2],
        key_header: "x-api-key",
        key_prefix: "",
    },
    Endpoint {
        provider: "gemini",
        base: "https://models.invalid/v1beta",
        paths: ["/models/m:generateContent", "/models/m:streamGenerateContent?alt=sse"],
        key_header: "x-goog-api-key",
        key_prefix: "",
    },
    Endpoint {
        provider: "mistral",
        base: "https://models.invalid/v1",
        paths: ["/chat/completions"; 2],
        key_header: "authorization",
        key_prefix: "Bearer ",
    },
    Endpoint {
        provider: "ollama",
        base: "http://models.invalid:11434",
        paths: ["/api/chat"; 2],
        key_header: "authorization",
        key_prefix: "Bearer ",
    },
    Endpoint {
        provider: "openai",
        base: "https://models.invalid/v1",
        paths: ["/chat/completions"; 2],
        key_header: "authorization",
        key_prefix: "Bearer ",
    },
    Endpoint {
        provider: "responses",
        base: "https://models.invalid/v1",
        paths: ["/responses"; 2],
        key_header: "authorization",
        key_prefix: "Bearer ",
    },
];

#[tokio::test]
async fn requests_have_the_path_and_key() {
    for (provider, endpoint) in PROVIDERS.into_iter().zip(ENDPOINTS) {
        let name = provider.name;
        assert_eq!(name, endpoint.provider);
        let with_line_end = format!("{KEY}\n");
        let value = format!("{}{KEY}", endpoint.key_prefix);
        for (key, expected) in [(with_line_end.as_str(), Some(value.as_str())), ("", None)] {
            let bodies = [false, true].map(|is_streamed| provider.good(is_streamed).1);
            let canned = Canned::new(bodies.map(|body| Reply::text(200, &body)));
            let transport = Some(Shared(Arc::new(canned.clone())));
            let model = (provider.model)(Setup { key, transport, ..Setup::new(endpoint.base) });
            model.reply(ChatRequest::new(&[Message::user("Hello")])).await.unwrap();
            streamed(&*model).await.0.unwrap();
            let requests = canned.requests();
            assert_eq!(requests.len(), 2, "{name}");
            for (request, path) in requests.iter().zip(endpoint.paths) {
                assert_eq!(request.url, format!("{}{path}", endpoint.base), "{name}");
                assert_eq!(request.headers.get(endpoint.key_header), expected, "{name}");
                let version = request.headers.get("anthropic-version");
                assert_eq!(version, (name == "anthropic").then_some("2023-06-01"), "{name}");
                assert!(!format!("{request:?}").contains(KEY), "{name}");
            }
        }
    }
}
