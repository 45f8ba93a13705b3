//! Filters of searches. Metadata are compared as JSON, so that `1` and `"1"` differ.

use std::collections::HashSet;

use serde_json::{Map, Value};
use tool_store::rusqlite::{self, OptionalExtension, Statement, Transaction};

use crate::store::SearchFilter;

/// The members that the metadata of a document must have.
struct RequiredMembers(Map<String, Value>);

impl RequiredMembers {
    fn new(filter: &SearchFilter) -> Self {
        // Through text, as the stored ones: a number may be another one afterwards.
        let text = Value::Object(filter.metadata.clone()).to_string();
        Self(serde_json::from_str(&text).unwrap_or_else(|_| filter.metadata.clone()))
    }

    fn are_in(&self, metadata: &str) -> bool {
        let metadata: Map<String, Value> = serde_json::from_str(metadata).unwrap_or_default();
        self.0.iter().all(|(name, value)| metadata.get(name) == Some(value))
    }
}

/// Decides whether a chunk passes a filter.
pub(super) struct ChunkFilter<'t> {
    select: Statement<'t>,
    tenant: &'t str,
    required: RequiredMembers,
}

impl<'t> ChunkFilter<'t> {
    pub(super) fn new(
        transaction: &'t Transaction<'_>,
        filter: &'t SearchFilter,
    ) -> rusqlite::Result<Self> {
        let select = "SELECT document.metadata FROM knowledge_chunks AS chunk \
                      JOIN knowledge_documents AS document ON document.id = chunk.document \
                      WHERE chunk.id = ?1 AND document.tenant = ?2";
        let (select, tenant) = (transaction.prepare(select)?, filter.tenant.as_str());
        Ok(Self { select, tenant, required: RequiredMembers::new(filter) })
    }

    pub(super) fn passes(&mut self, chunk: i64) -> rusqlite::Result<bool> {
        let required = &self.required;
        let passes = self
            .select
            .query_row((chunk, self.tenant), |row| Ok(required.are_in(row.get_ref(0)?.as_str()?)));
        Ok(passes.optional()?.unwrap_or_default())
    }
}

/// Returns the chunks that pass a filter, unless it passes all of its tenant.
pub(super) fn passing_chunks(
    transaction: &Transaction<'_>,
    filter: &SearchFilter,
) -> rusqlite::Result<Option<HashSet<i64>>> {
    if filter.metadata.is_empty() {
        return Ok(None);
    }
    let required = RequiredMembers::new(filter);
    let select = "SELECT metadata, id FROM knowledge_documents WHERE tenant = ?1";
    let mut documents = transaction.prepare(select)?;
    let mut chunks = transaction.prepare("SELECT id FROM knowledge_chunks WHERE document = ?1")?;
    let mut passing = HashSet::new();
    let mut rows = documents.query([&filter.tenant])?;
    while let Some(row) = rows.next()? {
        if required.are_in(row.get_ref(0)?.as_str()?) {
            let ids = chunks.query_map([row.get::<_, i64>(1)?], |row| row.get(0))?;
            for id in ids {
                passing.insert(id?);
            }
        }
    }
    Ok(Some(passing))
}
