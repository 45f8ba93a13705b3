//! Tables of documents.

/// Migrations from each version to the next. Append to them; never change one.
///
/// Texts are bytes: those of PostgreSQL can't contain the character NUL, and their order is that of
/// a language.
pub(super) const MIGRATIONS: &[&str] = &["
    CREATE TABLE tool_knowledge_tenants (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name BYTEA NOT NULL UNIQUE,
        -- The numbers of its chunks, and of the stems in them.
        chunks BIGINT NOT NULL DEFAULT 0,
        stems BIGINT NOT NULL DEFAULT 0
    );
    CREATE TABLE tool_knowledge_documents (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant BIGINT NOT NULL REFERENCES tool_knowledge_tenants (id),
        source BYTEA NOT NULL,
        digest BYTEA NOT NULL,
        embedder BYTEA NOT NULL,
        -- JSON.
        metadata BYTEA NOT NULL,
        -- A digest of each name and value of the metadata.
        members TEXT[] NOT NULL,
        UNIQUE (tenant, source)
    );
    CREATE INDEX tool_knowledge_documents_by_member ON tool_knowledge_documents
        USING gin (members);
    CREATE SEQUENCE tool_knowledge_chunk_ids;
    CREATE TABLE tool_knowledge_chunks (
        id BIGINT PRIMARY KEY,
        document BIGINT NOT NULL REFERENCES tool_knowledge_documents (id),
        heading BYTEA NOT NULL,
        start BIGINT NOT NULL,
        text BYTEA NOT NULL,
        digest BYTEA NOT NULL,
        -- The number of stems.
        length INTEGER NOT NULL
    );
    CREATE INDEX tool_knowledge_chunks_of_document ON tool_knowledge_chunks (document);
    CREATE INDEX tool_knowledge_chunks_by_digest ON tool_knowledge_chunks (digest);
    -- How often a chunk has a stem.
    CREATE TABLE tool_knowledge_postings (
        tenant BIGINT NOT NULL,
        stem BYTEA NOT NULL,
        chunk BIGINT NOT NULL,
        count INTEGER NOT NULL,
        length INTEGER NOT NULL,
        PRIMARY KEY (tenant, stem, chunk) INCLUDE (count, length)
    );
    CREATE INDEX tool_knowledge_postings_of_chunk ON tool_knowledge_postings (chunk);
    -- How many chunks of a tenant have a stem.
    CREATE TABLE tool_knowledge_stems (
        tenant BIGINT NOT NULL,
        stem BYTEA NOT NULL,
        chunks BIGINT NOT NULL,
        PRIMARY KEY (tenant, stem)
    );
    -- Vectors that are compared with each other.
    CREATE TABLE tool_knowledge_spaces (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant BIGINT NOT NULL REFERENCES tool_knowledge_tenants (id),
        embedder BYTEA NOT NULL,
        dimensions INTEGER NOT NULL,
        UNIQUE (tenant, embedder, dimensions)
    );
    -- Apart from the vectors, so that a search reads few pages.
    CREATE TABLE tool_knowledge_codes (
        chunk BIGINT PRIMARY KEY,
        space BIGINT NOT NULL,
        code BIT VARYING NOT NULL
    );
    CREATE INDEX tool_knowledge_codes_of_space ON tool_knowledge_codes (space);
    CREATE TABLE tool_knowledge_vectors (
        chunk BIGINT PRIMARY KEY,
        -- NULL if the vector has components that are infinite or NaN: no search finds it.
        space BIGINT,
        vector REAL[] NOT NULL
    );
    -- They can't be compressed.
    ALTER TABLE tool_knowledge_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;
"];
