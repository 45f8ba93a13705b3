//! The model providers, and how the tests build a client of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use support::canned::Canned;
use tool_runtime::http::{HttpRequest, HttpResponse, Transport, TransportError};
use tool_runtime::providers::{Anthropic, Gemini, Mistral, Ollama, OpenAi, OpenAiResponses};
use tool_runtime::{ChatModel, async_trait};

use crate::conformance::streams::Composed;
use crate::{anthropic, openai};

pub const KEY: &str = "sk-very-secret";

/// Setup of a client, beside a header.
pub struct Setup<'s> {
    pub base: &'s str,
    pub key: &'s str,
    pub timeout: Duration,
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub max_calls: Option<u32>,
    pub transport: Option<Shared>,
}

impl<'s> Setup<'s> {
    pub fn new(base: &'s str) -> Self {
        let timeout = Duration::from_secs(60);
        let (connect, first_byte, max_calls) = (None, None, None);
        Self { base, key: KEY, timeout, connect, first_byte, max_calls, transport: None }
    }
}

/// Transport that several clients share.
#[derive(Clone)]
pub struct Shared(pub Arc<dyn Transport>);

#[async_trait]
impl Transport for Shared {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.0.send(request).await
    }
}

#[derive(Clone, Copy)]
pub struct Provider {
    /// Name of the provider and of its folder of fixtures.
    pub name: &'static str,
    pub model: fn(Setup<'_>) -> Box<dyn ChatModel>,
    /// Returns whether the reply is complete after this message of a stream.
    pub completes: fn(&Value) -> bool,
    /// Replies that are no fixtures.
    pub composed: fn() -> Vec<Composed>,
}

macro_rules! providers {
    ($($name:literal: $client:ident { completes: $completes:expr, composed: $composed:expr })*) => {
        pub const PROVIDERS: [Provider; 6] = [$(Provider {
            name: $name,
            model: |setup| {
                let model = $client::new(setup.base, "m").key(setup.key).header("x-team", "blue");
                let mut model = model.max_retries(0).timeout(setup.timeout);
                if let Some(limit) = setup.connect {
                    model = model.connect_timeout(limit);
                }
                if let Some(limit) = setup.first_byte {
                    model = model.first_byte_timeout(limit);
                }
                if let Some(limit) = setup.max_calls {
                    model = model.max_calls_per_reply(limit);
                }
                if let Some(transport) = setup.transport {
                    model = model.transport(transport);
                }
                Box::new(model)
            },
            completes: $completes,
            composed: $composed,
        }),*];
    };
}

providers! {
    "anthropic": Anthropic {
        completes: |message| message["delta"]["stop_reason"].is_string()
            || message["type"] == "message_stop",
        composed: anthropic::streams::composed
    }
    "gemini": Gemini {
        completes: |message| has_ended(&message["candidates"], "finishReason")
            || message["promptFeedback"]["blockReason"].is_string(),
        composed: Vec::new
    }
    "mistral": Mistral {
        completes: |message| has_ended(&message["choices"], "finish_reason"),
        composed: Vec::new
    }
    "ollama": Ollama {
        completes: |message| message["done"] == true,
        composed: Vec::new
    }
    "openai": OpenAi {
        completes: |message| has_ended(&message["choices"], "finish_reason"),
        composed: openai::streams::composed
    }
    "responses": OpenAiResponses {
        completes: |message| ["response.completed", "response.incomplete"]
            .iter()
            .any(|kind| message["type"] == *kind),
        composed: Vec::new
    }
}

/// Returns whether the first of several alternatives has a reason to end.
fn has_ended(alternatives: &Value, reason: &str) -> bool {
    let mut alternatives = alternatives.as_array().into_iter().flatten();
    alternatives.any(|it| it["index"].as_u64().unwrap_or(0) == 0 && it[reason].is_string())
}

/// The folder of all fixtures.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

pub fn folders(below: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(below).unwrap_or_else(|error| panic!("{}: {error}", below.display()));
    let mut folders: Vec<_> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Returns the fixtures of this name of a provider, with the names of their cases.
pub fn fixtures_named(provider: &str, file: &str) -> Vec<(String, String)> {
    let read = |case: PathBuf| {
        let text = fs::read_to_string(case.join(file)).ok()?;
        Some((case.file_name()?.to_string_lossy().into_owned(), text))
    };
    let found: Vec<_> = folders(&fixtures().join(provider)).into_iter().filter_map(read).collect();
    assert!(!found.is_empty(), "{provider} has no {file}");
    found
}

/// Returns a client of the provider with this name, which sends its requests to this transport.
pub fn client_of(provider: &str, canned: Canned) -> Box<dyn ChatModel> {
    let has_name = |known: &&Provider| known.name == provider;
    PROVIDERS.iter().find(has_name).expect("the name of a provider").client(canned)
}

impl Provider {
    /// Returns a client that sends its requests to this transport.
    pub fn client(&self, canned: Canned) -> Box<dyn ChatModel> {
        let transport = Some(Shared(Arc::new(canned)));
        (self.model)(Setup { transport, ..Setup::new("https://models.invalid/v1") })
    }

    /// Returns a file of the fixture `text`.
    pub fn file(&self, name: &str) -> String {
        let folder = fixtures().join(self.name).join("text");
        fs::read_to_string(folder.join(name)).expect("a fixture")
    }

    /// Returns a message as it is framed in a stream.
    pub fn framed(&self, message: &str) -> String {
        match self.name {
            "ollama" => format!("{message}\n"),
            _ => format!("data: {message}\n\n"),
        }
    }

    /// Returns a valid reply of this provider and its content type.
    pub fn good(&self, is_streamed: bool) -> (&'static str, String) {
        match (is_streamed, self.name) {
            (false, _) => ("content-type: application/json", self.file("reply.json")),
            (true, "ollama") => ("content-type: application/x-ndjson", self.file("stream.jsonl")),
            (true, _) => ("content-type: text/event-stream", self.file("stream.sse")),
        }
    }

    /// Returns a stream up to the end of the message that completes the reply, but without the last
    /// byte of that message.
    pub fn unfinished<'t>(&self, stream: &'t str) -> &'t str {
        let mut end = 0;
        for line in stream.split_inclusive('\n') {
            let message = line.strip_prefix("data:").unwrap_or(line).trim();
            let is_last = serde_json::from_str(message).is_ok_and(|it| (self.completes)(&it));
            if is_last || message == "[DONE]" {
                return &stream[..end + line.trim_end().len() - 1];
            }
            end += line.len();
        }
        panic!("{}: the stream has no end: {stream}", self.name);
    }
}
