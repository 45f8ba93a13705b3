//! Streams give the same reply in any pieces, and an error if they end early.

use serde::Deserialize;
use serde_json::Value;
use support::canned::{Canned, Reply};
use support::streamed::{cut_distance, cuts, streamed};
use tool_runtime::{AssistantPart, ChatModel, ChatReply, ChatRequest, Message, ModelError};

use super::{Case, as_expected};
use crate::provider::{PROVIDERS, Provider};

/// Number of random cuts of a stream.
const RANDOM_CUTS: usize = 20;

/// Streams of up to this many bytes are cut anywhere.
const MAX_CUT: usize = 3_500;

/// A reply that a test composes.
pub struct Composed {
    pub whole: Value,
    /// Streams that give the same reply.
    pub streams: Vec<String>,
    /// A stream that ends before the reply is complete.
    pub unfinished: String,
}

/// A stream of a provider, and the reply that it gives.
struct Stream {
    name: String,
    provider: Provider,
    text: String,
    unfinished: String,
    expected: ChatReply,
}

impl Stream {
    /// Returns the fixtures with a reply, and the composed replies, of some providers.
    async fn all(providers: &[Provider]) -> Vec<Self> {
        let fixture = |case: Case| {
            let (text, expected) = (case.stream()?, case.json("expected.json")?);
            let unfinished = case.provider.unfinished(&text).to_owned();
            let (name, provider) = (case.name(), case.provider);
            Some(Self { name, provider, text, unfinished, expected })
        };
        let is_wanted = |case: &Case| providers.iter().any(|it| it.name == case.provider.name);
        let cases = Case::all().into_iter().filter(is_wanted);
        let mut all: Vec<_> = cases.filter_map(fixture).collect();
        for &provider in providers {
            for Composed { whole, streams, unfinished } in (provider.composed)() {
                let canned = Canned::new([Reply::text(200, &whole.to_string())]);
                let expected = provider.client(canned).reply(ChatRequest::new(&[])).await.unwrap();
                for text in &streams {
                    assert!(text.len() <= MAX_CUT, "{} bytes cannot be cut: {whole}", text.len());
                }
                all.extend(streams.into_iter().map(|text| Self {
                    name: format!("{}: {whole}", provider.name),
                    provider,
                    text,
                    unfinished: unfinished.clone(),
                    expected: expected.clone(),
                }));
            }
        }
        for provider in providers {
            assert!(all.iter().any(|stream| stream.provider.name == provider.name));
        }
        all
    }

    /// Returns a client that receives these replies, one after the other.
    fn client(&self, replies: impl IntoIterator<Item = Reply>) -> Box<dyn ChatModel> {
        self.provider.client(Canned::new(replies))
    }
}

/// Any cut of a stream gives the same reply, and the deltas add up to it. There are several tests,
/// which run at the same time.
#[tokio::test]
async fn streamed_replies_of_anthropic_and_gemini_are_decoded_at_any_cut() {
    assert_decoded_at_any_cut(&PROVIDERS[..2]).await;
}

#[tokio::test]
async fn streamed_replies_of_mistral_and_ollama_are_decoded_at_any_cut() {
    assert_decoded_at_any_cut(&PROVIDERS[2..4]).await;
}

#[tokio::test]
async fn streamed_replies_of_openai_are_decoded_at_any_cut() {
    assert_decoded_at_any_cut(&PROVIDERS[4..5]).await;
}

#[tokio::test]
async fn streamed_replies_of_responses_are_decoded_at_any_cut() {
    assert_decoded_at_any_cut(&PROVIDERS[5..]).await;
}

async fn assert_decoded_at_any_cut(providers: &[Provider]) {
    for stream in Stream::all(providers).await {
        let Stream { name, text, expected, .. } = &stream;
        let message = Message::Assistant { id: None, parts: expected.parts.clone() };
        let reasoning: String = expected
            .parts
            .iter()
            .filter_map(|part| match part {
                AssistantPart::Reasoning(reasoning) => Some(reasoning.text.as_str()),
                _ => None,
            })
            .collect();
        // Long streams are cut into single bytes; all get random cuts.
        let is_long = text.len() > MAX_CUT;
        let mut cuts: Vec<_> = cuts(text.as_bytes()).collect();
        let cuts = cuts.split_off(if is_long { cuts.len() - 1 } else { 0 });
        let cuts = cuts.into_iter().chain(random_cuts(text.as_bytes()).take(RANDOM_CUTS));
        let replies: Vec<_> = cuts.map(|pieces| Reply::new(200, pieces)).collect();
        let count = replies.len();
        let model = stream.client(replies);
        for _ in 0..count {
            let (reply, deltas) = streamed(&*model).await;
            let reply = reply.unwrap_or_else(|error| panic!("{name}: {error}"));
            let decoded = Message::Assistant { id: None, parts: reply.parts.clone() };
            let calls: Vec<_> = decoded.calls().collect();
            assert_eq!(deltas.calls.len(), calls.len(), "{name}");
            for ([tool, arguments], call) in deltas.calls.iter().zip(calls) {
                assert_eq!(*tool, call.name, "{name}");
                let is_nothing = arguments.is_empty() && call.arguments.to_text() == "{}";
                assert!(is_nothing || *arguments == call.arguments.to_text(), "{name}");
            }
            let reply = as_expected(reply, expected);
            let json = || serde_json::to_string(&reply).unwrap();
            assert_eq!(reply, *expected, "{name}: {}", json());
            assert_eq!(deltas.text, message.text(), "{name}");
            assert_eq!(deltas.reasoning, reasoning, "{name}");
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

/// A part of a stream is never a reply, whether the connection is closed or fails behind it.
#[tokio::test]
async fn truncated_streams_of_some_providers_are_errors() {
    assert_truncated_streams_are_errors(&PROVIDERS[..4]).await;
}

#[tokio::test]
async fn truncated_streams_of_other_providers_are_errors() {
    assert_truncated_streams_are_errors(&PROVIDERS[4..]).await;
}

async fn assert_truncated_streams_are_errors(providers: &[Provider]) {
    let ended_early = "the stream ended before the reply was complete";
    for stream in Stream::all(providers).await {
        let (name, text) = (&stream.name, stream.unfinished.as_bytes());
        // Long streams are cut around the ends of their lines.
        let is_near_line_end =
            |at: usize| text[at.saturating_sub(1)..text.len().min(at + 2)].contains(&b'\n');
        let places = (0..=text.len()).filter(|&at| text.len() <= MAX_CUT || is_near_line_end(at));
        let places: Vec<_> = places.collect();
        let distance = cut_distance(places.len(), 80);
        let places = || places.iter().skip(places.len() % distance).step_by(distance);
        let model = stream.client(places().map(|at| Reply::new(200, vec![text[..*at].to_vec()])));
        for at in places() {
            match streamed(&*model).await.0 {
                Err(ModelError::Malformed { .. }) => {}
                Err(error @ ModelError::Unreachable { .. }) => {
                    assert!(error.is_transient(), "{name}, {at}: {error:?}");
                    assert!(error.to_string().ends_with(ended_early), "{name}, {at}: {error}");
                }
                other => panic!("{name}, {at}: {other:?}"),
            }
        }
        let mut breaks = Reply::text(200, &stream.unfinished);
        breaks.breaks = true;
        let reply = streamed(&*stream.client([breaks])).await.0;
        assert!(matches!(reply, Err(ModelError::Unreachable { .. })), "{name}: {reply:?}");
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

/// A provider, a message that reports an error or cannot be decoded, and what the error contains.
const FAILURES: [(&str, &str, &str); 11] = [
    ("anthropic", r#"{"type": "error", "error": {"type": "overloaded_error"}}"#, "status 200"),
    (
        "anthropic",
        r#"{"type": "error", "error": {"type": "odd", "message": "odd"}}"#,
        "an error: odd",
    ),
    ("anthropic", r#"{"type": "content_block_delta", "index": 7, "delta": {}}"#, "never started"),
    ("anthropic", r#"{"type": "content_block_"#, "EOF"),
    (
        "openai",
        r#"{"error": {"message": "no memory left"}}"#,
        "the provider reported an error: no memory left",
    ),
    ("openai", r#"{"error": {"type": "overloaded_error"}}"#, "status 200"),
    (
        "openai",
        r#"{"choices": [{"index": 0, "delta": {}, "error": {"message": "no memory left"}}]}"#,
        "no memory left",
    ),
    ("responses", r#"{"error": {"code": 500, "message": "odd"}}"#, "status 200"),
    (
        "responses",
        r#"{"type": "response.failed", "response": {}}"#,
        "response failed without an error",
    ),
    ("responses", r#"{"type": "response.completed"}"#, "invalid type"),
    ("responses", r#"{"type": "response.output_te"#, "EOF"),
];

/// Messages that no provider sends.
const UNREADABLE: [(&str, &str); 2] = [(r#"{"choices": ["#, "EOF"), ("<html>", "expected value")];

/// The error is the first message of the stream, or comes in the middle.
#[tokio::test]
async fn messages_without_a_reply_are_errors() {
    for provider in PROVIDERS {
        let (_, good) = provider.good(true);
        let started = provider.unfinished(&good).rsplit_once('\n').unwrap().0;
        let failures = FAILURES.iter().filter(|(name, ..)| *name == provider.name);
        let failures = failures.map(|(_, message, reason)| (*message, *reason)).chain(UNREADABLE);
        for (message, reason) in failures {
            for start in ["", started] {
                let text = format!("{start}\n\n{}", provider.framed(message));
                let model = provider.client(Canned::new([Reply::text(200, &text)]));
                let error = streamed(&*model).await.0.unwrap_err().to_string();
                assert!(error.contains(reason), "{}, {message}: {error}", provider.name);
            }
        }
        let mut bytes = format!("{started}\n\n").into_bytes();
        bytes.extend(
            provider.framed("\"?").bytes().map(|byte| if byte == b'?' { 0xc3 } else { byte }),
        );
        let model = provider.client(Canned::new([Reply::new(200, vec![bytes])]));
        let error = streamed(&*model).await.0.unwrap_err().to_string();
        assert!(error.contains("UTF-8"), "{}: {error}", provider.name);
    }
}
