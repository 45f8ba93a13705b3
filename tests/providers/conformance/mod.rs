//! Recorded provider responses: `fixtures/<provider>/<case>/`.
//!
//! - `reply.json` is a whole reply. `stream.sse` or `stream.jsonl` is the same reply streamed. One
//!   of them can be missing. `expected.json` is the decoded reply as a serialized `ChatReply`.
//!   Arguments that are an object there are compared as values, because whitespace may differ.
//! - `error.json` is an error response with status, headers and body, and the expected error.
//! - `failed.json` beside a stream is the expected error kind, or a part of its reason.
//!
//! The official clients read the same files, see `fixtures/clients.py`.

mod arguments;
mod bodies;
mod endpoints;
mod parts;
pub mod requests;
pub mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use support::streamed::streamed;
use tool_runtime::http::Headers;
use tool_runtime::{
    Arguments, AssistantPart, ChatModel, ChatReply, ChatRequest, Message, ModelError,
};

use crate::provider::{PROVIDERS, Provider, fixtures, folders};

/// One case: a folder of fixtures.
struct Case {
    folder: PathBuf,
    provider: Provider,
}

impl Case {
    fn all() -> Vec<Self> {
        let cases_of = |provider: Provider| {
            let folders = folders(&fixtures().join(provider.name));
            assert!(!folders.is_empty(), "{} has no fixtures", provider.name);
            folders.into_iter().map(move |folder| Self { folder, provider })
        };
        PROVIDERS.into_iter().flat_map(cases_of).collect()
    }

    fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    fn json<T: for<'a> Deserialize<'a>>(&self, name: &str) -> Option<T> {
        let read = |text: String| serde_json::from_str(&text);
        let read = self.file(name).map(read);
        read.transpose().unwrap_or_else(|error| panic!("{}/{name}: {error}", self.name()))
    }

    fn stream(&self) -> Option<String> {
        self.file("stream.sse").or_else(|| self.file("stream.jsonl"))
    }

    fn name(&self) -> String {
        self.folder.strip_prefix(fixtures()).unwrap().display().to_string()
    }

    fn model(&self, reply: Reply) -> Box<dyn ChatModel> {
        self.provider.client(Canned::new([reply]))
    }
}

/// Converts arguments from text to values where values are expected.
fn as_expected(mut reply: ChatReply, expected: &ChatReply) -> ChatReply {
    for (part, expected) in reply.parts.iter_mut().zip(&expected.parts) {
        let (AssistantPart::Call(call), AssistantPart::Call(expected)) = (part, expected) else {
            continue;
        };
        if let (Arguments::Text(text), Arguments::Value(_)) = (&call.arguments, &expected.arguments)
        {
            call.arguments = serde_json::from_str::<Value>(text).expect("an object").into();
        }
    }
    reply
}

#[test]
fn every_folder_is_one_kind_of_case() {
    let existing: BTreeSet<_> = folders(&fixtures())
        .iter()
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "embeddings")
        .collect();
    assert_eq!(existing, PROVIDERS.map(|provider| provider.name.to_owned()).into());
    for case in Case::all() {
        let [reply, stream, error] =
            [case.file("reply.json"), case.stream(), case.file("error.json")];
        let [expected, failed] = [case.file("expected.json"), case.file("failed.json")];
        let is_reply = expected.is_some() && (reply.is_some() || stream.is_some());
        let is_failure = failed.is_some() && stream.is_some();
        let kinds = [is_reply, is_failure, error.is_some()];
        assert_eq!(
            kinds.iter().filter(|is_kind| **is_kind).count(),
            1,
            "{}: not exactly one kind",
            case.name()
        );
    }
}

#[tokio::test]
async fn whole_replies_are_decoded() {
    for case in Case::all() {
        let (Some(body), Some(expected)) =
            (case.file("reply.json"), case.json::<ChatReply>("expected.json"))
        else {
            continue;
        };
        let messages = [Message::user("Hello")];
        let model = case.model(Reply::text(200, &body));
        let reply = model.reply(ChatRequest::new(&messages)).await;
        let reply = reply.unwrap_or_else(|error| panic!("{}: {error}", case.name()));
        let reply = as_expected(reply, &expected);
        assert_eq!(reply, expected, "{}: {}", case.name(), serde_json::to_string(&reply).unwrap());
    }
}

/// Replaces every number at any depth.
fn replace_numbers(value: &mut Value, replacement: &Value) {
    match value {
        Value::Number(_) => *value = replacement.clone(),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_numbers(item, replacement)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| replace_numbers(member, replacement));
        }
        _ => {}
    }
}

/// A reply is decoded whatever its token counts are.
#[tokio::test]
async fn replies_with_invalid_counts_are_decoded() {
    for case in Case::all() {
        let (Some(mut body), Some(expected)) =
            (case.json::<Value>("reply.json"), case.json::<ChatReply>("expected.json"))
        else {
            continue;
        };
        let whole = body.clone();
        for strange in [json!(-1), json!(10.0), json!(1e20), json!([1]), json!("1"), json!(null)] {
            for member in ["usage", "usageMetadata", "prompt_eval_count", "eval_count"] {
                let Some(original) = whole.get(member) else { continue };
                let mut counts = original.clone();
                replace_numbers(&mut counts, &strange);
                for replacement in [counts, strange.clone()] {
                    body[member] = replacement;
                    let messages = [Message::user("Hello")];
                    let model = case.model(Reply::text(200, &body.to_string()));
                    let reply = model.reply(ChatRequest::new(&messages)).await;
                    let reply = reply.unwrap_or_else(|error| panic!("{}: {error}", case.name()));
                    let reply = as_expected(reply, &expected);
                    assert_eq!(reply.parts, expected.parts, "{}", case.name());
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct ExpectedError {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Value,
    kind: String,
    request_id: Option<String>,
    /// The delay in seconds.
    retry_after: Option<f64>,
}

/// Errors are the same for whole and streamed requests.
#[tokio::test]
async fn error_responses_are_decoded() {
    for case in Case::all() {
        let Some(expected) = case.json::<ExpectedError>("error.json") else { continue };
        let body =
            expected.body.as_str().map_or_else(|| expected.body.to_string(), ToOwned::to_owned);
        for is_streamed in [false, true] {
            let mut reply = Reply::text(expected.status, &body);
            reply.headers = expected.headers.clone().into_iter().collect::<Headers>();
            let canned = Canned::new([reply]);
            let model = case.provider.client(canned.clone());
            let error = if is_streamed {
                streamed(&*model).await.0
            } else {
                model.reply(ChatRequest::new(&[Message::user("Hello")])).await
            };
            let error = error.unwrap_err();
            assert_eq!(canned.requests().len(), 1, "{}", case.name());
            let ModelError::Api(refusal) = &error else { panic!("{}: {error}", case.name()) };
            assert_eq!(format!("{:?}", refusal.kind), expected.kind, "{}", case.name());
            assert_eq!(refusal.status, expected.status, "{}", case.name());
            assert_eq!(refusal.request_id, expected.request_id, "{}", case.name());
            let delay = refusal.retry_after.map(|delay| delay.as_secs_f64());
            assert_eq!(delay, expected.retry_after, "{}", case.name());
        }
    }
}
