//! Replies and refusals as a provider sends them, `fixtures/<provider>/<case>`: whole ones, and streams cut
//! wherever they may be.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message, ModelError};

use crate::canned::Reply;
use crate::streamed::{cuts, streamed};

/// Plays all that is recorded of a provider to its client.
pub async fn play(provider: &str, stream: &str, client: impl Fn(Reply) -> Box<dyn ChatModel>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(provider);
    let mut cases: Vec<PathBuf> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 10, "{cases:?}");
    for case in cases {
        let read = |name: &str| fs::read(case.join(name)).ok();
        let json = |name| read(name).map(|text| serde_json::from_slice::<Value>(&text).unwrap());
        let at = case.display();
        if let Some(told) = json("error.json") {
            refused(&told, &client).await.unwrap_or_else(|amiss| panic!("{at}: {amiss}"));
        }
        if let Some(failed) = json("failed.json") {
            for pieces in cuts(&read(stream).unwrap()) {
                let (reply, _) = streamed(&*client(Reply::new(200, pieces))).await;
                let error = reply.unwrap_err();
                let ModelError::Refused(refusal) = &error else { panic!("{at}: {error:?}") };
                assert_eq!(format!("{:?}", refusal.kind), failed["kind"], "{at}");
            }
        }
        if let Some(expected) = json("expected.json") {
            let expected: ChatReply = serde_json::from_value(expected).unwrap();
            let body = Reply::new(200, vec![read("reply.json").unwrap()]);
            let reply = client(body).reply(ChatRequest::new(&[])).await;
            assert_eq!(reply.unwrap(), expected, "{at}");
            played(&read(stream).unwrap(), &expected, &client).await;
        }
    }
}

async fn refused(told: &Value, client: impl Fn(Reply) -> Box<dyn ChatModel>) -> Result<(), String> {
    let status = u16::try_from(told["status"].as_u64().unwrap()).unwrap();
    let mut reply = Reply::text(status, &told["body"].to_string());
    let headers = told["headers"].as_object().unwrap();
    let header = |(name, value): (&String, &Value)| (name.clone(), value.as_str().unwrap().into());
    reply.headers = headers.iter().map(header).collect::<Vec<(_, String)>>().into_iter().collect();
    let error = client(reply).reply(ChatRequest::new(&[])).await.unwrap_err();
    let ModelError::Refused(refusal) = &error else { return Err(format!("{error:?}")) };
    let found = serde_json::json!({
        "kind": format!("{:?}", refusal.kind),
        "request_id": refusal.request_id,
        "retry_after": refusal.retry_after.map(|after| after.as_secs_f64()),
    });
    let members = found.as_object().unwrap();
    match members.iter().find(|(name, value)| told[name.as_str()] != **value) {
        Some((name, value)) => Err(format!("{name} is {value}")),
        None => Ok(()),
    }
}

async fn played(stream: &[u8], expected: &ChatReply, client: impl Fn(Reply) -> Box<dyn ChatModel>) {
    for pieces in cuts(stream) {
        let (reply, told) = streamed(&*client(Reply::new(200, pieces))).await;
        assert_eq!(&reply.unwrap(), expected);
        let said = Message::Assistant { parts: expected.parts.clone() };
        assert_eq!(told.text, said.text());
        let calls = said.calls().map(|call| [call.name.clone(), call.arguments.to_string()]);
        assert_eq!(told.calls, calls.collect::<Vec<_>>());
    }
}
