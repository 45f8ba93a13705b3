//! Finds tools by what they do.

use std::fmt;

use bm25::{Embedder, EmbedderBuilder, Scorer, Tokenizer};
use serde_json::Value;

use super::kin::Meanings;
use super::words::{Words, beginning};
use crate::tool::ToolDefinition;

/// How often the words of a name and a description count; those of arguments count once.
const OWN_WORDS: usize = 2;

/// What a word of the same meaning is worth, beside the very word.
const KIN: f32 = 0.2;

/// How much it adds that a word comes again (the k1 of BM25). Less than is usual for long texts: in
/// one sentence, to hold another word of the query says more.
const REPETITION: f32 = 0.6;

/// How many bytes are read of a description: what comes behind them tells no more of a tool.
const LONGEST_DESCRIPTION: usize = 2_048;

/// The same for an argument, its name included.
const LONGEST_ARGUMENT: usize = 256;

/// How many arguments of a tool are read.
const MOST_ARGUMENTS: usize = 64;

/// The words of tools, ranked by BM25: a word counts the more, the fewer tools have it.
///
/// It holds names, titles, descriptions, and the names and descriptions of arguments. The same
/// definitions and the same query give the same answer, always.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::registry::ToolIndex;
///
/// let schema = || serde_json::json!({ "type": "object", "properties": {} });
/// let tools = [
///     ToolDefinition::new("send_mail", "Sends a message to an address.", schema()),
///     ToolDefinition::new("weather", "Tells how warm it is in a city.", schema()),
/// ];
/// let index = ToolIndex::new(&tools);
/// let found = index.search("sending mails", 5);
/// assert_eq!(found[0].0, "send_mail");
/// assert!(index.search("chess", 5).is_empty());
/// ```
pub struct ToolIndex {
    names: Vec<String>,
    words: Ranking<Words>,
    meanings: Ranking<Meanings>,
}

impl ToolIndex {
    /// An index of these tools.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a ToolDefinition>) -> Self {
        let (names, texts): (Vec<_>, Vec<_>) =
            definitions.into_iter().map(|tool| (tool.name.clone(), text(tool))).unzip();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        Self { names, words: Ranking::new(Words, &texts), meanings: Ranking::new(Meanings, &texts) }
    }

    /// The names of the tools that fit a query best, at most so many, with their scores. Where
    /// those are the same, the names decide.
    pub fn search(&self, query: &str, most: usize) -> Vec<(&str, f32)> {
        let mut scores = vec![0.0; self.names.len()];
        self.words.rate(query, 1.0, &mut scores);
        self.meanings.rate(query, KIN, &mut scores);
        let named = self.names.iter().map(String::as_str).zip(scores);
        let mut ranked: Vec<_> = named.filter(|(_, score)| *score > 0.0).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        ranked.truncate(most);
        ranked
    }
}

/// The same texts by one view of what is in them.
struct Ranking<T> {
    embedder: Embedder<u64, T>,
    scorer: Scorer<usize, u64>,
}

impl<T: Tokenizer + Sync> Ranking<T> {
    fn new(tokenizer: T, texts: &[&str]) -> Self {
        let embedder = EmbedderBuilder::with_tokenizer_and_fit_to_corpus(tokenizer, texts);
        let embedder = embedder.k1(REPETITION).build();
        let mut scorer = Scorer::new();
        for (place, text) in texts.iter().enumerate() {
            scorer.upsert(&place, embedder.embed(text));
        }
        Self { embedder, scorer }
    }

    /// Adds what each text is worth.
    fn rate(&self, query: &str, weight: f32, scores: &mut [f32]) {
        for found in self.scorer.matches(&self.embedder.embed(query)) {
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

/// What is read of a tool.
fn text(tool: &ToolDefinition) -> String {
    let mut text = String::new();
    let mut add = |part: &str, most: usize| {
        text.push_str(beginning(part, most));
        text.push(' ');
    };
    for _ in 0..OWN_WORDS {
        add(&tool.name, LONGEST_ARGUMENT);
        add(tool.title.as_deref().unwrap_or_default(), LONGEST_ARGUMENT);
        add(&tool.description, LONGEST_DESCRIPTION);
    }
    for (name, schema) in arguments(tool).take(MOST_ARGUMENTS) {
        add(name, LONGEST_ARGUMENT);
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        add(description, LONGEST_ARGUMENT.saturating_sub(name.len()));
    }
    text
}

/// The arguments of a tool, by name, with their schemas.
pub(super) fn arguments(tool: &ToolDefinition) -> impl Iterator<Item = (&str, &Value)> {
    let properties = tool.parameters.as_value().get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}
