//! Streams, cut wherever they may be: in the end they say what a whole reply says.

use serde_json::{Value, json};
use tool_runtime::providers::OpenAi;
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError};

use crate::canned::{Canned, Reply};

fn model(reply: Reply) -> OpenAi {
    OpenAi::new("http://models.invalid/v1", "m").transport(Canned::new([reply])).retries(0)
}

/// What came of a stream, and what was told on the way: text, reasoning, and each call with its
/// arguments.
async fn streamed(reply: Reply) -> (Result<ChatReply, ModelError>, [String; 2], Vec<[String; 2]>) {
    let (mut texts, mut calls) = ([String::new(), String::new()], Vec::<[String; 2]>::new());
    let reply = model(reply)
        .stream(ChatRequest::new(&[Message::user("Hello")]), &mut |delta| match delta {
            Delta::Text(text) => texts[0] += text,
            Delta::Reasoning(text) => texts[1] += text,
            Delta::Call { place, name } => {
                assert_eq!(place, calls.len());
                calls.push([name.to_owned(), String::new()]);
            }
            Delta::Arguments { place, text } => calls[place][1] += text,
            other => panic!("{other:?}"),
        })
        .await;
    (reply, texts, calls)
}

async fn whole(message: &Value, finish: &str, usage: &Value) -> ChatReply {
    let choice = json!({ "message": message, "finish_reason": finish });
    let body = json!({ "choices": [choice], "usage": usage }).to_string();
    model(Reply::text(200, &body)).reply(ChatRequest::new(&[])).await.unwrap()
}

/// One stream and the message that it comes to.
struct Case {
    deltas: Vec<Value>,
    finish: &'static str,
    message: Value,
}

fn call(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let mut call = json!({ "function": { "arguments": arguments } });
    for (member, value) in [("index", json!(index)), ("id", json!(id))] {
        if !value.is_null() {
            call[member] = value;
        }
    }
    if let Some(name) = name {
        call["type"] = "function".into();
        call["function"]["name"] = name.into();
    }
    call
}

fn cases() -> Vec<Case> {
    let calls = |calls: &[Value]| json!({ "tool_calls": calls });
    let both = json!({ "content": null, "tool_calls": [
        call(None, Some("a"), Some("add"), "{\"a\": \"é🙂\\n\"}"),
        call(None, Some("b"), Some("sub"), "{ }"),
    ] });
    let add = |piece| calls(&[call(Some(0), None, None, piece)]);
    let sub = |piece| calls(&[call(Some(1), None, None, piece)]);
    vec![
        Case {
            deltas: vec![
                json!({ "role": "assistant", "content": "" }),
                json!({ "content": "Hel" }),
                json!({ "content": "lo, é🙂" }),
                json!({}),
            ],
            finish: "stop",
            message: json!({ "content": "Hello, é🙂" }),
        },
        Case {
            deltas: vec![
                json!({ "reasoning_content": "Hm", "content": null }),
                json!({ "reasoning_content": "m." }),
                json!({ "content": "Yes." }),
            ],
            finish: "length",
            message: json!({ "content": "Yes.", "reasoning_content": "Hmm." }),
        },
        Case {
            deltas: vec![json!({ "refusal": "I " }), json!({ "refusal": "won't." })],
            finish: "content_filter",
            message: json!({ "content": null, "refusal": "I won't." }),
        },
        // As OpenAI sends them, two calls at once, piece by piece in turn.
        Case {
            deltas: vec![
                calls(&[call(Some(0), Some("a"), Some("add"), "")]),
                calls(&[call(Some(1), Some("b"), Some("sub"), "")]),
                add("{\"a\": \"é"),
                sub("{ "),
                add("🙂\\n\"}"),
                sub("}"),
            ],
            finish: "tool_calls",
            message: both.clone(),
        },
        // Whole calls without an index.
        Case { deltas: vec![both.clone()], finish: "tool_calls", message: both.clone() },
        // One index for all.
        Case {
            deltas: vec![
                calls(&[call(Some(0), Some("a"), Some("add"), "{\"a\": \"é🙂\\n\"}")]),
                calls(&[call(Some(0), Some("b"), Some("sub"), "{ }")]),
            ],
            finish: "tool_calls",
            message: both.clone(),
        },
        // The id and the name again and again.
        Case {
            deltas: vec![
                calls(&[call(Some(0), Some("a"), Some("add"), "{\"a\":")]),
                calls(&[call(Some(0), Some("a"), Some("add"), " \"é🙂\\n\"}")]),
                calls(&[call(Some(1), Some("b"), Some("sub"), "{ }")]),
                calls(&[call(Some(1), Some(""), Some(""), "")]),
            ],
            finish: "tool_calls",
            message: both,
        },
        // Arguments that are an object.
        Case {
            deltas: vec![calls(&[json!({ "function": { "name": "f", "arguments": { "a": 1 } } })])],
            finish: "stop",
            message: json!({ "tool_calls": [{ "function":
                { "name": "f", "arguments": { "a": 1 } } }] }),
        },
    ]
}

fn stream(deltas: &[Value], finish: Option<&str>, usage: &Value, end: &str) -> Vec<u8> {
    let chunk = |delta: &Value, finish| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        json!({ "object": "chat.completion.chunk", "choices": [choice], "usage": null })
    };
    let mut chunks: Vec<_> = deltas.iter().map(|delta| chunk(delta, None)).collect();
    chunks.extend(finish.map(|finish| chunk(&json!({}), Some(finish))));
    chunks.push(json!({ "choices": [], "usage": usage }));
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}{end}{end}")).collect();
    format!(": ping{end}{end}{events}data: [DONE]{end}{end}").into_bytes()
}

#[tokio::test]
async fn wherever_it_is_cut_it_is_the_same() {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3 });
    for Case { deltas, finish, message } in cases() {
        let expected = whole(&message, finish, &usage).await;
        for end in ["\n", "\r\n"] {
            let bytes = stream(&deltas, Some(finish), &usage, end);
            let mut cuts: Vec<Vec<Vec<u8>>> = (0..=bytes.len())
                .map(|at| vec![bytes[..at].to_vec(), bytes[at..].to_vec()])
                .collect();
            cuts.push(bytes.chunks(1).map(<[u8]>::to_vec).collect());
            for pieces in cuts {
                let (reply, texts, calls) = streamed(Reply::new(200, pieces)).await;
                let reply = reply.unwrap();
                assert_eq!(reply, expected, "{message}");
                let said = Message::Assistant { parts: reply.parts };
                assert_eq!(texts[0], said.text());
                let called: Vec<_> = said
                    .calls()
                    .map(|call| [call.name.clone(), call.arguments.to_text().into_owned()])
                    .collect();
                assert_eq!(calls, called);
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_no_reply() {
    let usage = Value::Null;
    for Case { deltas, .. } in cases() {
        let bytes = stream(&deltas, None, &usage, "\n");
        let text = String::from_utf8(bytes).unwrap().replace("data: [DONE]\n\n", "");
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (reply, _, _) = streamed(Reply::text(200, &text[..at])).await;
            let error = reply.unwrap_err();
            assert!(matches!(error, ModelError::Malformed { .. }), "{at}: {error:?}");
        }
        let mut breaks = Reply::text(200, &text);
        breaks.breaks = true;
        let (reply, _, _) = streamed(breaks).await;
        assert!(matches!(reply, Err(ModelError::Unreachable { .. })), "{reply:?}");
    }
}

#[tokio::test]
async fn an_error_in_the_midst_is_named() {
    let start = "data: {\"choices\": [{\"delta\": {\"content\": \"Hel\"}}]}\n\n";
    for (event, expected) in [
        (r#"{"error": {"message": "no memory left"}}"#, "it reports an error, no memory left"),
        (r#"{"error": {"type": "overloaded_error"}}"#, "status 200"),
        ("{\"choices\": [", "EOF"),
        ("<html>", "expected value"),
    ] {
        let text = format!("{start}data: {event}\n\n");
        let (reply, _, _) = streamed(Reply::text(200, &text)).await;
        let error = reply.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut bytes = start.as_bytes().to_vec();
    bytes.extend_from_slice(b"data: \"\xc3\n\n");
    let (reply, _, _) = streamed(Reply::new(200, vec![bytes])).await;
    assert!(reply.unwrap_err().to_string().contains("UTF-8"));
}
