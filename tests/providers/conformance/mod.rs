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
pub mod requests;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use support::streamed::{cuts, streamed};
use tool_runtime::providers::{
    Anthropic, Gemini, Headers, Mistral, Ollama, OpenAi, OpenAiResponses,
};
use tool_runtime::{
    Arguments, AssistantPart, ChatModel, ChatReply, ChatRequest, Message, ModelError,
};

const BASE: &str = "https://models.invalid/v1";

/// Number of random cuts of a stream.
const RANDOM_CUTS: usize = 50;

type Client = fn(Canned) -> Box<dyn ChatModel>;

/// The providers with fixtures, and their clients.
const PROVIDERS: [(&str, Client); 6] = [
    ("anthropic", |canned| Box::new(Anthropic::new(BASE, "m").max_retries(0).transport(canned))),
    ("gemini", |canned| Box::new(Gemini::new(BASE, "m").max_retries(0).transport(canned))),
    ("mistral", |canned| Box::new(Mistral::new(BASE, "m").max_retries(0).transport(canned))),
    ("ollama", |canned| Box::new(Ollama::new(BASE, "m").max_retries(0).transport(canned))),
    ("openai", |canned| Box::new(OpenAi::new(BASE, "m").max_retries(0).transport(canned))),
    ("responses", |canned| {
        Box::new(OpenAiResponses::new(BASE, "m").max_retries(0).transport(canned))
    }),
];

/// One case: a folder of fixtures.
struct Case {
    folder: PathBuf,
    model: Client,
}

impl Case {
    fn all() -> Vec<Self> {
        let cases_of = |(provider, model): (&str, _)| {
            let mut cases: Vec<_> = folders(&root().join(provider))
                .into_iter()
                .map(|folder| Self { folder, model })
                .collect();
            cases.sort_by(|left, right| left.folder.cmp(&right.folder));
            assert!(!cases.is_empty(), "{provider} has no fixtures");
            cases
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
        self.folder.strip_prefix(root()).unwrap().display().to_string()
    }

    fn model(&self, reply: Reply) -> Box<dyn ChatModel> {
        (self.model)(Canned::new([reply]))
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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn folders(below: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(below).unwrap_or_else(|error| panic!("{}: {error}", below.display()));
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn every_folder_is_one_kind_of_case() {
    let existing: BTreeSet<_> = folders(&root())
        .iter()
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(existing, PROVIDERS.map(|(name, _)| name.to_owned()).into());
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

/// Every cut of a stream gives the same reply, and the deltas add up to it.
#[tokio::test]
async fn streamed_replies_are_decoded_at_any_cut() {
    for case in Case::all() {
        let (Some(text), Some(expected)) = (case.stream(), case.json::<ChatReply>("expected.json"))
        else {
            continue;
        };
        let message = Message::Assistant { parts: expected.parts.clone() };
        let reasoning: String = expected
            .parts
            .iter()
            .filter_map(|part| match part {
                AssistantPart::Reasoning(reasoning) => Some(reasoning.text.as_str()),
                _ => None,
            })
            .collect();
        // Short streams are cut at every place, long ones into single bytes; all get random cuts.
        let is_long = text.len() > 3_000;
        let cuts = cuts(text.as_bytes()).skip(if is_long { text.len() + 1 } else { 0 });
        for pieces in cuts.chain(random_cuts(text.as_bytes()).take(RANDOM_CUTS)) {
            let (reply, deltas) = streamed(&*case.model(Reply::new(200, pieces))).await;
            let reply = reply.unwrap_or_else(|error| panic!("{}: {error}", case.name()));
            let decoded = Message::Assistant { parts: reply.parts.clone() };
            let calls: Vec<_> = decoded.calls().collect();
            assert_eq!(deltas.calls.len(), calls.len(), "{}", case.name());
            for ([name, arguments], call) in deltas.calls.iter().zip(calls) {
                assert_eq!(*name, call.name, "{}", case.name());
                let is_nothing = arguments.is_empty() && call.arguments.to_text() == "{}";
                assert!(is_nothing || *arguments == call.arguments.to_text(), "{}", case.name());
            }
            let reply = as_expected(reply, &expected);
            let json = || serde_json::to_string(&reply).unwrap();
            assert_eq!(reply, expected, "{}: {}", case.name(), json());
            assert_eq!(deltas.text, message.text(), "{}", case.name());
            assert_eq!(deltas.reasoning, reasoning, "{}", case.name());
        }
    }
}

/// Returns an endless, deterministic sequence of random cuts.
fn random_cuts(bytes: &[u8]) -> impl Iterator<Item = Vec<Vec<u8>>> {
    let mut chance = fastrand::Rng::with_seed(bytes.len() as u64);
    std::iter::repeat_with(move || {
        let max_length = 1 << chance.u32(1..13);
        let (mut pieces, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(chance.usize(0..=max_length).min(rest.len()));
            pieces.push(piece.to_vec());
            rest = later;
        }
        pieces
    })
}

#[derive(Deserialize)]
struct ExpectedError {
    status: u16,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
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
            let model = (case.model)(canned.clone());
            let error = match is_streamed {
                true => streamed(&*model).await.0,
                false => model.reply(ChatRequest::new(&[Message::user("Hello")])).await,
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

#[derive(Deserialize)]
struct ExpectedFailure {
    kind: Option<String>,
    reason: Option<String>,
}

#[tokio::test]
async fn failed_streams_report_their_error() {
    for case in Case::all() {
        let (Some(text), Some(expected)) =
            (case.stream(), case.json::<ExpectedFailure>("failed.json"))
        else {
            continue;
        };
        assert!(expected.kind.is_some() || expected.reason.is_some(), "{}", case.name());
        for pieces in cuts(text.as_bytes()) {
            let mut reply = Reply::new(200, pieces);
            reply.headers.set("x-request-id", "req_1");
            let error = streamed(&*case.model(reply)).await.0.unwrap_err();
            assert!(error.to_string().contains("(request req_1)"), "{}: {error}", case.name());
            if let Some(kind) = &expected.kind {
                let ModelError::Api(refusal) = &error else { panic!("{}: {error}", case.name()) };
                assert_eq!(format!("{:?}", refusal.kind), *kind, "{}", case.name());
            }
            let reason = expected.reason.as_deref().unwrap_or_default();
            assert!(error.to_string().contains(reason), "{}: {error}", case.name());
        }
    }
}

/// A prefix of a stream is never a reply.
#[tokio::test]
async fn interrupted_streams_are_errors() {
    for case in Case::all() {
        let (Some(text), Some(_)) = (case.stream(), case.file("expected.json")) else { continue };
        let half = &text.as_bytes()[..text.len() / 2];
        let ends = (0..half.len()).filter(|&at| half[at] == b'\n');
        for at in ends.flat_map(|at| [at - 1, at, at + 1]) {
            let (reply, _) =
                streamed(&*case.model(Reply::new(200, vec![text.as_bytes()[..at].to_vec()]))).await;
            assert!(
                reply.is_err(),
                "{} is whole after {at} bytes of {}: {reply:?}",
                case.name(),
                text.len()
            );
        }
    }
}
