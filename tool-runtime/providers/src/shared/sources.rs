//! Sources of a reply: what a provider says about them, and their ranges in the text.

use std::ops::Range;

use serde_json::Value;

use tool_core::AssistantPart;
use tool_core::message::Source;

/// Reads a source from an object with members that all APIs name similarly, or from a URL. Returns
/// `None` if nothing in it identifies a source.
pub(crate) fn source(value: &Value) -> Option<Source> {
    if let Some(url) = value.as_str() {
        return Some(Source::web(url));
    }
    let text = |names: &[&str]| {
        let mut members = names.iter().filter_map(|name| value.get(*name)?.as_str());
        members.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let url = text(&["url", "uri", "source"]);
    let source = if url.is_empty() { Source::default() } else { Source::web(url) }
        .title(text(&["title", "document_title"]))
        .file_name(text(&["filename", "file_name", "documentName"]))
        .file_id(text(&["file_id"]));
    (!source.is_unknown())
        .then(|| source.quote(text(&["cited_text", "snippet", "content", "text", "description"])))
}

/// Reads a list of sources that are cited nowhere, or not at a known place.
pub(crate) fn source_list(values: Option<&Value>) -> impl Iterator<Item = Source> {
    values.and_then(Value::as_array).into_iter().flatten().filter_map(source)
}

/// Reads the annotations of a text, as both APIs of OpenAI have them: in the Chat Completions API,
/// a member with the name of the type holds the others.
pub(crate) fn annotated<'a>(
    annotations: impl IntoIterator<Item = &'a Value>,
    text: &str,
) -> Vec<AssistantPart> {
    let chars = CharOffsets::new(text);
    let read = |annotation: &Value| {
        let kind = annotation.get("type").and_then(Value::as_str).unwrap_or_default();
        let members = annotation.get(kind).unwrap_or(annotation);
        let mut source = source(members)?;
        source.range = chars.range(members.get("start_index"), members.get("end_index"));
        Some(AssistantPart::Source(source))
    };
    annotations.into_iter().filter_map(read).collect()
}

/// The offsets of the characters of a text.
struct CharOffsets<'t> {
    text: &'t str,
    /// None for ASCII.
    offsets: Option<Vec<usize>>,
}

impl<'t> CharOffsets<'t> {
    fn new(text: &'t str) -> Self {
        let offsets = || text.char_indices().map(|(offset, _)| offset).chain([text.len()]);
        Self { text, offsets: (!text.is_ascii()).then(|| offsets().collect()) }
    }

    /// Returns the bytes of a range of characters.
    fn range(&self, start: Option<&Value>, end: Option<&Value>) -> Option<Range<usize>> {
        let offset = |index: Option<&Value>| {
            let index = usize::try_from(index?.as_u64()?).ok()?;
            match &self.offsets {
                Some(offsets) => offsets.get(index).copied(),
                None => Some(index).filter(|index| *index <= self.text.len()),
            }
        };
        Some(offset(start)?..offset(end)?).filter(|range| !range.is_empty())
    }
}

/// Converts the ranges of sources in the text before them into ranges in the text of the reply.
pub(crate) fn place_sources(parts: &mut [AssistantPart]) {
    let mut text_range = 0..0;
    for part in parts {
        match part {
            AssistantPart::Text { text } => {
                text_range = text_range.end..text_range.end + text.len();
            }
            AssistantPart::Source(source) => *source = shifted(source, text_range.start),
            _ => {}
        }
    }
}

/// Returns a source whose range is this much later.
pub(crate) fn shifted(source: &Source, distance: usize) -> Source {
    let shifted = |range: &Range<usize>| {
        let start = range.start.checked_add(distance)?;
        Some(start..range.end.checked_add(distance)?)
    };
    let mut source = source.clone();
    source.range = source.range.as_ref().and_then(shifted);
    source
}
