//! Media and links of results: what can't be passed on is replaced by a text that states this.

use serde_json::{Value, json};
use tool_mcp::{ResultLimits, Trust};
use tool_runtime::ContentPart;

use crate::server::{Server, answer, call, connect, with_go};

/// Returns the parts of the result of a call with these blocks.
async fn parts(blocks: Value) -> Vec<ContentPart> {
    let server = Server::default();
    let client =
        server.simple(with_go(false, move |call| answer(call, json!({ "content": blocks }))));
    let client = client
        .trust(Trust::new().unmarked_text())
        .result_limits(ResultLimits::default().max_media_bytes(100));
    let (registry, _connection) = connect(client).await;
    let result = call(&registry, "s__go", "{}").await.result;
    let text = (!result.text.is_empty()).then(|| ContentPart::text(result.text));
    text.into_iter().chain(result.parts).collect()
}

#[tokio::test]
async fn media_that_no_model_can_read_become_text() {
    for (block, reason) in [
        (json!({ "type": "image", "data": "no base64!", "mimeType": "image/png" }), "not base64"),
        (json!({ "type": "image", "data": "aGVsbG8", "mimeType": "image/png" }), "not base64"),
        (json!({ "type": "image", "data": "aGV_", "mimeType": "image/png" }), "not base64"),
        (json!({ "type": "image", "data": "", "mimeType": "image/png" }), "is empty"),
        (json!({ "type": "image", "data": "aGVs", "mimeType": "text/html" }), "media type"),
        (json!({ "type": "image", "data": "aGVs", "mimeType": "png" }), "media type"),
        (json!({ "type": "audio", "data": "aGVs", "mimeType": "image/png" }), "media type"),
        (json!({ "type": "audio", "data": "%", "mimeType": "audio/wav" }), "not base64"),
        (
            json!({ "type": "image", "data": "aGVs".repeat(50), "mimeType": "image/png" }),
            "150 bytes",
        ),
        (json!({ "type": "resource", "resource": { "uri": "a://b", "blob": "?" } }), "not base64"),
        (
            json!({ "type": "resource", "resource": {
                "uri": "a://b", "blob": "aGVs", "mimeType": "image",
            } }),
            "media type",
        ),
    ] {
        let parts = parts(json!([block])).await;
        assert!(parts.iter().all(|part| part.media().is_none()), "{block}");
        let text: String = parts.iter().map(|part| part.plain_text().into_owned()).collect();
        assert!(text.contains("left out") && text.contains(reason), "{block}: {text}");
    }
}

#[tokio::test]
async fn valid_media_are_passed_on() {
    for block in [
        json!({ "type": "image", "data": "aGVsbG8=", "mimeType": "image/png" }),
        json!({ "type": "audio", "data": "aGVs", "mimeType": "audio/wav" }),
        json!({ "type": "resource", "resource": { "uri": "a://b", "blob": "aGVs" } }),
    ] {
        let parts = parts(json!([block])).await;
        assert!(parts.iter().any(|part| part.media().is_some()), "{block}: {parts:?}");
    }
}

#[tokio::test]
async fn only_web_pages_are_passed_on_as_links() {
    for (uri, is_link, is_text) in [
        ("https://example.com/a", true, false),
        ("http://example.com/a", true, false),
        ("demo://resource/1", false, true),
        ("docs/readme.md", false, true),
        ("javascript:alert(1)", false, false),
        ("JavaScript:alert(1)", false, false),
        ("java\nscript:alert(1)", false, false),
        ("\u{200b}javascript:alert(1)", false, false),
        ("javascript://%0aalert(1)", false, false),
        ("file:///etc/passwd", false, false),
        ("file:C:\\secrets", false, false),
        ("data:text/html,<script>", false, false),
        ("vbscript:msgbox", false, false),
        ("blob:https://example.com/1", false, false),
    ] {
        let parts = parts(json!([{ "type": "resource_link", "uri": uri, "name": "page" }])).await;
        let links = parts.iter().filter(|part| matches!(part, ContentPart::Link(_))).count();
        assert_eq!(links, usize::from(is_link), "{uri:?}: {parts:?}");
        let text: String = parts.iter().map(|part| part.plain_text().into_owned()).collect();
        assert_eq!(text.contains(uri), is_link || is_text, "{uri:?}: {text}");
        assert!(text.contains("page"), "{uri:?}: {text}");
    }
}

#[tokio::test]
async fn active_uri_of_an_embedded_resource_is_left_out() {
    for (uri, is_included) in [
        ("file:///a.log", true),
        ("demo://a", true),
        ("javascript:alert(1)", false),
        ("data:text/html,x", false),
    ] {
        let resource = json!({ "uri": uri, "text": "content" });
        let parts = parts(json!([{ "type": "resource", "resource": resource }])).await;
        let text = parts[0].plain_text().into_owned();
        assert!(text.contains("content"), "{text}");
        assert_eq!(text.contains(uri), is_included, "{text}");
    }
}
