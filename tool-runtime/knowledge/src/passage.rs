//! Passages: what a search returns.

use serde_json::{Map, Value};

use crate::store::StoredChunk;
use crate::words::{beginning, query_stems, stems};

/// The most bytes of a snippet.
const SNIPPET: usize = 300;

/// A chunk of a document that matches a query, with its score.
///
/// ```
/// use tool_runtime::knowledge::{Document, Knowledge, SearchFilter, SqliteDocuments};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
/// knowledge.add(Document::markdown("a.md", "# Leave\n\nEveryone has 30 days.")).await?;
/// let found = knowledge.search("days", &SearchFilter::default(), 5).await?;
/// assert_eq!((found[0].heading.as_str(), found[0].start), ("Leave", 0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Passage {
    /// The source of the document.
    pub source: String,
    /// The headings above the passage, from the outermost, joined by ` > `.
    pub heading: String,
    /// The byte offset of the passage in the document. For HTML, in the converted Markdown.
    pub start: usize,
    /// The text of the passage, of at most 1,500 bytes.
    pub text: String,
    /// The part of the text with most words of the query: at most 300 bytes, and `…` where the text
    /// is cut.
    pub snippet: String,
    /// The [fused](crate::Fusion) score: it orders the passages of one search, and means nothing
    /// across searches.
    pub score: f32,
    /// The metadata of the document.
    pub metadata: Map<String, Value>,
}

impl Passage {
    pub(crate) fn new(chunk: StoredChunk, score: f32, query: &str) -> Self {
        let StoredChunk { source, heading, start, text, metadata, .. } = chunk;
        let snippet = snippet(&text, query);
        Self { source, heading, start, text, snippet, score, metadata }
    }
}

/// Returns the window of a text with most words of a query.
fn snippet(text: &str, query: &str) -> String {
    let stemmed = query_stems(query);
    let wanted_stems: Vec<&str> = stemmed.split_whitespace().collect();
    let mut starts: Vec<(usize, bool)> = Vec::new();
    let mut start = 0;
    // Some scripts have no spaces, but punctuation.
    let is_end = |char: char| char.is_whitespace() || "、。，！？；".contains(char);
    for word in text.split_inclusive(is_end) {
        let is_wanted = stems(word).split_whitespace().any(|stem| wanted_stems.contains(&stem));
        starts.push((start, is_wanted));
        start += word.len();
    }
    let end_of = |at: usize| beginning(text, at + SNIPPET).len();
    let count = |at: usize| {
        let end = end_of(at);
        let after = starts.iter().skip_while(|(start, _)| *start < at);
        after.take_while(|(start, _)| *start < end).filter(|(_, is_wanted)| *is_wanted).count()
    };
    // The first of the best windows that begin with a wanted word, or the beginning.
    let best = starts
        .iter()
        .filter(|(_, is_wanted)| *is_wanted)
        .map(|(start, _)| (count(*start), std::cmp::Reverse(*start)))
        .max()
        .map_or(0, |(_, std::cmp::Reverse(start))| start);
    let begin =
        if best + SNIPPET >= text.len() { text.len().saturating_sub(SNIPPET) } else { best };
    let begin = beginning(text, begin).len();
    let window = text.get(begin..end_of(begin)).unwrap_or_default().trim();
    let [before, after] =
        [begin > 0, end_of(begin) < text.len()].map(|is_cut| if is_cut { "…" } else { "" });
    format!("{before}{window}{after}")
}

#[cfg(test)]
mod tests {
    use super::snippet;

    #[test]
    fn snippet_has_most_words_of_the_query() {
        let filler = "something else entirely ".repeat(30);
        let text = format!("milk {filler}we buy milk and bread here {filler}");
        let found = snippet(&text, "Where to buy bread and milk?");
        assert!(found.contains("buy milk and bread"), "{found}");
        assert!(found.starts_with('…') && found.ends_with('…'), "{found}");
        assert_eq!(snippet("Buy milk.", "milk"), "Buy milk.");
        assert_eq!(snippet("Buy milk.", "no such word"), "Buy milk.");
        let chinese =
            format!("{}请买牛奶和面包。{}", "今天天气很好。".repeat(30), "谢谢你。".repeat(40));
        let found = snippet(&chinese, "牛奶");
        assert!(found.starts_with("…请买牛奶和面包。"), "{found}");
        let umlauts = "ä".repeat(400);
        assert!(snippet(&umlauts, "x").len() <= 300 + "……".len());
    }
}
