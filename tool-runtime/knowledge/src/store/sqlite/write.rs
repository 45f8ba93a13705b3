//! Changes of the tables.

use tool_store::rusqlite::{self, OptionalExtension, Statement, Transaction};

use super::blocks::{self, Space, Vector};
use super::number;
use super::read::{Found, find};
use super::small_tenant::tenant_word;
use crate::store::{DocumentRecord, DocumentStoreError, IndexedChunk, IndexedDocument};
use crate::words::stems;

/// Statements that a batch of documents runs again and again.
struct Inserts<'t> {
    transaction: &'t Transaction<'t>,
    document: Statement<'t>,
    chunk: Statement<'t>,
    words: Statement<'t>,
}

impl<'t> Inserts<'t> {
    fn new(transaction: &'t Transaction<'t>) -> rusqlite::Result<Self> {
        let document = "INSERT INTO knowledge_documents \
                        (tenant, source, digest, embedder, metadata) VALUES (?1, ?2, ?3, ?4, ?5)";
        let chunk = "INSERT INTO knowledge_chunks (document, heading, start, text, digest) \
                     VALUES (?1, ?2, ?3, ?4, ?5)";
        let words = "INSERT INTO knowledge_words (rowid, stems, tenant) VALUES (?1, ?2, ?3)";
        let [document, chunk, words] =
            [document, chunk, words].map(|text| transaction.prepare(text));
        Ok(Self { transaction, document: document?, chunk: chunk?, words: words? })
    }

    fn document(&mut self, record: &DocumentRecord) -> rusqlite::Result<i64> {
        let DocumentRecord { tenant, source, digest, embedder, metadata } = record;
        let metadata = serde_json::Value::Object(metadata.clone()).to_string();
        self.document.execute((tenant, source, digest.as_slice(), embedder, metadata))?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn chunk(
        &mut self,
        document: i64,
        tenant: &str,
        chunk: &IndexedChunk,
    ) -> rusqlite::Result<i64> {
        let (start, digest) = (number(chunk.start), chunk.digest.as_slice());
        self.chunk.execute((document, &chunk.heading, start, &chunk.text, digest))?;
        let id = self.transaction.last_insert_rowid();
        let stems = stems(&format!("{}\n{}", chunk.heading, chunk.text));
        self.words.execute((id, stems, tenant))?;
        Ok(id)
    }
}

/// Puts documents, of which no two have the same tenant and source.
pub(super) fn put(
    transaction: &Transaction<'_>,
    documents: &[IndexedDocument],
) -> rusqlite::Result<()> {
    // The vectors of all documents of one space are added at once.
    let mut added: Vec<(Space<'_>, Vec<Vector<'_>>)> = Vec::new();
    let mut inserts = Inserts::new(transaction)?;
    for document in documents {
        let record = &document.record;
        remove_one(transaction, &record.tenant, &record.source)?;
        let id = inserts.document(record)?;
        let tenant = tenant_word(&record.tenant);
        for chunk in &document.chunks {
            let chunk_id = inserts.chunk(id, &tenant, chunk)?;
            let Some(vector) = &chunk.vector else { continue };
            let space = Space {
                tenant: &record.tenant,
                embedder: &record.embedder,
                dimensions: vector.len(),
            };
            match added.iter_mut().find(|(known, _)| *known == space) {
                Some((_, vectors)) => vectors.push((chunk_id, vector)),
                None => added.push((space, vec![(chunk_id, vector)])),
            }
        }
    }
    added.into_iter().try_for_each(|(space, vectors)| blocks::append(transaction, space, &vectors))
}

/// Puts a document if the stored record is the expected one, and if the tenant has room for it.
pub(super) fn put_if(
    transaction: &Transaction<'_>,
    document: &IndexedDocument,
    expected: Option<&DocumentRecord>,
    max_documents: usize,
) -> Found<()> {
    let DocumentRecord { tenant, source, .. } = &document.record;
    let stored = match find(transaction, tenant, std::slice::from_ref(source))? {
        Ok(mut found) => found.remove(source),
        Err(error) => return Ok(Err(error)),
    };
    if stored.as_ref() != expected {
        return Ok(Err(DocumentStoreError::Conflict { source_name: source.clone() }));
    }
    if stored.is_none() {
        let select = "SELECT count(*) FROM \
                      (SELECT 1 FROM knowledge_documents WHERE tenant = ?1 LIMIT ?2)";
        let limit = number(max_documents);
        let count: i64 = transaction.query_row(select, (tenant, limit), |row| row.get(0))?;
        if count >= limit {
            return Ok(Err(DocumentStoreError::TenantFull { max_documents }));
        }
    }
    put(transaction, std::slice::from_ref(document)).map(Ok)
}

pub(super) fn remove(
    transaction: &Transaction<'_>,
    tenant: &str,
    sources: &[String],
) -> rusqlite::Result<usize> {
    let mut count = 0;
    for source in sources {
        count += usize::from(remove_one(transaction, tenant, source)?);
    }
    Ok(count)
}

fn remove_one(transaction: &Transaction<'_>, tenant: &str, source: &str) -> rusqlite::Result<bool> {
    let select = "SELECT id FROM knowledge_documents WHERE tenant = ?1 AND source = ?2";
    let id =
        transaction.prepare(select)?.query_row((tenant, source), |row| row.get(0)).optional()?;
    let Some(id) = id else { return Ok(false) };
    blocks::remove(transaction, id)?;
    for delete in [
        "DELETE FROM knowledge_words \
         WHERE rowid IN (SELECT id FROM knowledge_chunks WHERE document = ?1)",
        "DELETE FROM knowledge_chunks WHERE document = ?1",
        "DELETE FROM knowledge_documents WHERE id = ?1",
    ] {
        transaction.prepare(delete)?.execute([id])?;
    }
    Ok(true)
}
