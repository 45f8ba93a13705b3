//! Recordings of a server on this machine, replayed without it.

mod local;
mod recorded;
use std::fs;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_runtime::http::{
    BodyStream, Cassette, HttpBody, HttpRequest, HttpResponse, ReqwestTransport, Transport,
    TransportError,
};
use tool_runtime::providers::OpenAi;
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError, async_trait};

use crate::provider::KEY;
use support::canned::{self, Canned};
use support::server::{Reply, Server};
use support::streamed::streamed;

/// Folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cassette-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("tape.json")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }
}

fn client(base: &str, cassette: &Cassette) -> OpenAi {
    OpenAi::new(base, "m").key(KEY).max_retries(0).transport(cassette.clone())
}

async fn ask(model: &OpenAi, text: &str) -> Result<ChatReply, ModelError> {
    model.reply(ChatRequest::new(&[Message::user(text)])).await
}

fn message(text: &str) -> Reply {
    Reply::message(json!({ "content": text }))
}

fn chunks(texts: &[&str]) -> Reply {
    let chunk = |delta: &str, finish: Value| {
        let choice = json!({ "index": 0, "delta": { "content": delta }, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let mut body: String = texts.iter().map(|text| chunk(text, Value::Null)).collect();
    body += &chunk("", "stop".into());
    Reply::with_header(200, "content-type: text/event-stream\r\nset-cookie: session=1", &body)
}

#[tokio::test]
async fn recordings_are_replayed_in_any_order() {
    let folder = Folder::new("any_order");
    let server = Server::start([message("one"), message("two"), chunks(&["th", "ree"])]).await;
    let base = server.base_url();
    let recorder = Cassette::record(folder.file(), ReqwestTransport::new());
    let model = client(&base, &recorder);
    for text in ["one", "two"] {
        assert_eq!(ask(&model, text).await.unwrap(), ChatReply::text(text));
    }
    assert_eq!(streamed(&model).await.0.unwrap(), ChatReply::text("three"));
    assert_eq!(recorder.unplayed_count(), 0);
    drop(server);

    let player = Cassette::replay(folder.file()).unwrap();
    let model = client(&base, &player);
    assert_eq!(player.unplayed_count(), 3);
    let (reply, deltas) = streamed(&model).await;
    assert_eq!((reply.unwrap(), deltas.text), (ChatReply::text("three"), "three".into()));
    for text in ["two", "one"] {
        assert_eq!(ask(&model, text).await.unwrap(), ChatReply::text(text));
    }
    assert_eq!(player.unplayed_count(), 0);
}

#[tokio::test]
async fn secrets_are_not_recorded() {
    let folder = Folder::new("secrets");
    let arguments = json!({ "name": "\"Ann\\Bo\"" });
    let echo = format!("your key is {KEY}, \"Ann\\Bo\" lives here, {arguments}");
    let server = Server::start([chunks(&[&echo])]).await;
    let base = server.base_url().replace("http://", "http://user:pass-word@");
    let base = format!("{base}?token=abcdefgh");
    let cassette = |cassette: Cassette| cassette.redact("\"Ann\\Bo\"").redact("").redact("Ann");
    let recorder = cassette(Cassette::record(folder.file(), ReqwestTransport::new()));
    let model =
        client(&base, &recorder).header("x-project", "project-zebra").header("x-debug", "1");
    let messages = [Message::user("I am \"Ann\\Bo\" of project-zebra, number 1")];
    let mut ignore = |_: tool_runtime::Delta<'_>| {};
    let recorded = model.stream(ChatRequest::new(&messages), &mut ignore).await.unwrap();
    assert!(recorded.parts.iter().any(|part| format!("{part:?}").contains(KEY)));

    let text = folder.text();
    for secret in [KEY, "Ann", "zebra", "session=1", "pass-word", "abcdefgh", "Bearer"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(text.contains("number 1"), "{text}");
    assert!(!format!("{recorder:?}").contains("Ann"));

    let player = cassette(Cassette::replay(folder.file()).unwrap());
    let model = client(&base, &player).header("x-project", "project-zebra");
    let played = model.stream(ChatRequest::new(&messages), &mut ignore).await.unwrap();
    let expected = "your key is [scrubbed], [scrubbed] lives here, {\"name\":\"[scrubbed]\"}";
    assert_eq!(played, ChatReply::text(expected));
}

/// Services quote unknown keys, and some accept a short key, or one in the URL.
#[tokio::test]
async fn keys_in_headers_and_urls_are_not_recorded() {
    for (nth, (name, value, address, secrets)) in [
        ("Authorization", "Bearer k-1z", "", &["k-1z"][..]),
        ("x-api-key", "k-1z", "", &["k-1z"]),
        ("X-Goog-Api-Key", "k-1z", "", &["k-1z"]),
        ("api-key", "k-1z", "", &["k-1z"]),
        ("x-other", "k-1z long-enough", "", &["long-enough"]),
        ("x-other", "1", "?alt=sse&key=k-1z", &["k-1z"]),
        ("x-other", "1", "?code=q%2Bw%2Fe%3Dyu", &["q%2Bw%2Fe%3Dyu", "q+w/e=yu"]),
        ("x-other", "1", "user:p%40ss@", &["p%40ss", "p@ss"]),
        ("x-other", "1", "token-of-somebody@", &["token-of-somebody"]),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = Folder::new(&format!("keys-{nth}"));
        let body = json!({ "choices": [{ "message": { "content": format!("sse Bearer, {}", secrets.join(" ")) } }] });
        let canned = Canned::new([canned::Reply::text(200, &body.to_string())]);
        let base = if address.starts_with('?') {
            format!("https://models.invalid/v1{address}")
        } else {
            format!("https://{address}models.invalid/v1")
        };
        let recorder = Cassette::record(folder.file(), canned);
        let ask_by = async |cassette: Cassette, text: &str| {
            let model = OpenAi::new(&base, "m").header(name, value).transport(cassette);
            ask(&model, text).await.unwrap()
        };
        let text = secrets.join(" ");
        ask_by(recorder, &text).await;
        let written = folder.text();
        for secret in secrets {
            assert!(!written.contains(secret), "{name}: {value}, {address}: {secret} in {written}");
        }
        let played = ask_by(Cassette::replay(folder.file()).unwrap(), &text).await;
        let hidden = ["[scrubbed]"].repeat(secrets.len()).join(" ");
        assert_eq!(played, ChatReply::text(format!("sse Bearer, {hidden}")));
    }
}

/// Sends these bytes, and then nothing.
#[derive(Clone)]
struct Stuck(Option<Vec<u8>>);

#[async_trait]
impl Transport for Stuck {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(HttpResponse::new(200, HttpBody::new(self.clone())))
    }
}

#[async_trait]
impl BodyStream for Stuck {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.0.take() {
            Some(piece) => Ok(Some(piece)),
            None => pending().await,
        }
    }
}

/// Drops the stream after its first delta.
async fn drop_stream(model: &OpenAi) {
    let first_delta = Notify::new();
    let mut deltas = |_: Delta<'_>| first_delta.notify_one();
    let messages = [Message::user("Hello")];
    tokio::select! {
        reply = model.stream(ChatRequest::new(&messages), &mut deltas) => panic!("{reply:?}"),
        () = first_delta.notified() => {}
    }
}

#[tokio::test]
async fn dropped_stream_is_recorded_as_far_as_it_was_read() {
    let first = "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"Hi\"}}]}\n\n";
    for (nth, partial) in
        ["data: ", "data: \"é", "data: \"sk-very-sec", "data: \"\u{0}é"].iter().enumerate()
    {
        let folder = Folder::new(&format!("left-{nth}"));
        let mut bytes = format!("{first}{partial}").into_bytes();
        if partial.ends_with('é') {
            bytes.pop();
        }
        let recorder = Cassette::record(folder.file(), Stuck(Some(bytes)));
        let model = client("https://models.invalid/v1", &recorder);
        drop_stream(&model).await;
        // The next request is not affected.
        drop_stream(&model).await;

        let written = folder.text();
        assert!(written.contains("the reader left") && !written.contains("sk-very"), "{written}");
        let player = Cassette::replay(folder.file()).unwrap();
        assert_eq!(player.unplayed_count(), 2);
        let (reply, deltas) = streamed(&client("https://models.invalid/v1", &player)).await;
        let error = reply.unwrap_err();
        assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("the reader left"), "{error}");
        assert_eq!(deltas.text, "Hi");
    }
}

#[tokio::test]
async fn invalid_utf8_is_recorded_up_to_the_first_error() {
    let folder = Folder::new("bytes");
    let bytes = vec![b"{\"a\": \"".to_vec(), vec![0xff, b'"', b'}']];
    let canned = Canned::new([canned::Reply::new(200, bytes), canned::Reply::text(200, "{}")]);
    let recorder = Cassette::record(folder.file(), canned);
    let model = client("https://models.invalid/v1", &recorder);
    let error = ask(&model, "one").await.unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");
    let error = ask(&model, "two").await.unwrap_err();
    assert!(error.to_string().contains("choices"), "{error}");

    let player = Cassette::replay(folder.file()).unwrap();
    let error = ask(&client("https://models.invalid/v1", &player), "one").await.unwrap_err();
    assert!(error.to_string().contains("the rest is not UTF-8"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn link_in_the_place_of_a_recording_is_replaced() {
    let folder = Folder::new("link");
    let target = folder.file().with_extension("elsewhere");
    std::os::unix::fs::symlink(&target, folder.file()).unwrap();
    let canned = Canned::new([canned::Reply::text(200, "{}")]);
    let recorder = Cassette::record(folder.file(), canned);
    ask(&client("https://models.invalid/v1", &recorder), "one").await.unwrap_err();
    assert!(folder.text().contains("models.invalid"));
    assert!(!target.exists() && !folder.file().is_symlink());
}

/// Only the start of a long error response is read, and it is replayed as the same error.
#[tokio::test]
async fn long_error_response_is_recorded_as_far_as_it_was_read() {
    let folder = Folder::new("long");
    let pieces = vec!["é\n".repeat(1_000).into_bytes(); 100];
    let canned = Canned::new([canned::Reply::new(400, pieces)]);
    let recorder = Cassette::record(folder.file(), canned);
    let base = "https://models.invalid/v1";
    let recorded = ask(&client(base, &recorder), "one").await.unwrap_err();
    let player = Cassette::replay(folder.file()).unwrap();
    let played = ask(&client(base, &player), "one").await.unwrap_err();
    let (ModelError::Api(recorded), ModelError::Api(played)) = (recorded, played) else {
        panic!("no refusals")
    };
    assert_eq!(recorded.to_string(), played.to_string());
    assert_eq!((played.status, played.kind), (recorded.status, recorded.kind));
    assert!(folder.text().len() < 50_000);
}

#[tokio::test]
async fn error_responses_and_broken_connections_are_recorded() {
    let folder = Folder::new("refusals");
    let refusal = Reply::with_header(429, "retry-after: 7\r\nx-request-id: req_1", "slow down");
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\": [";
    let server = Server::start([refusal, Reply::Bytes(cut.into())]).await;
    let base = server.base_url();
    let recorder = Cassette::record(folder.file(), ReqwestTransport::new());
    let player = || Cassette::replay(folder.file()).unwrap();
    for cassette in [&|| recorder.clone() as Cassette, &player as &dyn Fn() -> Cassette] {
        let model = client(&base, &cassette());
        let error = ask(&model, "one").await.unwrap_err();
        let ModelError::Api(refusal) = &error else { panic!("{error:?}") };
        assert_eq!(refusal.status, 429);
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(7)));
        assert_eq!(refusal.request_id.as_deref(), Some("req_1"));
        let error = ask(&model, "two").await.unwrap_err();
        assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn request_without_a_recording_is_an_error() {
    let folder = Folder::new("misses");
    let server = Server::start([message("Hi")]).await;
    let base = server.base_url();
    ask(&client(&base, &Cassette::record(folder.file(), ReqwestTransport::new())), "Hello")
        .await
        .unwrap();

    let player = Cassette::replay(folder.file()).unwrap();
    let model = client(&base, &player);
    for (model, text, expected) in [
        (
            client(&base, &player),
            "Good-bye",
            vec!["`/messages/0/content`", "\"Hello\"", "\"Good-bye\"", "record it again"],
        ),
        (
            client("http://elsewhere.invalid/v1", &player),
            "Hello",
            vec!["the next one is POST", &base],
        ),
        (OpenAi::new(&base, "n").transport(player.clone()), "Hello", vec!["`/model`"]),
    ] {
        let error = ask(&model, text).await.unwrap_err();
        assert!(matches!(error, ModelError::Unrecorded(_)), "{error:?}");
        for part in expected {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
    }
    let options = tool_runtime::ChatOptions::default().extra("seed", 7);
    let messages = [Message::user("Hello")];
    let request = ChatRequest::new(&messages).options(&options);
    let error = model.reply(request).await.unwrap_err().to_string();
    assert!(error.contains("has nothing at `/seed` where this request has 7"), "{error}");
    assert_eq!(player.unplayed_count(), 1);
    assert_eq!(ask(&model, "Hello").await.unwrap(), ChatReply::text("Hi"));
    let error = ask(&model, "Hello").await.unwrap_err().to_string();
    assert!(error.contains("all 1 exchanges were replayed"), "{error}");
}

#[tokio::test]
async fn unusable_files_are_reported() {
    let folder = Folder::new("files");
    let error = Cassette::replay(folder.file()).unwrap_err().to_string();
    assert!(error.contains("tape.json") && error.contains("record it first"), "{error}");
    for text in ["", "{}", "[1]", r#"[{"url": "u"}]"#] {
        fs::write(folder.file(), text).unwrap();
        let error = Cassette::replay(folder.file()).unwrap_err().to_string();
        assert!(error.contains("not a recording"), "{error}");
    }
    let server = Server::start([message("Hi")]).await;
    let nowhere = folder.file().join("a/file/is/no/folder.json");
    let recorder = Cassette::record(nowhere, ReqwestTransport::new());
    let error = ask(&client(&server.base_url(), &recorder), "Hello").await.unwrap_err();
    assert!(
        matches!(&error, ModelError::Setup(text) if text.contains("cannot be written")),
        "{error}"
    );
}
