//! Long texts, which the model reads section by section.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tool_runtime::web::Web;
use tool_runtime::{Policy, Registry, tools};

use super::fixture::{Fixture, call};
use super::server::Reply;

/// Returns a text of many lines.
fn long_text(version: usize) -> String {
    (0..4_000).map(|line| format!("version {version}, line {line}: Tromsø\n")).collect()
}

async fn section(fixture: &Fixture, path: &str, offset: u64) -> Value {
    let url = fixture.url(&format!("http://public.test:{{port}}{path}"));
    let execution = fixture.call("http_fetch", json!({ "url": url, "offset": offset })).await;
    assert!(execution.is_success(), "{}", execution.result.text);
    let value = execution.result.structured_value().unwrap();
    let registry = Registry::try_from(tools![..Web::new()]).unwrap();
    let schema = registry.snapshot().definition("http_fetch").unwrap().output.clone().unwrap();
    assert!(schema.check(&value).is_empty());
    // The model reads the same text as programs do, and how to continue.
    let text = value["text"].as_str().unwrap();
    assert!(execution.result.text.contains(text.trim()));
    let next = value["next_offset"].as_u64();
    let advice = next.map(|next| format!("continue with `offset` {next}]"));
    assert_eq!(execution.result.text.contains("continue with"), advice.is_some());
    assert!(advice.is_none_or(|advice| execution.result.text.contains(&advice)));
    value
}

#[tokio::test]
async fn sections_are_parts_of_the_same_text() {
    let version = AtomicUsize::new(0);
    let fixture = Fixture::new(move |_| {
        Reply::ok("text/plain", long_text(version.fetch_add(1, Ordering::SeqCst)))
    })
    .await;
    let (mut text, mut offset, mut count) = (String::new(), 0, 0);
    loop {
        let value = section(&fixture, "/", offset).await;
        let part = value["text"].as_str().unwrap();
        assert!(part.len() <= 40_000 && part.ends_with('\n'));
        assert_eq!(value["offset"], offset);
        text.push_str(part);
        count += 1;
        match value["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!((text, count), (long_text(0), 3));
    assert_eq!(fixture.public.requests().len(), 1);
    // The first section is fetched again.
    assert!(section(&fixture, "/", 0).await["text"].as_str().unwrap().starts_with("version 1"));
}

#[tokio::test]
async fn text_without_lines_is_cut_between_characters() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "ø".repeat(30_001))).await;
    let first = section(&fixture, "/", 0).await;
    assert_eq!(first["next_offset"], 40_000);
    let second = section(&fixture, "/", 40_000).await;
    assert_eq!(second["text"].as_str().unwrap().chars().count(), 10_001);
    // An offset within a character is that of the character.
    assert_eq!(section(&fixture, "/", 40_001).await["offset"], 40_000);
}

#[tokio::test]
async fn secret_is_not_returned_in_parts() {
    let secret = "k3y-0f-th3-h0us3";
    let fixture = Fixture::new(move |path| {
        let (before, status) = match path {
            "/error" => (1_990, "404 Not Found"),
            _ => (39_990, "200 OK"),
        };
        let text = format!("{}{secret}{}", "-".repeat(before), "+".repeat(100));
        Reply::new(status, "content-type: text/plain", text)
    })
    .await;
    let policy = Policy::new().secrets([secret]);
    let dispatcher = fixture.dispatcher.clone().policy(policy);
    for (path, offset) in
        [("/", 0), ("/error", 0)].into_iter().chain((39_985..40_010).map(|offset| ("/", offset)))
    {
        let url = fixture.url(&format!("http://public.test:{{port}}{path}"));
        let arguments = json!({ "url": url, "offset": offset });
        let execution = call(&dispatcher, "http_fetch", arguments).await;
        let text = serde_json::to_string(&execution.result).unwrap();
        for part in ["k3y", "0f-", "th3", "h0u"] {
            assert!(!text.contains(part), "{path} {offset}: {part} is in {text}");
        }
        assert!(text.contains("[redacted]") || offset > 40_005, "{path} {offset}: {text}");
    }
}

#[tokio::test]
async fn offset_behind_the_text_is_an_error() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "short")).await;
    let url = fixture.url("http://public.test:{port}/");
    for offset in [5, 99, u64::MAX] {
        let execution = fixture.call("http_fetch", json!({ "url": url, "offset": offset })).await;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{}", execution.result.text);
        assert!(execution.result.text.ends_with("The text has 5 bytes: send a smaller `offset`."));
    }
}
