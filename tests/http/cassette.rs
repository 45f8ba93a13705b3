//! Recordings of requests other than those of model providers.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use base64::Engine as _;
use serde_json::{Value, json};
use tool_runtime::async_trait;
use tool_runtime::http::{
    BodyStream, Cassette, HttpBody, HttpMethod, HttpRequest, HttpResponse, Transport,
    TransportError,
};

/// Answers each request with the next number.
struct Counter(Mutex<VecDeque<u8>>);

#[async_trait]
impl Transport for Counter {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let number = self.0.lock().unwrap().pop_front().expect("a number");
        Ok(HttpResponse::new(200, HttpBody::from(number.to_string().as_str())))
    }
}

fn file(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("http-{name}.json"));
    let _ = fs::remove_file(&file);
    file
}

async fn answer(cassette: &Cassette, request: &HttpRequest) -> Result<String, TransportError> {
    let body = cassette.send(request).await?.body.read_to_end(1 << 20).await?;
    Ok(String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn method_query_and_body_select_the_recording() {
    let url = "https://boards.invalid/cards";
    let requests = [
        HttpRequest::get(format!("{url}?page=1")),
        HttpRequest::get(format!("{url}?page=2")),
        HttpRequest::post(url, r#"{"a": 1, "b": 2}"#),
        HttpRequest::new(HttpMethod::Put, url).body(r#"{"a": 1, "b": 2}"#),
        HttpRequest::new(HttpMethod::Put, url).body("plain"),
        HttpRequest::new(HttpMethod::Put, url).body(b"\xff".to_vec()),
        HttpRequest::new(HttpMethod::Delete, url),
    ];
    let path = file("selection");
    let recorder = Cassette::record(&path, Counter(Mutex::new((0..7).collect())));
    for request in &requests {
        answer(&recorder, request).await.unwrap();
    }
    let player = Cassette::replay(&path).unwrap();
    for (number, request) in requests.iter().enumerate().rev() {
        assert_eq!(answer(&player, request).await.unwrap(), number.to_string(), "{request:?}");
    }

    let player = Cassette::replay(&path).unwrap();
    for request in &requests[..2] {
        answer(&player, request).await.unwrap();
    }
    let error = answer(&player, &HttpRequest::get(url)).await.unwrap_err().to_string();
    for part in ["answers this GET request", "the next one is POST"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn secrets_in_the_query_are_not_recorded() {
    let path = file("secrets");
    let recorder = Cassette::record(&path, Counter(Mutex::new([7].into())));
    let request = HttpRequest::get("https://me:pa55word@h.invalid/?key=k3y7&page=1#top");
    answer(&recorder, &request).await.unwrap();
    let written = fs::read_to_string(&path).unwrap();
    for secret in ["k3y7", "pa55word", "me:"] {
        assert!(!written.contains(secret), "{written}");
    }
    assert!(written.contains("https://h.invalid/?key=[scrubbed]&page=1"), "{written}");
    let player = Cassette::replay(&path).unwrap();
    assert_eq!(answer(&player, &request).await.unwrap(), "7");
}

/// Responds with the id of a session in a header and in the body.
struct Sessions;

#[async_trait]
impl Transport for Sessions {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let mut response = HttpResponse::new(200, HttpBody::from("s3ss of c00kie-value"));
        response.headers.set("Mcp-Session-Id", "s3ss");
        response.headers.set("set-cookie", "id=c00kie-value; path=/");
        Ok(response)
    }
}

#[tokio::test]
async fn session_ids_are_not_recorded() {
    let path = file("sessions");
    let recorder = Cassette::record(&path, Sessions);
    let url = "https://h.invalid/";
    let mut request = HttpRequest::post(url, "{\"a\": \"my-s3ss and 0ther-cookie\"}");
    answer(&recorder, &request).await.unwrap();
    request.headers.set("mcp-session-id", "my-s3ss");
    request.headers.set("cookie", "a=1; b=\"0ther-cookie\"");
    answer(&recorder, &request).await.unwrap();
    let written = fs::read_to_string(&path).unwrap();
    assert!(!written.contains("s3ss of") && !written.contains("c00kie"), "{written}");
    assert_eq!(written.matches("my-s3ss and 0ther-cookie").count(), 1, "{written}");
    assert!(written.contains("[scrubbed] and [scrubbed]"), "{written}");
    let player = Cassette::replay(&path).unwrap();
    assert_eq!(answer(&player, &request).await.unwrap(), "[scrubbed] of [scrubbed]");
}

/// Streams of the shapes of several providers, split at every place.
#[tokio::test]
async fn secret_split_over_deltas_is_not_recorded() {
    let secret = "sk-\"very\"-secret";
    let message = |number: usize, text: &str| {
        let call = json!({"index": number % 2, "function": {"arguments": "x"}});
        let delta = json!({"content": text, "tool_calls": [call]});
        json!({ "choices": [{ "index": 0, "delta": delta }] }).to_string()
    };
    for (framing, is_broken) in [("data: ", false), ("data:", true), ("", false)] {
        for size in 1..=secret.len() {
            let text = format!("My key is {secret}, and {}", json!(secret));
            let text = if is_broken { format!("{text} sk-\"very") } else { text + " again." };
            let chars: Vec<char> = text.chars().collect();
            let pieces = chars.chunks(size).map(|piece| piece.iter().collect::<String>());
            let lines = pieces
                .enumerate()
                .map(|(nth, text)| format!("{framing}{}\n\n", message(nth, &text)));
            let body: Vec<Vec<u8>> = lines.map(String::into_bytes).collect();
            let path = file("deltas");
            let source = Stream { body, is_broken };
            let recorder = Cassette::record(&path, source).redact(secret);
            let request = HttpRequest::post("https://h.invalid/", "{}");
            let recorded = recorder.send(&request).await.unwrap().body.read_to_end(1 << 20).await;
            assert_eq!(recorded.is_err(), is_broken);
            let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let reply = written[0]["reply"].as_str().unwrap();
            let contents = reply.lines().filter(|line| !line.is_empty()).map(|line| {
                let json: Value = serde_json::from_str(line.trim_start_matches("data:")).unwrap();
                assert_eq!(
                    json["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"],
                    "x"
                );
                json["choices"][0]["delta"]["content"].as_str().unwrap().to_owned()
            });
            let joined: String = contents.collect();
            let end = if is_broken { "[scrubbed]" } else { "again." };
            let expected = format!("My key is [scrubbed], and \"[scrubbed]\" {end}");
            assert_eq!(joined, expected, "in pieces of {size}");
        }
    }
}

/// Returns the message with this number and text.
type Shape<'s> = &'s dyn Fn(usize, &str) -> Value;

/// The part that continues a text is not always the first of its message.
#[tokio::test]
async fn secret_split_over_items_of_lists_is_not_recorded() {
    let secret = "sk-\"very\"-secret";
    let parts = |texts: Value| json!({ "candidates": [{ "content": { "parts": texts } }] });
    let calls = |calls: Value| json!({ "choices": [{ "delta": { "tool_calls": calls } }] });
    let call = |index: usize, text: &str| json!({ "index": index, "arguments": text });
    let shapes: [(Shape<'_>, &str); 2] = [
        (
            &|nth, text| match nth % 2 {
                0 => parts(json!([{ "text": text }])),
                _ => parts(json!([{ "thoughtSignature": "c2ln" }, { "text": text }])),
            },
            "text",
        ),
        (
            &|nth, text| match nth % 2 {
                0 => calls(json!([call(7, text)])),
                _ => calls(json!([call(8, ""), call(7, text)])),
            },
            "arguments",
        ),
    ];
    for (shape, member) in shapes {
        for size in 1..secret.len() {
            let chars: Vec<char> = format!("My key is {secret} again.").chars().collect();
            let pieces = chars.chunks(size).map(|piece| piece.iter().collect::<String>());
            let lines =
                pieces.enumerate().map(|(nth, text)| format!("data: {}\n\n", shape(nth, &text)));
            let body: Vec<Vec<u8>> = lines.map(String::into_bytes).collect();
            let path = file("items");
            let recorder =
                Cassette::record(&path, Stream { body, is_broken: false }).redact(secret);
            let request = HttpRequest::post("https://h.invalid/", "{}");
            recorder.send(&request).await.unwrap().body.read_to_end(1 << 20).await.unwrap();
            let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let reply = written[0]["reply"].as_str().unwrap();
            let mut joined = String::new();
            for line in reply.lines().filter(|line| !line.is_empty()) {
                let message: Value = serde_json::from_str(&line["data: ".len()..]).unwrap();
                let list = &message["candidates"][0]["content"]["parts"];
                let list =
                    list.as_array().or(message["choices"][0]["delta"]["tool_calls"].as_array());
                let texts = list.unwrap().iter().filter_map(|item| item[member].as_str());
                joined.extend(texts);
            }
            assert_eq!(joined, "My key is [scrubbed] again.", "{member} in pieces of {size}");
        }
    }
}

/// A body in chunks, after which the connection may break.
struct Stream {
    body: Vec<Vec<u8>>,
    is_broken: bool,
}

#[async_trait]
impl Transport for Stream {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let chunks = self.body.clone().into_iter();
        Ok(HttpResponse::new(200, HttpBody::new(Chunks { chunks, is_broken: self.is_broken })))
    }
}

struct Chunks {
    chunks: std::vec::IntoIter<Vec<u8>>,
    is_broken: bool,
}

#[async_trait]
impl BodyStream for Chunks {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.chunks.next() {
            Some(chunk) => Ok(Some(chunk)),
            None if self.is_broken => Err(TransportError::Connection("it broke".into())),
            None => Ok(None),
        }
    }
}

/// A recording without a method is that of a POST request.
#[tokio::test]
async fn recording_without_a_method_is_replayed() {
    let path = file("old");
    let old = r#"[{"url": "https://h.invalid/", "request": {"a": 1}, "status": 200,
        "headers": {}, "reply": "old"}]"#;
    fs::write(&path, old).unwrap();
    let player = Cassette::replay(&path).unwrap();
    let get = HttpRequest::get("https://h.invalid/").body(r#"{"a": 1}"#);
    assert!(matches!(answer(&player, &get).await, Err(TransportError::Unrecorded(_))));
    let post = HttpRequest::post("https://h.invalid/?alt=sse", r#"{"a":1}"#);
    assert_eq!(answer(&player, &post).await.unwrap(), "old");
}

/// Sends this text as the body of each response.
struct Text(String);

#[async_trait]
impl Transport for Text {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(HttpResponse::new(200, HttpBody::from(self.0.as_str())))
    }
}

/// Escapes each character, or each second one, as JSON may.
fn unicode_escaped(text: &str, step: usize, is_upper: bool) -> String {
    let escape = |(index, unit): (usize, u16)| match char::from_u32(unit.into()) {
        Some(c) if index % step != 0 => c.to_string(),
        _ if is_upper => format!("\\u{unit:04X}"),
        _ => format!("\\u{unit:04x}"),
    };
    text.encode_utf16().enumerate().map(escape).collect()
}

#[tokio::test]
async fn secret_in_any_spelling_is_not_recorded() {
    const SECRET: &str = "sk-Very/secret+7";
    let (standard, url_safe) = (base64::prelude::BASE64_STANDARD, base64::prelude::BASE64_URL_SAFE);
    let unpadded = base64::prelude::BASE64_STANDARD_NO_PAD;
    let escaped = |step, is_upper| unicode_escaped(SECRET, step, is_upper);
    let user = |before: &str, after: &str| format!("{before}{SECRET}{after}");
    let spellings = [
        SECRET.to_owned(),
        escaped(1, false),
        escaped(1, true),
        escaped(2, false),
        escaped(5, true),
        SECRET.replace('/', "\\/"),
        escaped(1, false).replace('\\', "\\\\"),
        escaped(1, false).replace('\\', "\\\\\\\\"),
        "sk-Very%2Fsecret%2B7".to_owned(),
        "%73k-Very%2fsecret%2b7".to_owned(),
        standard.encode(SECRET),
        unpadded.encode(SECRET),
        url_safe.encode(SECRET),
        standard.encode(user("u:", "")),
        standard.encode(user("user", ":x")),
        standard.encode(user("{\"key\":\"", "\"}")),
        url_safe.encode(user("a?>~", "~~~")),
        standard.encode(SECRET).replace('/', "\\/"),
    ];
    for spelled in spellings {
        let body = format!("{{\"before\": \"B\", \"key\": \"{spelled}\", \"after\": \"A\"}}");
        let path = file("spellings");
        let recorder = Cassette::record(&path, Text(body.clone()));
        let mut request = HttpRequest::post("https://h.invalid/", body.clone());
        request.headers.set("authorization", format!("Bearer {SECRET}"));
        answer(&recorder, &request).await.unwrap();

        let written = fs::read_to_string(&path).unwrap();
        assert!(!written.contains(&spelled[2..spelled.len() - 4]), "{spelled}: {written}");
        let recorded: Value = serde_json::from_str(&written).unwrap();
        let reply: Value = serde_json::from_str(recorded[0]["reply"].as_str().unwrap()).unwrap();
        for recorded in [&reply, &recorded[0]["request"]] {
            let key = recorded["key"].as_str().unwrap();
            assert!(key.contains("[scrubbed]") && !key.contains("Very"), "{spelled}: {key}");
            assert_eq!([&recorded["before"], &recorded["after"]], ["B", "A"], "{spelled}");
        }
        let player = Cassette::replay(&path).unwrap();
        assert!(answer(&player, &request).await.unwrap().contains("[scrubbed]"), "{spelled}");
    }
}

/// The connection breaks, or the text is split, within a spelling of the key.
#[tokio::test]
async fn cut_spelling_of_a_secret_is_not_recorded() {
    const SECRET: &str = "sk-very-secret";
    for spelled in
        [unicode_escaped(SECRET, 1, false), base64::prelude::BASE64_STANDARD.encode(SECRET)]
    {
        for end in (spelled.len() / 2)..spelled.len() {
            let body = vec![format!("It is {}", &spelled[..end]).into_bytes()];
            let path = file("cut-spelling");
            let recorder = Cassette::record(&path, Stream { body, is_broken: true }).redact(SECRET);
            let request = HttpRequest::post("https://h.invalid/", "{}");
            let read = recorder.send(&request).await.unwrap().body.read_to_end(1 << 20).await;
            assert!(read.is_err());
            let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            // The last character of base64 belongs in part to what may follow the key.
            let reply = written[0]["reply"].as_str().unwrap();
            let rest = reply.strip_prefix("It is [scrubbed]");
            assert!(rest.is_some_and(|rest| rest.len() <= 1), "{}: {reply}", &spelled[..end]);
        }
        let message = |text: &str| json!({ "delta": text }).to_string();
        let whole: String = serde_json::from_str(&format!("\"{spelled}\"")).unwrap();
        let (first, second) = whole.split_at(whole.len() / 2);
        let body = [message(first), message(second)].map(|line| format!("data: {line}\n\n"));
        let path = file("split-spelling");
        let body = body.map(String::into_bytes).to_vec();
        let recorder = Cassette::record(&path, Stream { body, is_broken: false }).redact(SECRET);
        let request = HttpRequest::post("https://h.invalid/", "{}");
        recorder.send(&request).await.unwrap().body.read_to_end(1 << 20).await.unwrap();
        let written = fs::read_to_string(&path).unwrap();
        assert!(!written.contains(first) && !written.contains(second), "{written}");
    }
}
