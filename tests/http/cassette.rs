//! Recordings of requests other than those of model providers.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tool_runtime::async_trait;
use tool_runtime::http::{
    Cassette, HttpBody, HttpMethod, HttpRequest, HttpResponse, Transport, TransportError,
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
    let body = cassette.send(request).await?.body.read_to_end(100).await?;
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
