//! Facts, and the metadata in which a store keeps them.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::error::MemoryError;
use super::seconds;
use crate::DocumentRecord;
use crate::words::stems;

/// The most bytes of a fact.
pub(super) const MAX_TEXT: usize = 1_000;

/// The most bytes of a subject. With it, a fact is one chunk.
pub(super) const MAX_SUBJECT: usize = 200;

/// Characters that separate the words of a subject, as in `home_city`.
const SEPARATORS: [char; 2] = ['_', '-'];

/// Punctuation before and after words. Signs are no punctuation: `-5` differs from `5`, and `C++`
/// from `C`.
const OPENING: &[char] = &['"', '\'', '(', '[', '{', '“', '„', '‘', '«', '¿', '¡', '「'];
const CLOSING: &[char] = &[
    '.', ',', ';', ':', '!', '?', '…', '"', '\'', ')', ']', '}', '”', '“', '’', '»', '。', '、',
    '，', '！', '？', '；', '：', '」',
];

/// The most earlier facts that are kept about a subject.
const MAX_HISTORY: usize = 20;

/// A fact to remember, with its subject and origin.
///
/// ```
/// use tool_runtime::knowledge::memory::Fact;
///
/// let fact = Fact::new("Lives in Oslo.").about("home city").learned_from("session 7");
/// assert_eq!(fact.about.as_deref(), Some("home city"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// The fact in a sentence.
    pub text: String,
    /// The subject of the fact. A later fact about the same subject replaces this one.
    pub about: Option<String>,
    /// The origin of the fact, such as the name of a session.
    pub learned_from: Option<String>,
}

impl Fact {
    /// Creates a fact that replaces no other.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the subject of the fact.
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.about = Some(subject.into());
        self
    }

    /// Sets the origin of the fact, such as the name of a session.
    #[must_use]
    pub fn learned_from(mut self, source: impl Into<String>) -> Self {
        self.learned_from = Some(source.into());
        self
    }

    /// Returns the fact after its subject, if it has one.
    pub(super) fn with_subject(&self) -> String {
        with_subject(self.about.as_deref(), &self.text)
    }

    /// Returns the id of the fact: that of its subject, or of its words.
    pub(super) fn id(&self) -> String {
        let (kind, words) = match &self.about {
            Some(subject) if !stems(subject).is_empty() => {
                ("subject", same_words(&subject.replace(SEPARATORS, " ")))
            }
            _ => ("fact", same_words(&self.text)),
        };
        let digest = hmac_sha256::Hash::hash(words.as_bytes());
        digest.iter().take(6).fold(format!("{kind}-"), |id, byte| id + &format!("{byte:02x}"))
    }
}

/// A stored fact, with its id, time and history.
///
/// ```
/// use tool_runtime::knowledge::SqliteDocuments;
/// use tool_runtime::knowledge::memory::{Fact, Memory, MemoryScope, StoredFact};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
/// let ada = MemoryScope::user("ada");
/// memory.remember(&ada, Fact::new("Likes tea.")).await?;
/// let facts: Vec<StoredFact> = memory.facts(&ada).await?;
/// assert!(facts[0].id.starts_with("fact-"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredFact {
    /// Identifies the fact within its scope.
    pub id: String,
    /// The fact in a sentence.
    pub text: String,
    /// The subject of the fact. A later fact about the same subject replaces this one.
    pub about: Option<String>,
    /// The origin of the fact, such as the name of a session.
    pub learned_from: Option<String>,
    /// The time when the fact was remembered.
    pub saved_at: SystemTime,
    /// The facts that this one replaced, the newest first; at most 20.
    pub history: Vec<EarlierFact>,
}

/// A fact that was replaced by another one about the same subject.
///
/// ```
/// use std::time::SystemTime;
///
/// use tool_runtime::knowledge::memory::EarlierFact;
///
/// let earlier = EarlierFact { text: "Lives in Oslo.".into(), saved_at: SystemTime::UNIX_EPOCH };
/// assert_eq!(earlier.text, "Lives in Oslo.");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierFact {
    /// The fact in a sentence.
    pub text: String,
    /// The time when the fact was remembered.
    pub saved_at: SystemTime,
}

impl StoredFact {
    pub(super) fn of_record(record: &DocumentRecord) -> Result<Self, MemoryError> {
        Self::new(&record.source, &record.metadata)
    }

    /// Reads the metadata that [`metadata_of`] wrote.
    pub(super) fn new(id: &str, metadata: &Map<String, Value>) -> Result<Self, MemoryError> {
        let damaged = || MemoryError::Corrupt { id: id.to_owned() };
        let text = |name: &str| metadata.get(name)?.as_str().map(str::to_owned);
        let earlier = |value: &Value| {
            let text = value.get("text")?.as_str()?.to_owned();
            Some(EarlierFact { text, saved_at: time(value.get("saved_at")?)? })
        };
        let history = metadata.get("history").and_then(Value::as_array);
        Ok(Self {
            id: id.to_owned(),
            text: text("text").ok_or_else(damaged)?,
            about: text("about"),
            learned_from: text("learned_from"),
            saved_at: metadata.get("saved_at").and_then(time).ok_or_else(damaged)?,
            history: history.into_iter().flatten().filter_map(earlier).collect(),
        })
    }

    /// Returns the fact after its subject, if it has one.
    pub(super) fn with_subject(&self) -> String {
        with_subject(self.about.as_deref(), &self.text)
    }

    /// Returns the history of the fact that replaces this one.
    pub(super) fn into_history(self) -> Vec<EarlierFact> {
        let mut history = self.history;
        history.insert(0, EarlierFact { text: self.text, saved_at: self.saved_at });
        history.truncate(MAX_HISTORY);
        history
    }

    /// Returns whether a text has the same words in the same order.
    pub(super) fn has_words_of(&self, text: &str) -> bool {
        same_words(&self.text) == same_words(text)
    }
}

pub(super) fn metadata_of(
    fact: &Fact,
    saved_at: SystemTime,
    history: &[EarlierFact],
) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("text".into(), fact.text.clone().into());
    metadata.insert("saved_at".into(), seconds(saved_at));
    let optional = [("about", &fact.about), ("learned_from", &fact.learned_from)];
    for (name, value) in optional {
        metadata.extend(value.as_ref().map(|value| (name.to_owned(), value.clone().into())));
    }
    if !history.is_empty() {
        let earlier = history
            .iter()
            .map(|earlier| json!({ "text": earlier.text, "saved_at": seconds(earlier.saved_at) }));
        metadata.insert("history".into(), earlier.collect());
    }
    metadata
}

fn with_subject(subject: Option<&str>, text: &str) -> String {
    match subject {
        Some(subject) => format!("{subject}: {text}"),
        None => text.to_owned(),
    }
}

/// Returns the words of a text without their case and the punctuation around them; the text, if it
/// has no words.
fn same_words(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.trim_start_matches(OPENING).trim_end_matches(CLOSING))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() { text.to_owned() } else { words.join(" ") }
}

fn time(seconds: &Value) -> Option<SystemTime> {
    let since = Duration::try_from_secs_f64(seconds.as_f64()?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}
