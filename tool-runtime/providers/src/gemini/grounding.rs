//! Sources of a Gemini reply: what the provider's tools have found, and the texts that it recites.

use std::ops::Range;

use serde_json::Value;

use crate::shared::source;
use tool_core::message::Source;

/// Metadata of a candidate. In a stream, they come with late messages.
#[derive(Default)]
pub(super) struct Grounding {
    pub(super) grounding_metadata: Option<Value>,
    pub(super) citation_metadata: Option<Value>,
    pub(super) url_context_metadata: Option<Value>,
}

impl Grounding {
    /// Takes the metadata of a message. Later ones are complete.
    pub(super) fn merge(&mut self, more: Self) {
        for (known, more) in [
            (&mut self.grounding_metadata, more.grounding_metadata),
            (&mut self.citation_metadata, more.citation_metadata),
            (&mut self.url_context_metadata, more.url_context_metadata),
        ] {
            *known = more.filter(|more| !more.is_null()).or_else(|| known.take());
        }
    }

    /// Returns the sources, with their ranges in the text of the reply. A chunk that no segment of
    /// the text refers to has none.
    pub(super) fn sources(&self, text: &str) -> Vec<Source> {
        let grounding = self.grounding_metadata.as_ref();
        let chunks: Vec<_> = list(grounding, "groundingChunks").map(chunk).collect();
        let mut are_cited = vec![false; chunks.len()];
        let mut sources = Vec::new();
        for support in list(grounding, "groundingSupports") {
            let range = support.get("segment").and_then(|segment| range(segment, text));
            for index in list(Some(support), "groundingChunkIndices") {
                let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
                let Some(index) = index else { continue };
                if let (Some(Some(source)), Some(is_cited)) =
                    (chunks.get(index), are_cited.get_mut(index))
                {
                    *is_cited = true;
                    let mut source = source.clone();
                    source.range = range.clone();
                    sources.push(source);
                }
            }
        }
        let uncited = chunks.into_iter().zip(are_cited).filter(|(_, is_cited)| !is_cited);
        sources.extend(uncited.filter_map(|(source, _)| source));
        let urls = list(self.url_context_metadata.as_ref(), "urlMetadata");
        let urls = urls.filter(|page| {
            let status = page.get("urlRetrievalStatus").and_then(Value::as_str);
            status.is_none_or(|status| status.ends_with("_SUCCESS"))
        });
        sources.extend(urls.filter_map(|page| source(page.get("retrievedUrl")?)));
        // The name of the member differs between the Gemini API and Vertex.
        for name in ["citationSources", "citations"] {
            for recited in list(self.citation_metadata.as_ref(), name) {
                let Some(mut source) = source(recited) else { continue };
                source.range = range(recited, text);
                sources.push(source);
            }
        }
        sources
    }
}

fn list<'v>(value: Option<&'v Value>, name: &str) -> impl Iterator<Item = &'v Value> {
    value.and_then(|value| value.get(name)?.as_array()).into_iter().flatten()
}

/// Reads what was found: a member of the chunk says whether it is a page, a document or a place.
fn chunk(chunk: &Value) -> Option<Source> {
    chunk.as_object()?.values().filter(|value| value.is_object()).find_map(source)
}

/// Returns the bytes of a segment in the text, unless another text is there.
fn range(segment: &Value, text: &str) -> Option<Range<usize>> {
    let index = |name: &str| match segment.get(name) {
        None => Some(0),
        Some(index) => usize::try_from(index.as_u64()?).ok(),
    };
    let range = index("startIndex")?..index("endIndex")?;
    let cited = text.get(range.clone()).filter(|cited| !cited.is_empty())?;
    let expected = segment.get("text").and_then(Value::as_str);
    expected.is_none_or(|expected| expected == cited).then_some(range)
}
