//! Streamed replies that `conformance` compares with whole ones.

use serde_json::{Value, json};
use tool_runtime::providers::OpenAi;
use tool_runtime::{ChatModel, ChatRequest, Message};

use crate::conformance::streams::Composed;
use support::canned::{Canned, Reply};
use support::streamed::streamed;

fn model(reply: Reply) -> OpenAi {
    OpenAi::new("http://models.invalid/v1", "m").transport(Canned::new([reply])).max_retries(0)
}

/// A stream and the message that it adds up to.
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
    let extra = json!({ "google": { "thought_signature": "s=" } });
    let signed = |arguments: &str| {
        let mut call = call(Some(0), Some("a"), Some("add"), arguments);
        call["extra_content"] = extra.clone();
        call
    };
    let detail = |members: Value| json!({ "reasoning_details": [members] });
    let message_of_two = json!({ "content": null, "tool_calls": [
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
        // OpenAI's form: the pieces of two calls alternate.
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
            message: message_of_two.clone(),
        },
        // Whole calls without an index.
        Case {
            deltas: vec![message_of_two.clone()],
            finish: "tool_calls",
            message: message_of_two.clone(),
        },
        // One index for all calls.
        Case {
            deltas: vec![
                calls(&[call(Some(0), Some("a"), Some("add"), "{\"a\": \"é🙂\\n\"}")]),
                calls(&[call(Some(0), Some("b"), Some("sub"), "{ }")]),
            ],
            finish: "tool_calls",
            message: message_of_two.clone(),
        },
        // The id and the name with every piece.
        Case {
            deltas: vec![
                calls(&[call(Some(0), Some("a"), Some("add"), "{\"a\":")]),
                calls(&[call(Some(0), Some("a"), Some("add"), " \"é🙂\\n\"}")]),
                calls(&[call(Some(1), Some("b"), Some("sub"), "{ }")]),
                calls(&[call(Some(1), Some(""), Some(""), "")]),
            ],
            finish: "tool_calls",
            message: message_of_two,
        },
        // Another id with each piece.
        Case {
            deltas: vec![
                calls(&[call(Some(0), Some("a"), Some("add"), "")]),
                calls(&[call(Some(0), Some("x"), None, "{ ")]),
                calls(&[call(Some(0), Some("y"), None, "}")]),
            ],
            finish: "tool_calls",
            message: calls(&[call(None, Some("a"), Some("add"), "{ }")]),
        },
        // A name in pieces.
        Case {
            deltas: vec![
                calls(&[call(Some(0), Some("a"), Some("get_"), "")]),
                calls(&[call(Some(0), None, Some("weather"), "")]),
                calls(&[call(Some(0), Some("a"), Some("!"), "{ }")]),
                calls(&[call(Some(0), Some("a"), Some("get_weather!"), "")]),
            ],
            finish: "tool_calls",
            message: calls(&[call(None, Some("a"), Some("get_weather!"), "{ }")]),
        },
        // A growing name, and then the whole name with every piece.
        Case {
            deltas: vec![
                calls(&[call(Some(0), Some("a"), Some("get_"), "")]),
                calls(&[call(Some(0), None, Some("get_weather"), "")]),
                calls(&[call(Some(0), None, Some("get_weather"), "{ ")]),
                calls(&[call(Some(0), None, Some("get_weather"), "}")]),
            ],
            finish: "tool_calls",
            message: calls(&[call(None, Some("a"), Some("get_weather"), "{ }")]),
        },
        // Extra data that Gemini needs back on its calls.
        Case {
            deltas: vec![calls(&[signed("{ }")])],
            finish: "tool_calls",
            message: calls(&[signed("{ }")]),
        },
        // The single call of the older form.
        Case {
            deltas: vec![
                json!({ "function_call": { "name": "add", "arguments": "" } }),
                json!({ "function_call": { "arguments": "{ }" } }),
            ],
            finish: "function_call",
            message: json!({ "function_call": { "name": "add", "arguments": "{ }" } }),
        },
        // OpenRouter's form of reasoning.
        Case {
            deltas: vec![
                detail(json!({ "type": "reasoning.text", "index": 0, "text": "H" })),
                detail(json!({ "type": "reasoning.text", "index": 0, "text": "m" })),
                detail(json!({ "type": "reasoning.text", "index": 0, "signature": "s=" })),
                detail(json!({ "type": "reasoning.encrypted", "index": 1, "data": "x" })),
                json!({ "content": "Yes." }),
            ],
            finish: "stop",
            message: json!({ "content": "Yes.", "reasoning_details": [
                { "type": "reasoning.text", "index": 0, "text": "Hm", "signature": "s=" },
                { "type": "reasoning.encrypted", "index": 1, "data": "x" },
            ] }),
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

fn stream(deltas: &[Value], finish: Option<&str>, usage: &Value, end: &str) -> String {
    let chunk = |delta: &Value, finish| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        json!({ "object": "chat.completion.chunk", "choices": [choice], "usage": null })
    };
    let mut chunks: Vec<_> = deltas.iter().map(|delta| chunk(delta, None)).collect();
    chunks.extend(finish.map(|finish| chunk(&json!({}), Some(finish))));
    chunks.push(json!({ "choices": [], "usage": usage }));
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}{end}{end}")).collect();
    format!(": ping{end}{end}{events}data: [DONE]{end}{end}")
}

/// Returns the replies with these messages, with both kinds of line ends; the unfinished streams
/// have neither a finish reason nor the message `[DONE]`.
pub fn composed() -> Vec<Composed> {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3 });
    let composed = |Case { deltas, finish, message }| {
        let choice = json!({ "message": message, "finish_reason": finish });
        let stream_of = |finish, usage, end| stream(&deltas, finish, usage, end);
        let unfinished = stream_of(None, &Value::Null, "\n");
        Composed {
            whole: json!({ "choices": [choice], "usage": usage }),
            streams: ["\n", "\r\n"].map(|end| stream_of(Some(finish), &usage, end)).into(),
            unfinished: unfinished.replace("data: [DONE]\n\n", ""),
        }
    };
    cases().into_iter().map(composed).collect()
}

#[tokio::test]
async fn calls_and_choices_are_put_in_order() {
    let choices = |kind: &str| {
        let choice = |index: u64, delta: &Value| json!({ "index": index, kind: delta, "finish_reason": "tool_calls" });
        let calls = json!({ "tool_calls": [
            call(Some(1), Some("b"), Some("sub"), "{}"),
            call(Some(0), Some("a"), Some("add"), "{}"),
        ] });
        json!({ "choices": [choice(1, &json!({ "content": "Another." })), choice(0, &calls)],
            "usage": { "prompt_tokens": 7 } })
    };
    let body = choices("message").to_string();
    let whole = model(Reply::text(200, &body)).reply(ChatRequest::new(&[])).await.unwrap();
    let [first, later] = [choices("delta"), json!({ "choices": [], "usage": {} })];
    let stream = format!("data: {first}\n\ndata: {later}\n\ndata: [DONE]\n\n");
    let (reply, _) = streamed(&model(Reply::text(200, &stream))).await;
    assert_eq!(reply.unwrap(), whole);
    let assistant = Message::Assistant { id: None, parts: whole.parts };
    assert_eq!(
        assistant.calls().map(|call| call.name.as_str()).collect::<Vec<_>>(),
        ["add", "sub"]
    );
    assert_eq!(whole.usage.unwrap().input_tokens, 7);
}
