//! The search index of tools.

use std::fmt;
use std::iter::repeat_n;

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, Tokenizer};
use serde_json::Value;

use super::synonyms::meanings;
use super::words::{prefix, words};
use crate::tool::ToolDefinition;

/// The weight of the words of name, title and description. Words of arguments have the weight 1.
const OWN_WEIGHT: usize = 2;

/// The weight of a synonym, relative to the word itself.
const SYNONYM_WEIGHT: f32 = 0.2;

/// The k1 of BM25: how much repetitions of a word add. It is lower than usual for long texts,
/// because in one sentence another word of the query is more significant.
const K1: f32 = 0.6;

/// The maximum number of bytes of a description that are indexed.
const MAX_DESCRIPTION_BYTES: usize = 2_048;

/// The maximum number of bytes of an argument that are indexed, including its name.
const MAX_ARGUMENT_BYTES: usize = 256;

/// The maximum number of arguments of a tool that are indexed.
const MAX_ARGUMENTS: usize = 64;

/// A full-text index of tools, ranked by BM25: the fewer tools contain a word, the more it counts.
///
/// It contains names, titles, descriptions, and the names and descriptions of arguments. The result
/// is deterministic.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::registry::ToolIndex;
///
/// let schema = || serde_json::json!({ "type": "object", "properties": {} });
/// let tools = [
///     ToolDefinition::new("send_mail", "Sends a message to an address.", schema()),
///     ToolDefinition::new("weather", "Returns how warm it is in a city.", schema()),
/// ];
/// let index = ToolIndex::new(&tools);
/// let found = index.search("sending mails", 5);
/// assert_eq!(found[0].0, "send_mail");
/// assert!(index.search("chess", 5).is_empty());
/// ```
pub struct ToolIndex {
    names: Vec<String>,
    words: Ranking,
    meanings: Ranking,
}

impl ToolIndex {
    /// Builds an index of these tools. It takes some milliseconds for a thousand tools.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a ToolDefinition>) -> Self {
        let (mut names, mut words) = (Vec::new(), Vec::new());
        for tool in definitions {
            names.push(tool.name.clone());
            words.push(words_of(tool));
        }
        let meanings: Vec<_> = words.iter().map(|words| meanings(words)).collect();
        Self { names, words: Ranking::new(&words), meanings: Ranking::new(&meanings) }
    }

    /// Returns the names and scores of the tools that match a query best, at most `max_results`.
    /// Ties are sorted by name.
    ///
    /// The name of a provider's tool is the one in its [`ToolDefinition::name`], which can differ
    /// from its [full name](ToolDefinition::full_name).
    pub fn search(&self, query: &str, max_results: usize) -> Vec<(&str, f32)> {
        let found = self.find(query, max_results).into_iter();
        found.filter_map(|(at, score)| Some((self.names.get(at)?.as_str(), score))).collect()
    }

    /// Returns the positions of the tools that match a query best, among the tools of
    /// [`new`](Self::new), and their scores.
    pub(super) fn find(&self, query: &str, max_results: usize) -> Vec<(usize, f32)> {
        let mut scores = vec![0.0; self.names.len()];
        let words = words(query);
        self.words.add_scores(&words, 1.0, &mut scores);
        self.meanings.add_scores(&meanings(&words), SYNONYM_WEIGHT, &mut scores);
        let mut ranked: Vec<_> = self.names.iter().zip(scores).enumerate().collect();
        ranked.retain(|(_, (_, score))| *score > 0.0);
        ranked.sort_by(|(_, a), (_, b)| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        ranked.truncate(max_results);
        ranked.into_iter().map(|(at, (_, score))| (at, score)).collect()
    }
}

/// A BM25 ranking of texts by one kind of terms.
struct Ranking {
    embedder: Embedder<u64, SplitAtSpaces>,
    scorer: Scorer<usize, u64>,
}

/// Splits at spaces, because the terms were extracted before.
#[derive(Default)]
struct SplitAtSpaces;

impl Tokenizer for SplitAtSpaces {
    fn tokenize(&self, text: &str) -> Vec<String> {
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }
}

impl Ranking {
    fn new<W: AsRef<str>>(texts: &[Vec<W>]) -> Self {
        let all: usize = texts.iter().map(Vec::len).sum();
        let average = all as f32 / texts.len().max(1) as f32;
        let embedder = EmbedderBuilder::with_avgdl(average).k1(K1).build();
        let mut ranking = Self { embedder, scorer: Scorer::new() };
        for (index, words) in texts.iter().enumerate() {
            let embedding = ranking.embed(words);
            ranking.scorer.upsert(&index, embedding);
        }
        ranking
    }

    fn embed<W: AsRef<str>>(&self, words: &[W]) -> Embedding<u64> {
        let words: Vec<_> = words.iter().map(AsRef::as_ref).collect();
        self.embedder.embed(&words.join(" "))
    }

    /// Adds the weighted score of each text.
    fn add_scores<W: AsRef<str>>(&self, words: &[W], weight: f32, scores: &mut [f32]) {
        for found in self.scorer.matches(&self.embed(words)) {
            if let Some(score) = scores.get_mut(found.id) {
                *score += weight * found.score;
            }
        }
    }
}

impl fmt::Debug for ToolIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolIndex").field(&self.names).finish()
    }
}

/// Returns the words of a tool: its own, repeated by their weight, then those of its arguments.
fn words_of(tool: &ToolDefinition) -> Vec<String> {
    let definition_words = [
        (tool.name.as_str(), MAX_ARGUMENT_BYTES),
        (tool.title.as_deref().unwrap_or_default(), MAX_ARGUMENT_BYTES),
        (tool.description.as_str(), MAX_DESCRIPTION_BYTES),
    ];
    let definition_words: Vec<_> =
        definition_words.iter().flat_map(|(text, max)| words(prefix(text, *max))).collect();
    let mut all: Vec<_> = repeat_n(&definition_words, OWN_WEIGHT).flatten().cloned().collect();
    for (name, schema) in arguments(tool).take(MAX_ARGUMENTS) {
        all.extend(words(prefix(name, MAX_ARGUMENT_BYTES)));
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let max = MAX_ARGUMENT_BYTES.saturating_sub(name.len());
        all.extend(words(prefix(description, max)));
    }
    all
}

/// Returns the names and schemas of a tool's arguments.
pub(super) fn arguments(tool: &ToolDefinition) -> impl Iterator<Item = (&str, &Value)> {
    let properties = tool.parameters.as_value().get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}
