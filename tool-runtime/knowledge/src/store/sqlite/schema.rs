//! Tables of documents.

/// Migrations from each version to the next. Never change an existing one.
pub(super) const MIGRATIONS: &[&str] = &["
    CREATE TABLE knowledge_documents (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        source TEXT NOT NULL,
        digest BLOB NOT NULL,
        embedder TEXT NOT NULL,
        metadata TEXT NOT NULL,
        UNIQUE (tenant, source)
    ) STRICT;
    CREATE TABLE knowledge_chunks (
        -- Never used again, because a search may still hold it.
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document INTEGER NOT NULL REFERENCES knowledge_documents (id),
        heading TEXT NOT NULL,
        start INTEGER NOT NULL,
        text TEXT NOT NULL,
        digest BLOB NOT NULL
    ) STRICT;
    CREATE INDEX knowledge_chunks_of_document ON knowledge_chunks (document);
    CREATE INDEX knowledge_chunks_by_digest ON knowledge_chunks (digest);
    -- Stems of the headings and the text, and one word for the tenant.
    CREATE VIRTUAL TABLE knowledge_words USING fts5 (
        stems, tenant, content = '', contentless_delete = 1,
        tokenize = 'unicode61 remove_diacritics 2'
    );
    CREATE VIRTUAL TABLE knowledge_terms USING fts5vocab (knowledge_words, row);
    CREATE TABLE knowledge_vectors (
        chunk INTEGER PRIMARY KEY,
        block INTEGER NOT NULL,
        slot INTEGER NOT NULL,
        -- 32-bit floats, least significant byte first.
        vector BLOB NOT NULL
    ) STRICT;
    -- Codes of vectors that are compared with each other.
    CREATE TABLE knowledge_blocks (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        embedder TEXT NOT NULL,
        dimensions INTEGER NOT NULL,
        -- Slots that were used, and those that still are.
        used INTEGER NOT NULL,
        live INTEGER NOT NULL,
        -- The chunk of each slot, in 8 bytes; 0 if it was removed.
        chunks BLOB NOT NULL,
        codes BLOB NOT NULL
    ) STRICT;
    CREATE INDEX knowledge_blocks_of ON knowledge_blocks (tenant, embedder, dimensions, id);
"];
