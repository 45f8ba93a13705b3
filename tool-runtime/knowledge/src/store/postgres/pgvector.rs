//! Indexes of the extension `pgvector`: one for the vectors of each tenant and embedder.
//!
//! The index is over the column that all programs write, with the type of the extension as an
//! expression. So the server keeps it current, also if a program of an earlier version writes.

use tool_store::PostgresError;
use tool_store::deadpool_postgres::ClientWrapper;
use tool_store::tokio_postgres::Row;

use super::rows::dimensions_column;
use crate::store::incoming::invalid_component;

/// The most dimensions of an index.
const MAX_DIMENSIONS: i32 = 4_000;

/// Vectors that are compared with each other.
pub(super) struct Space {
    pub(super) id: i64,
    pub(super) dimensions: i32,
    /// The schema of the extension, quoted.
    extension: Option<String>,
    pub(super) index_state: IndexState,
}

/// Whether a space has an index.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum IndexState {
    Missing,
    /// The index is being built, or was not finished.
    Unusable,
    Usable,
}

/// The index of a space, in the words of SQL.
pub(super) struct VectorIndex {
    pub(super) space: i64,
    /// The schema of the extension, quoted.
    schema: String,
    dimensions: i32,
}

const SPACES: &str = "
    SELECT space.id, space.dimensions,
        (SELECT quote_ident(home.nspname) FROM pg_extension AS extension
            JOIN pg_namespace AS home ON home.oid = extension.extnamespace
            WHERE extension.extname = 'vector'
            -- Earlier versions end a search with few results if most do not pass a filter.
            AND (regexp_match(extension.extversion, '^([0-9]+)[.]([0-9]+)'))::int[] >= ARRAY[0, 8]),
        (SELECT index.indisvalid FROM pg_index AS index
            WHERE index.indexrelid = to_regclass('tool_knowledge_vectors_' || space.id))
    FROM tool_knowledge_tenants AS tenant
    JOIN tool_knowledge_spaces AS space ON space.tenant = tenant.id
    WHERE tenant.name = $1 AND space.embedder = $2 AND ($3::int IS NULL OR space.dimensions = $3)
    ORDER BY space.id
";

/// Returns the spaces of a tenant and an embedder: those of as many dimensions, or all.
pub(super) async fn spaces(
    client: &ClientWrapper,
    tenant: &str,
    embedder: &str,
    dimensions: Option<usize>,
) -> Result<Vec<Space>, PostgresError> {
    let select = client.prepare_cached(SPACES).await?;
    let dimensions = dimensions.map(dimensions_column);
    let rows =
        client.query(&select, &[&tenant.as_bytes(), &embedder.as_bytes(), &dimensions]).await?;
    rows.iter().map(Space::from_row).collect()
}

impl Space {
    fn from_row(row: &Row) -> Result<Self, PostgresError> {
        let index_state = match row.try_get(3)? {
            None => IndexState::Missing,
            Some(false) => IndexState::Unusable,
            Some(true) => IndexState::Usable,
        };
        let (id, dimensions) = (row.try_get(0)?, row.try_get(1)?);
        Ok(Self { id, dimensions, extension: row.try_get(2)?, index_state })
    }

    /// Returns the index that the space can have: the server has the extension, and the extension
    /// has indexes for as many dimensions.
    pub(super) fn possible_index(&self) -> Option<VectorIndex> {
        let has_index = (1..=MAX_DIMENSIONS).contains(&self.dimensions);
        let schema = self.extension.clone().filter(|_| has_index)?;
        Some(VectorIndex { space: self.id, schema, dimensions: self.dimensions })
    }

    /// Returns the index that can find the vectors closest to this one.
    pub(super) fn index_for(&self, vector: &[f32]) -> Option<VectorIndex> {
        let is_indexable = invalid_component(vector).is_none();
        let is_usable = self.index_state == IndexState::Usable && is_indexable;
        self.possible_index().filter(|_| is_usable)
    }
}

impl VectorIndex {
    pub(super) fn name(&self) -> String {
        format!("tool_knowledge_vectors_{}", self.space)
    }

    /// The type of the indexed expression. Half precision takes half the memory, and orders the
    /// candidates well enough: they are compared as a whole afterwards.
    pub(super) fn vector_type(&self) -> String {
        format!("{}.halfvec({})", self.schema, self.dimensions)
    }

    /// The indexed expression.
    pub(super) fn expression(&self) -> String {
        format!("vector::{}", self.vector_type())
    }

    /// The operator of the negative dot product.
    pub(super) fn operator(&self) -> String {
        format!("OPERATOR({}.<#>)", self.schema)
    }

    /// The statement that creates the index while others write.
    pub(super) fn creation(&self) -> String {
        let Self { space, schema, .. } = self;
        let (name, expression) = (self.name(), self.expression());
        format!(
            "CREATE INDEX CONCURRENTLY {name} ON tool_knowledge_vectors \
             USING hnsw (({expression}) {schema}.halfvec_ip_ops) WHERE space = {space}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{IndexState, Space};

    #[test]
    fn index_is_used_only_if_the_server_and_the_vector_allow_it() {
        let space = |extension: Option<&str>, dimensions, index_state| Space {
            id: 7,
            dimensions,
            extension: extension.map(str::to_owned),
            index_state,
        };
        let vector = [1.0, 0.0];
        for (space, vector, expected) in [
            (space(Some("public"), 2, IndexState::Usable), vector, true),
            (space(Some("public"), 2, IndexState::Unusable), vector, false),
            (space(Some("public"), 2, IndexState::Missing), vector, false),
            (space(Some("public"), 4_001, IndexState::Usable), vector, false),
            (space(None, 2, IndexState::Usable), vector, false),
            (space(Some("public"), 2, IndexState::Usable), [1e6, 0.0], false),
        ] {
            assert_eq!(space.index_for(&vector).is_some(), expected, "{}", space.dimensions);
        }
        let index = space(Some("\"my schema\""), 2, IndexState::Missing).possible_index().unwrap();
        assert_eq!(
            index.creation(),
            "CREATE INDEX CONCURRENTLY tool_knowledge_vectors_7 ON tool_knowledge_vectors USING \
             hnsw ((vector::\"my schema\".halfvec(2)) \"my schema\".halfvec_ip_ops) WHERE space = 7"
        );
    }
}
