//! Finds tools by what they do.

use std::fmt;
use std::iter::repeat_n;

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, Tokenizer};
use serde_json::Value;

use super::kin::meanings;
use super::words::{beginning, words};
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
    words: Ranking,
    meanings: Ranking,
}

impl ToolIndex {
    /// An index of these tools: some milliseconds for a thousand.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a ToolDefinition>) -> Self {
        let (mut names, mut words) = (Vec::new(), Vec::new());
        for tool in definitions {
            names.push(tool.name.clone());
            words.push(words_of(tool));
        }
        let meanings: Vec<_> = words.iter().map(|words| meanings(words)).collect();
        Self { names, words: Ranking::new(&words), meanings: Ranking::new(&meanings) }
    }

    /// The names of the tools that fit a query best, at most so many, with their scores. Where
    /// those are the same, the names decide.
    pub fn search(&self, query: &str, most: usize) -> Vec<(&str, f32)> {
        let mut scores = vec![0.0; self.names.len()];
        let words = words(query);
        self.words.rate(&words, 1.0, &mut scores);
        self.meanings.rate(&meanings(&words), KIN, &mut scores);
        let named = self.names.iter().map(String::as_str).zip(scores);
        let mut ranked: Vec<_> = named.filter(|(_, score)| *score > 0.0).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        ranked.truncate(most);
        ranked
    }
}

/// Texts by one view of what is in them, ranked by BM25.
struct Ranking {
    embedder: Embedder<u64, Split>,
    scorer: Scorer<usize, u64>,
}

/// Words are found once, before they are ranked: here they only have to be told apart.
#[derive(Default)]
struct Split;

impl Tokenizer for Split {
    fn tokenize(&self, text: &str) -> Vec<String> {
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }
}

impl Ranking {
    fn new<W: AsRef<str>>(texts: &[Vec<W>]) -> Self {
        let all: usize = texts.iter().map(Vec::len).sum();
        let average = all as f32 / texts.len().max(1) as f32;
        let embedder = EmbedderBuilder::with_avgdl(average).k1(REPETITION).build();
        let mut ranking = Self { embedder, scorer: Scorer::new() };
        for (place, words) in texts.iter().enumerate() {
            let embedding = ranking.embed(words);
            ranking.scorer.upsert(&place, embedding);
        }
        ranking
    }

    fn embed<W: AsRef<str>>(&self, words: &[W]) -> Embedding<u64> {
        let words: Vec<_> = words.iter().map(AsRef::as_ref).collect();
        self.embedder.embed(&words.join(" "))
    }

    /// Adds what each text is worth.
    fn rate<W: AsRef<str>>(&self, words: &[W], weight: f32, scores: &mut [f32]) {
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

/// The words of a tool: its own as often as they count, then those of its arguments.
fn words_of(tool: &ToolDefinition) -> Vec<String> {
    let own = [
        (tool.name.as_str(), LONGEST_ARGUMENT),
        (tool.title.as_deref().unwrap_or_default(), LONGEST_ARGUMENT),
        (tool.description.as_str(), LONGEST_DESCRIPTION),
    ];
    let own: Vec<_> = own.iter().flat_map(|(text, most)| words(beginning(text, *most))).collect();
    let mut all: Vec<_> = repeat_n(&own, OWN_WORDS).flatten().cloned().collect();
    for (name, schema) in arguments(tool).take(MOST_ARGUMENTS) {
        all.extend(words(beginning(name, LONGEST_ARGUMENT)));
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let most = LONGEST_ARGUMENT.saturating_sub(name.len());
        all.extend(words(beginning(description, most)));
    }
    all
}

/// The arguments of a tool, by name, with their schemas.
pub(super) fn arguments(tool: &ToolDefinition) -> impl Iterator<Item = (&str, &Value)> {
    let properties = tool.parameters.as_value().get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}
