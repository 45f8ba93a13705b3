//! Facts that agents remember.
//!
//! - `scope.rs`: the owners of facts.
//! - `fact.rs`: facts, and the records in which a store keeps them.
//! - `tools.rs`: the tools `remember`, `recall` and `forget`.
//! - `hook.rs`: offers facts to the model at the start of a run.
//!
//! A fact is a document of [`knowledge`](crate). Its scope is the tenant, and its id the
//! source.

mod error;
mod fact;
mod hook;
mod scope;
mod tools;

use std::fmt;
use std::time::SystemTime;

use serde_json::Value;
use tool_core::agent::ModelHook;
use tool_core::models::Embedder;

pub use error::MemoryError;
pub use fact::{EarlierFact, Fact, StoredFact};
pub use scope::MemoryScope;

use crate::{
    Added, Document, DocumentStore, DocumentStoreError, IndexedDocument, Knowledge, KnowledgeError,
    SearchFilter,
};
use fact::{MAX_SUBJECT, MAX_TEXT, metadata_of};
use hook::MemoryHook;

/// The most facts of a scope.
const MAX_FACTS: usize = 1_000;

/// How often a fact is remembered again because another writer changed the same one meanwhile.
const MAX_CONFLICTS: usize = 100;

/// Facts that agents remember across runs: the tools `remember`, `recall` and `forget`.
///
/// Each fact belongs to a user, a session or an agent. A fact that is known already is not stored
/// twice. A fact about the same subject replaces the earlier one, which stays in its history.
///
/// The user is the metadata `user` of the [prompt](tool_core::agent::Prompt::metadata), which
/// the program sets. A model can't reach the facts of another user, session or agent.
///
/// ```
/// use tool_runtime::knowledge::memory::{Fact, Memory, MemoryScope};
/// use tool_runtime::knowledge::{Added, SqliteDocuments};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
/// let ada = MemoryScope::user("ada");
/// memory.remember(&ada, Fact::new("Lives in Oslo.").about("home city")).await?;
/// let moved = Fact::new("Lives in Lima.").about("home city");
/// assert_eq!(memory.remember(&ada, moved).await?, Added::Replaced);
///
/// let facts = memory.facts(&ada).await?;
/// assert_eq!(facts[0].text, "Lives in Lima.");
/// assert_eq!(facts[0].history[0].text, "Lives in Oslo.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    knowledge: Knowledge,
}

impl Memory {
    /// Creates a memory in a document store, which may also contain other documents.
    ///
    /// ```
    /// use tool_runtime::knowledge::SqliteDocuments;
    /// use tool_runtime::knowledge::memory::Memory;
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// # drop(memory);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(store: impl DocumentStore + 'static) -> Self {
        Self { knowledge: Knowledge::new(store) }
    }

    /// Finds facts by meaning as well, with the vectors of this embedder.
    #[must_use]
    pub fn embedder(self, embedder: impl Embedder + 'static) -> Self {
        Self { knowledge: self.knowledge.embedder(embedder) }
    }

    /// Remembers a fact, unless it is known already.
    ///
    /// # Errors
    /// - [`MemoryError::Length`] if the fact is empty or has more than 1,000 bytes.
    /// - [`MemoryError::SubjectLength`] if its subject has more than 200 bytes.
    /// - [`MemoryError::Full`] if the scope has 1,000 facts.
    /// - [`MemoryError::Corrupt`] if the fact that it would replace can't be decoded.
    /// - [`MemoryError::Knowledge`] if the store or the embedder fails.
    ///
    /// ```
    /// use tool_runtime::knowledge::memory::{Fact, Memory, MemoryScope};
    /// use tool_runtime::knowledge::{Added, SqliteDocuments};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// let ada = MemoryScope::user("ada");
    /// assert_eq!(memory.remember(&ada, Fact::new("Likes tea.")).await?, Added::New);
    /// assert_eq!(memory.remember(&ada, Fact::new("likes tea")).await?, Added::Unchanged);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remember(&self, scope: &MemoryScope, fact: Fact) -> Result<Added, MemoryError> {
        if fact.text.trim().is_empty() || fact.text.len() > MAX_TEXT {
            return Err(MemoryError::Length { bytes: fact.text.len(), max_bytes: MAX_TEXT });
        }
        let subject_bytes = fact.about.as_ref().map_or(0, String::len);
        if subject_bytes > MAX_SUBJECT {
            let (bytes, max_bytes) = (subject_bytes, MAX_SUBJECT);
            return Err(MemoryError::SubjectLength { bytes, max_bytes });
        }
        let (tenant, id) = (scope.tenant(), fact.id());
        let store = self.knowledge.store();
        // Divided and embedded once, however often another writer comes between.
        let mut indexed = None;
        let mut conflicts = 0;
        loop {
            let stored = store.find(&tenant, &[&id]).await.map_err(store_error)?.remove(&id);
            let earlier = stored.as_ref().map(StoredFact::of_record).transpose()?;
            if earlier.as_ref().is_some_and(|earlier| earlier.has_words_of(&fact.text)) {
                return Ok(Added::Unchanged);
            }
            let (remembered, history) = match earlier {
                Some(earlier) => (Added::Replaced, earlier.into_history()),
                None => (Added::New, Vec::new()),
            };
            let mut document = match indexed.take() {
                Some(document) => document,
                None => self.indexed(&tenant, &id, &fact).await?,
            };
            document.record.metadata = metadata_of(&fact, SystemTime::now(), &history);
            match store.put_if(document.clone(), stored.as_ref(), MAX_FACTS).await {
                Ok(()) => return Ok(remembered),
                Err(DocumentStoreError::Conflict { .. }) if conflicts < MAX_CONFLICTS => {
                    conflicts += 1;
                    indexed = Some(document);
                }
                Err(DocumentStoreError::TenantFull { max_documents }) => {
                    return Err(MemoryError::Full { max_facts: max_documents });
                }
                Err(error) => return Err(store_error(error)),
            }
        }
    }

    /// Divides and embeds the text of a fact.
    async fn indexed(
        &self,
        tenant: &str,
        id: &str,
        fact: &Fact,
    ) -> Result<IndexedDocument, MemoryError> {
        let document = Document::text(id, fact.with_subject()).tenant(tenant);
        self.knowledge.indexed(document).await.map_err(memory_error)
    }

    /// Returns the facts of several scopes that match a query best, best first.
    ///
    /// # Errors
    /// - [`MemoryError::Corrupt`] if one of these facts can't be decoded.
    /// - [`MemoryError::Knowledge`] if the store or the embedder fails.
    ///
    /// ```
    /// use tool_runtime::knowledge::SqliteDocuments;
    /// use tool_runtime::knowledge::memory::{Fact, Memory, MemoryScope};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// let ada = MemoryScope::user("ada");
    /// memory.remember(&ada, Fact::new("Likes green tea.")).await?;
    /// assert_eq!(memory.recall(&[ada], "Which tea?", 5).await?.len(), 1);
    /// assert!(memory.recall(&[MemoryScope::user("bob")], "Which tea?", 5).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn recall(
        &self,
        scopes: &[MemoryScope],
        query: &str,
        limit: usize,
    ) -> Result<Vec<StoredFact>, MemoryError> {
        let found = self.recall_each(scopes, query, limit).await?;
        let corrupt = |damaged: DamagedFact| MemoryError::Corrupt { id: damaged.id };
        found.into_iter().map(|found| found.fact.map_err(corrupt)).collect()
    }

    /// Returns the facts that match a query best, also those that can't be decoded.
    async fn recall_each(
        &self,
        scopes: &[MemoryScope],
        query: &str,
        limit: usize,
    ) -> Result<Vec<FoundFact>, MemoryError> {
        let mut found = Vec::new();
        for scope in scopes {
            let filter = SearchFilter::tenant(scope.tenant());
            let owner = scope.owner();
            let passages =
                match self.knowledge.search(query, &filter, limit).await.map_err(memory_error) {
                    Ok(passages) => passages,
                    // First, because the others of the scope can't be found.
                    Err(MemoryError::Corrupt { id }) => {
                        let fact = Err(DamagedFact { id, text: None });
                        found.push((f32::INFINITY, FoundFact { owner, fact }));
                        continue;
                    }
                    Err(error) => return Err(error),
                };
            for passage in passages {
                let fact = StoredFact::new(&passage.source, &passage.metadata);
                let damaged = |_| DamagedFact { id: passage.source, text: Some(passage.text) };
                let fact = fact.map_err(damaged);
                found.push((passage.score, FoundFact { owner, fact }));
            }
        }
        // The best of each scope come first, in the order of the scopes.
        found.sort_by(|(score, _), (other, _)| other.total_cmp(score));
        found.truncate(limit);
        Ok(found.into_iter().map(|(_, fact)| fact).collect())
    }

    /// Returns all facts of a scope, the newest first.
    ///
    /// # Errors
    /// - [`MemoryError::Corrupt`] if a fact of the scope can't be decoded.
    /// - [`MemoryError::Knowledge`] if the store fails.
    ///
    /// ```
    /// use tool_runtime::knowledge::SqliteDocuments;
    /// use tool_runtime::knowledge::memory::{Memory, MemoryScope};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// assert!(memory.facts(&MemoryScope::user("ada")).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn facts(&self, scope: &MemoryScope) -> Result<Vec<StoredFact>, MemoryError> {
        let (facts, corrupt) = self.readable_facts(scope).await?;
        match corrupt.into_iter().next() {
            None => Ok(facts),
            Some(id) => Err(MemoryError::Corrupt { id }),
        }
    }

    /// Returns the facts of a scope, the newest first, and the ids of those that can't be decoded.
    async fn readable_facts(
        &self,
        scope: &MemoryScope,
    ) -> Result<(Vec<StoredFact>, Vec<String>), MemoryError> {
        let records = self.knowledge.store().list(&scope.tenant(), "", None, MAX_FACTS).await;
        let (mut facts, mut corrupt) = (Vec::new(), Vec::new());
        for record in records.map_err(store_error)? {
            match StoredFact::of_record(&record) {
                Ok(fact) => facts.push(fact),
                Err(_) => corrupt.push(record.source),
            }
        }
        facts.sort_by(|fact, other| {
            other.saved_at.cmp(&fact.saved_at).then_with(|| fact.id.cmp(&other.id))
        });
        Ok((facts, corrupt))
    }

    /// Forgets a fact with its history, and returns whether it was stored.
    ///
    /// # Errors
    /// [`MemoryError::Knowledge`] if the store fails.
    ///
    /// ```
    /// use tool_runtime::knowledge::SqliteDocuments;
    /// use tool_runtime::knowledge::memory::{Fact, Memory, MemoryScope};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// let ada = MemoryScope::user("ada");
    /// memory.remember(&ada, Fact::new("Likes tea.")).await?;
    /// let id = memory.facts(&ada).await?.remove(0).id;
    /// assert!(memory.forget(&ada, &id).await?);
    /// assert!(!memory.forget(&ada, &id).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn forget(&self, scope: &MemoryScope, id: &str) -> Result<bool, MemoryError> {
        let removed = self.knowledge.remove(&scope.tenant(), &[id]).await;
        Ok(removed.map_err(memory_error)? > 0)
    }

    /// Creates a hook that offers the newest facts to the model at the start of each run, in a
    /// message of at most `max_bytes`. The notice and the tags that mark the facts as untrusted
    /// take about 220 of them.
    ///
    /// Each request of a run contains, after its system messages, the facts that were stored when
    /// the run began, so that model providers can cache the prefix of the prompt. The facts are
    /// sent as untrusted text, and are not part of the transcript. If facts can't be read, the run
    /// continues with the others, and a [warning](tool_core::event::ModelEvent::HookWarning) is
    /// emitted.
    ///
    /// ```
    /// use tool_runtime::agent::Prompt;
    /// use tool_runtime::knowledge::SqliteDocuments;
    /// use tool_runtime::knowledge::memory::{Fact, Memory, MemoryScope};
    /// use tool_runtime::store::Sqlite;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// memory.remember(&MemoryScope::user("ada"), Fact::new("Likes tea.")).await?;
    ///
    /// // The model receives the fact before the question.
    /// let model = ScriptedModel::new([ChatReply::text("You like tea.")]);
    /// let agent = Agent::new(model, tools![..memory.clone()]).model_hook(memory.hook(2_000));
    /// agent.run(Prompt::from("What do I like?").metadata("user", "ada")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn hook(&self, max_bytes: usize) -> impl ModelHook + fmt::Debug + use<> {
        MemoryHook::new(self.clone(), max_bytes)
    }
}

/// A fact that a search found.
struct FoundFact {
    /// The kind of its scope.
    owner: &'static str,
    fact: Result<StoredFact, DamagedFact>,
}

/// A fact that can't be decoded, as a search finds it.
struct DamagedFact {
    id: String,
    /// The subject and the fact, which are searched; `None` if the store can't read the record, and
    /// so finds no other fact of the scope.
    text: Option<String>,
}

/// Converts an error of a search or a change.
fn memory_error(error: KnowledgeError) -> MemoryError {
    match error {
        KnowledgeError::Store(DocumentStoreError::Corrupt { source_name }) => {
            MemoryError::Corrupt { id: source_name }
        }
        error => MemoryError::Knowledge(error),
    }
}

/// Converts an error of the store.
fn store_error(error: DocumentStoreError) -> MemoryError {
    memory_error(error.into())
}

/// Returns a time as the metadata have it: seconds since 1970.
fn seconds(time: SystemTime) -> Value {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64().into()
}
