//! Replies as they come, whole and streamed: the same in the end, wherever a stream is cut.

use std::path::Path;

use serde_json::{Value, json};
use tool_runtime::models::RefusalKind;
use tool_runtime::{AssistantPart, ChatModel, ChatReply, ChatRequest, Message, ModelError};

use crate::canned::{Canned, Reply};
use crate::client;
use crate::streamed::{cuts, streamed};

/// The cases with this file, by name.
pub fn cases(file: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/responses");
    let cases = std::fs::read_dir(folder).unwrap().filter_map(|case| {
        let path = case.unwrap().path();
        let text = std::fs::read_to_string(path.join(file)).ok()?;
        Some((path.file_name().unwrap().to_string_lossy().into_owned(), text))
    });
    let cases: Vec<_> = cases.collect();
    assert!(!cases.is_empty(), "nothing has a {file}");
    cases
}

fn of<'c>(cases: &'c [(String, String)], case: &str) -> Option<&'c str> {
    cases.iter().find(|(name, _)| name == case).map(|(_, text)| text.as_str())
}

async fn read(status: u16, body: &str) -> Result<ChatReply, ModelError> {
    client(&Canned::new([Reply::text(status, body)])).reply(ChatRequest::new(&[])).await
}

#[tokio::test]
async fn whole_or_streamed_it_is_the_same() {
    let (streams, expected) = (cases("stream.sse"), cases("expected.json"));
    for (case, body) in cases("reply.json") {
        let expected: ChatReply = serde_json::from_str(of(&expected, &case).unwrap()).unwrap();
        assert_eq!(read(200, &body).await.unwrap(), expected, "{case}");

        let stream = of(&streams, &case).unwrap().as_bytes();
        let (reply, told) =
            streamed(&client(&Canned::new([Reply::new(200, vec![stream.into()])]))).await;
        let reply = reply.unwrap();
        assert_eq!(reply, expected, "{case}");

        let said = Message::Assistant { parts: reply.parts };
        assert_eq!(told.text, said.text(), "{case}");
        let calls = said.calls().map(|call| [call.name.clone(), call.arguments.to_string()]);
        assert_eq!(told.calls, calls.collect::<Vec<_>>(), "{case}");
        let Message::Assistant { parts } = said else { continue };
        let thoughts = parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning(thought) => Some(thought.text.as_str()),
            _ => None,
        });
        assert_eq!(told.reasoning, thoughts.collect::<String>(), "{case}");
    }
}

#[tokio::test]
async fn wherever_it_is_cut_it_is_the_same() {
    let (streams, expected) = (cases("stream.sse"), cases("expected.json"));
    for case in ["interleaved_calls", "llama_cpp_call"] {
        let expected: ChatReply = serde_json::from_str(of(&expected, case).unwrap()).unwrap();
        // Not each of a hundred thousand ways.
        for pieces in cuts(of(&streams, case).unwrap().as_bytes()).step_by(97) {
            let (reply, _) = streamed(&client(&Canned::new([Reply::new(200, pieces)]))).await;
            assert_eq!(reply.unwrap(), expected, "{case}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_no_reply() {
    let (whole, streams) = (cases("reply.json"), cases("stream.sse"));
    for (case, _) in whole {
        let events: Vec<_> = of(&streams, &case).unwrap().split_inclusive("\n\n").collect();
        for most in 0..events.len() - 1 {
            let text = events[..most].concat();
            let (reply, _) = streamed(&client(&Canned::new([Reply::text(200, &text)]))).await;
            let error = reply.unwrap_err();
            assert!(matches!(error, ModelError::Malformed { .. }), "{case} {most}: {error:?}");
        }
    }
}

#[tokio::test]
async fn why_it_refused() {
    for (case, text) in cases("error.json") {
        let told: Value = serde_json::from_str(&text).unwrap();
        let status = told["status"].as_u64().unwrap().try_into().unwrap();
        let mut reply = Reply::text(status, &told["body"].to_string());
        for (name, value) in told["headers"].as_object().unwrap() {
            reply.headers.set(name, value.as_str().unwrap());
        }
        let error = client(&Canned::new([reply])).reply(ChatRequest::new(&[])).await.unwrap_err();
        let ModelError::Refused(refusal) = &error else { panic!("{case}: {error:?}") };
        assert_eq!(format!("{:?}", refusal.kind), told["kind"], "{case}");
        if status != 200 {
            assert_eq!(json!(refusal.request_id), told["request_id"], "{case}");
        }
        let pause = refusal.retry_after.map(|pause| pause.as_secs_f64());
        assert_eq!(json!(pause), told["retry_after"], "{case}");
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_named() {
    let streams = cases("stream.sse");
    for (case, text) in cases("failed.json") {
        let told: Value = serde_json::from_str(&text).unwrap();
        let stream = of(&streams, &case).unwrap();
        let (reply, _) = streamed(&client(&Canned::new([Reply::text(200, stream)]))).await;
        let error = reply.unwrap_err();
        let ModelError::Refused(refusal) = &error else { panic!("{case}: {error:?}") };
        assert_eq!(format!("{:?}", refusal.kind), told["kind"], "{case}");
    }
}

#[tokio::test]
async fn what_is_no_reply_is_named() {
    for (body, reason) in [
        (json!("no"), "invalid type"),
        (json!({}), "it has no output"),
        (json!({ "output": [{}] }), "no type"),
        (json!({ "output": [{ "type": "function_call" }] }), "without a name"),
        (json!({ "output": [], "status": "queued" }), "queued"),
        (json!({ "output": [], "status": "failed" }), "nothing says why"),
        (json!({ "error": { "message": "odd" } }), "an error, odd"),
    ] {
        let error = read(200, &body.to_string()).await.unwrap_err();
        assert!(matches!(error, ModelError::Malformed { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    for (event, reason) in [
        (r#"{"error": {"code": 500, "message": "odd"}}"#, "an error, odd"),
        (r#"{"type": "response.failed", "response": {}}"#, "nothing says why"),
        (r#"{"type": "response.completed"}"#, "invalid type"),
        (r#"{"type": "response.output_te"#, "EOF"),
    ] {
        let canned = Canned::new([Reply::text(200, &format!("data: {event}\n\n"))]);
        let error = streamed(&client(&canned)).await.0.unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    let error = read(200, r#"{"error": {"code": "server_error"}}"#).await.unwrap_err();
    assert!(
        matches!(error, ModelError::Refused(refusal) if refusal.kind == RefusalKind::Overloaded)
    );
}
