//! The sources that each API names in a reply, whole and streamed, and what is sent back of them.

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use support::streamed::streamed;
use tool_runtime::message::Source;
use tool_runtime::{Agent, AssistantPart, ChatReply, ChatRequest, Message, Tools};

use crate::provider::{PROVIDERS, client_of};

/// What an API sends for one reply: a body, and the messages of a stream.
struct Wire {
    provider: &'static str,
    body: Value,
    messages: Vec<Value>,
    text: &'static str,
    sources: Vec<Source>,
}

fn web(url: &str, title: &str) -> Source {
    Source::web(url).title(title)
}

fn of_anthropic() -> Wire {
    let cited = [
        json!({ "type": "page_location", "document_title": "Report", "document_index": 0,
            "file_id": "file_1", "start_page_number": 3, "end_page_number": 5, "cited_text": "Wet." }),
        json!({ "type": "char_location", "document_title": "Notes", "document_index": 1,
            "start_char_index": 4, "end_char_index": 9, "cited_text": "Rain." }),
        json!({ "type": "content_block_location", "document_title": null, "file_id": "file_2",
            "start_block_index": 2, "end_block_index": 3, "cited_text": "Drops." }),
        json!({ "type": "web_search_result_location", "url": "https://w.example/a", "title": "W",
            "cited_text": "It rains.", "encrypted_index": "e" }),
        json!({ "type": "search_result_location", "source": "kb/7", "title": "KB",
            "search_result_index": 0, "start_block_index": 0, "end_block_index": 2,
            "cited_text": "Umbrella." }),
    ];
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "srv", "content": [
        { "type": "web_search_result", "url": "https://w.example/b", "title": "B",
            "encrypted_content": "x" }] });
    let search = json!({ "type": "server_tool_use", "id": "srv", "name": "web_search",
        "input": { "query": "rain" } });
    let text = |text: &str, citations: Value| json!({ "type": "text", "text": text, "citations": citations });
    let content = [search, found, text("Äh: ", json!([])), text("it rains.", json!(cited))];
    let mut messages = vec![json!({ "type": "message_start", "message": {} })];
    for (index, block) in content.iter().enumerate() {
        let mut start = block.clone();
        let is_text = block["type"] == "text";
        if is_text {
            start = json!({ "type": "text", "text": "" });
        }
        messages
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        let mut push = |delta: Value| {
            messages.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        };
        if is_text {
            let (first, rest) = block["text"].as_str().unwrap().split_at(3);
            push(json!({ "type": "text_delta", "text": first }));
            for citation in block["citations"].as_array().unwrap() {
                push(json!({ "type": "citations_delta", "citation": citation }));
            }
            push(json!({ "type": "text_delta", "text": rest }));
        }
        messages.push(json!({ "type": "content_block_stop", "index": index }));
    }
    messages.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }));
    messages.push(json!({ "type": "message_stop" }));
    let range = 5..14;
    let document = |title: &str| Source::document(title).range(range.clone());
    Wire {
        provider: "anthropic",
        body: json!({ "content": content, "stop_reason": "end_turn" }),
        messages,
        text: "Äh: it rains.",
        sources: vec![
            web("https://w.example/b", "B"),
            document("Report").file_id("file_1").location("pages 3-4").quote("Wet."),
            document("Notes").location("characters 4-8").quote("Rain."),
            document("").file_id("file_2").location("block 2").quote("Drops."),
            web("https://w.example/a", "W").quote("It rains.").range(range.clone()),
            document("KB").file_name("kb/7").location("blocks 0-1").quote("Umbrella."),
        ],
    }
}

fn of_responses() -> Wire {
    let search = json!({ "type": "web_search_call", "id": "ws", "status": "completed",
        "action": { "type": "search", "query": "rain",
            "sources": [{ "type": "url", "url": "https://w.example/b" }] } });
    let files = json!({ "type": "file_search_call", "id": "fs", "status": "completed",
        "results": [{ "file_id": "file_1", "filename": "a.pdf", "text": "Wet.", "score": 0.5 }] });
    let part = |text: &str, annotations: Value| json!({ "type": "output_text", "text": text, "annotations": annotations });
    let message = json!({ "type": "message", "id": "m", "role": "assistant", "status": "completed",
        "content": [
            part("Äh: ", json!([])),
            part("it rains.", json!([
                { "type": "url_citation", "url": "https://w.example/a", "title": "W",
                    "start_index": 3, "end_index": 8 },
                { "type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 9 },
            ])),
        ] });
    let output = [search, files, message];
    let item = |(index, item): (usize, &Value)| {
        [("added", json!({ "type": item["type"], "id": item["id"] })), ("done", item.clone())].map(
            |(name, item)| {
                let kind = format!("response.output_item.{name}");
                json!({ "type": kind, "output_index": index, "item": item })
            },
        )
    };
    let mut messages: Vec<_> = output.iter().enumerate().flat_map(item).collect();
    let response = json!({ "output": output, "status": "completed" });
    messages.push(json!({ "type": "response.completed", "response": response }));
    Wire {
        provider: "responses",
        body: response,
        messages,
        text: "Äh: it rains.",
        sources: vec![
            Source::web("https://w.example/b"),
            Source::document("").file_name("a.pdf").file_id("file_1").quote("Wet."),
            web("https://w.example/a", "W").range(8..13),
            Source::document("").file_name("a.pdf").file_id("file_1"),
        ],
    }
}

fn of_chat() -> Wire {
    let annotation = json!({ "type": "url_citation", "url_citation": {
        "url": "https://w.example/a", "title": "W", "start_index": 1, "end_index": 5 } });
    let message = json!({ "content": "É wet.", "annotations": [annotation] });
    Wire {
        provider: "openai",
        body: json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }),
        messages: vec![
            json!({ "choices": [{ "delta": { "content": "É w" } }] }),
            json!({ "choices": [{ "delta": { "content": "et." } }] }),
            json!({ "choices": [{ "delta": { "annotations": [annotation] }, "finish_reason": "stop" }] }),
        ],
        text: "É wet.",
        sources: vec![web("https://w.example/a", "W").range(2..6)],
    }
}

/// Perplexity repeats what it has found in each chunk.
fn of_perplexity() -> Wire {
    let citations = ["https://w.example/a", "https://w.example/b"];
    let results = json!([
        { "title": "A", "url": citations[0], "date": "2026-11-01", "snippet": "Wet." },
        { "title": "B", "url": citations[1], "date": null },
    ]);
    let chunk = |choice: Value| json!({ "choices": [choice], "citations": citations, "search_results": results });
    Wire {
        provider: "openai",
        body: chunk(json!({ "message": { "content": "Rain [1]." }, "finish_reason": "stop" })),
        messages: vec![
            chunk(json!({ "delta": { "content": "Rain " } })),
            chunk(json!({ "delta": { "content": "[1]." }, "finish_reason": "stop" })),
        ],
        text: "Rain [1].",
        sources: vec![
            web("https://w.example/a", "A").quote("Wet."),
            web("https://w.example/b", "B"),
        ],
    }
}

fn of_xai() -> Wire {
    let citations = ["https://w.example/a"];
    Wire {
        provider: "openai",
        body: json!({ "choices": [{ "message": { "content": "Rain." } }], "citations": citations }),
        messages: vec![
            json!({ "choices": [{ "delta": { "content": "Rain." } }] }),
            json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "citations": citations }),
        ],
        text: "Rain.",
        sources: vec![Source::web("https://w.example/a")],
    }
}

fn of_gemini() -> Wire {
    let grounding = json!({
        "webSearchQueries": ["rain"],
        "groundingChunks": [
            { "web": { "uri": "https://w.example/a", "title": "W" } },
            { "retrievedContext": { "uri": "gs://bucket/a.pdf", "title": "A", "text": "Wet." } },
            { "web": { "uri": "https://w.example/c", "title": "C" } },
        ],
        "groundingSupports": [
            { "segment": { "endIndex": 4, "text": "Äh:" }, "groundingChunkIndices": [0, 1] },
            { "segment": { "startIndex": 5, "endIndex": 14, "text": "something else" },
                "groundingChunkIndices": [0, 9] },
        ],
    });
    let citations = json!({ "citationSources": [
        { "startIndex": 5, "endIndex": 14, "uri": "https://w.example/poem" }] });
    let urls = json!({ "urlMetadata": [
        { "retrievedUrl": "https://w.example/d", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS" },
        { "retrievedUrl": "https://w.example/e", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_ERROR" }] });
    let part = |text: &str| json!({ "parts": [{ "text": text }] });
    let ended = |text: &str| {
        json!({ "candidates": [{ "content": part(text), "finishReason": "STOP",
            "groundingMetadata": grounding, "citationMetadata": citations,
            "urlContextMetadata": urls }] })
    };
    Wire {
        provider: "gemini",
        body: ended("Äh: it rains."),
        messages: vec![json!({ "candidates": [{ "content": part("Äh: it") }] }), ended(" rains.")],
        text: "Äh: it rains.",
        sources: vec![
            web("https://w.example/a", "W").range(0..4),
            Source::document("A").file_name("gs://bucket/a.pdf").quote("Wet.").range(0..4),
            // The text of the segment is another one.
            web("https://w.example/a", "W"),
            web("https://w.example/c", "C"),
            Source::web("https://w.example/d"),
            Source::web("https://w.example/poem").range(5..14),
        ],
    }
}

fn of_mistral() -> Wire {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let page = json!({ "type": "tool_reference", "tool": "web_search", "title": "W",
        "url": "https://w.example/a", "description": "About rain." });
    let content = [text("Rain"), json!({ "type": "reference", "reference_ids": [5] }), page];
    let more = text(" again.");
    Wire {
        provider: "mistral",
        body: json!({ "choices": [{ "message": { "content": [content[0], content[1], content[2], more] },
            "finish_reason": "stop" }] }),
        messages: vec![
            json!({ "choices": [{ "delta": { "content": "Ra" } }] }),
            json!({ "choices": [{ "delta": { "content": [text("in"), content[1]] } }] }),
            json!({ "choices": [{ "delta": { "content": [content[2]] } }] }),
            json!({ "choices": [{ "delta": { "content": " again." }, "finish_reason": "stop" }] }),
        ],
        text: "Rain again.",
        sources: vec![
            Source::document("reference 5").file_id("5"),
            web("https://w.example/a", "W").quote("About rain."),
        ],
    }
}

fn all() -> Vec<Wire> {
    vec![
        of_anthropic(),
        of_responses(),
        of_chat(),
        of_perplexity(),
        of_xai(),
        of_gemini(),
        of_mistral(),
    ]
}

async fn whole(wire: &Wire) -> ChatReply {
    let canned = Canned::new([Reply::text(200, &wire.body.to_string())]);
    client_of(wire.provider, canned)
        .reply(ChatRequest::new(&[Message::user("Rain?")]))
        .await
        .unwrap()
}

#[tokio::test]
async fn sources_are_decoded_and_streamed() {
    for wire in all() {
        let reply = whole(&wire).await;
        assert_eq!(reply.to_text(), wire.text);
        assert_eq!(reply.sources().cloned().collect::<Vec<_>>(), wire.sources, "{}", wire.text);

        let events: String =
            wire.messages.iter().map(|message| format!("data: {message}\n\n")).collect();
        let canned = Canned::new([Reply::text(200, &events)]);
        let (streamed_reply, collected) = streamed(&*client_of(wire.provider, canned)).await;
        assert_eq!(streamed_reply.unwrap().sources().cloned().collect::<Vec<_>>(), wire.sources);
        assert_eq!(collected.text, wire.text);
        assert_eq!(collected.sources, wire.sources);
    }
}

/// The sources are for people: what a provider needs back is sealed, and no other receives any.
#[tokio::test]
async fn sources_are_in_no_request() {
    for wire in all() {
        let reply = whole(&wire).await;
        let messages =
            [Message::user("Rain?"), Message::reply(reply.parts.clone()), Message::user("Sure?")];
        let json = serde_json::to_string(&messages).unwrap();
        let messages: Vec<Message> = serde_json::from_str(&json).unwrap();
        let without: Vec<_> = messages
            .iter()
            .cloned()
            .map(|message| match message {
                Message::Assistant { parts, .. } => {
                    let is_other = |part: &AssistantPart| !matches!(part, AssistantPart::Source(_));
                    Message::reply(parts.into_iter().filter(is_other).collect())
                }
                message => message,
            })
            .collect();
        for provider in PROVIDERS {
            let bodies = [&messages, &without].map(async |messages: &Vec<Message>| {
                let canned = Canned::new([Reply::text(500, "")]);
                let _ = provider.client(canned.clone()).reply(ChatRequest::new(messages)).await;
                canned.requests()[0].body.clone()
            });
            let [with, without] = bodies;
            let (with, without) = (with.await, without.await);
            assert_eq!(String::from_utf8(with), String::from_utf8(without), "{}", wire.text);
        }
    }
}

/// The ranges of a continued reply are those in the whole text.
#[tokio::test]
async fn ranges_of_a_paused_reply_are_moved() {
    let wire = of_anthropic();
    let paused = json!({ "content": wire.body["content"], "stop_reason": "pause_turn" });
    let replies = [&paused, &wire.body].map(|body| Reply::text(200, &body.to_string()));
    let request = [Message::user("Rain?")];
    let reply = client_of("anthropic", Canned::new(replies))
        .reply(ChatRequest::new(&request))
        .await
        .unwrap();
    let text = reply.to_text();
    let cited: Vec<_> = reply.sources().filter_map(|source| source.cited_in(&text)).collect();
    assert_eq!(cited, ["it rains."; 10]);
    assert_eq!(reply.sources().last().unwrap().range, Some(19..28));
}

#[tokio::test]
async fn hostile_sources_have_no_links_and_no_hidden_text() {
    let annotation = |url: &str, title: &str, end: Value| {
        json!({ "type": "url_citation", "url_citation":
            { "url": url, "title": title, "start_index": 0, "end_index": end } })
    };
    let hidden = "a\u{202e}b\u{0}\nc";
    let annotations = json!([
        annotation("javascript:alert(1)", "Click", json!(4)),
        annotation("java\nscript:alert(1)", "", json!(u64::MAX)),
        annotation("file:///etc/passwd", "", json!(-1)),
        annotation("https://w.example/", hidden, json!("4")),
        annotation("", "", json!(4)),
        annotation(&format!("https://w.example/{}", "a".repeat(9_000)), "", json!(0)),
        "https://w.example/",
        null,
    ]);
    let message = json!({ "content": "Rain", "annotations": annotations });
    let body = json!({ "choices": [{ "message": message }] });
    let canned = Canned::new([Reply::text(200, &body.to_string())]);
    let answer = Agent::new(client_of("openai", canned), Tools::new()).run("Rain?").await.unwrap();
    let sources: Vec<_> = answer.transcript[1].sources().collect();
    let texts: Vec<_> = sources.iter().map(|source| source.to_string()).collect();
    let left_out = |scheme: &str| format!("[link with the scheme `{scheme}` was left out]");
    assert_eq!(
        texts,
        [
            "Click".to_owned(),
            left_out("javascript"),
            left_out("file"),
            "ab c, https://w.example/".to_owned(),
            "[link was left out: it is too long]".to_owned(),
            "https://w.example/".to_owned(),
        ]
    );
    let urls: Vec<_> = sources.iter().filter_map(|source| source.url.as_deref()).collect();
    assert_eq!(urls, ["https://w.example/"; 2]);
    let ranges: Vec<_> = sources.iter().map(|source| source.range.clone()).collect();
    assert_eq!(ranges, [Some(0..4), None, None, None, None, None]);
}
