//! Sources that a content block names: the citations of a text, or what a search has found.

use serde_json::{Map, Value};

use crate::shared::{source, source_list};
use tool_core::message::Source;

/// Returns the sources of a block. Those of a text have its range.
pub(super) fn sources(block: &Map<String, Value>) -> impl Iterator<Item = Source> {
    let text_len = block.get("text").and_then(Value::as_str).map_or(0, str::len);
    let citations = block.get("citations").and_then(Value::as_array).into_iter().flatten();
    let cited = citations.filter(move |_| text_len > 0).filter_map(move |citation| {
        let source = source(citation)?.range(0..text_len);
        Some(match location(citation) {
            Some(location) => source.location(location),
            None => source,
        })
    });
    let content = block.get("content");
    cited.chain(source_list(content)).chain(content.and_then(fetched))
}

/// Returns the place in the document. The end is exclusive.
fn location(citation: &Value) -> Option<String> {
    let of = |unit: &str, start: &str, end: &str| {
        let [start, end] = [start, end].map(|name| citation.get(name).and_then(Value::as_u64));
        let (start, last) = (start?, end?.saturating_sub(1));
        let place = if start < last {
            format!("{unit}s {start}-{last}")
        } else {
            format!("{unit} {start}")
        };
        Some(place)
    };
    of("page", "start_page_number", "end_page_number")
        .or_else(|| of("character", "start_char_index", "end_char_index"))
        .or_else(|| of("block", "start_block_index", "end_block_index"))
}

/// Returns the page that was fetched.
fn fetched(content: &Value) -> Option<Source> {
    content.get("retrieved_at")?;
    let title = content.get("content").and_then(|document| document.get("title")?.as_str());
    Some(Source::web(content.get("url")?.as_str()?).title(title.unwrap_or_default()))
}
