//! `Knowledge` with the store in SQLite, by words and by words and vectors.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use tool_runtime::ModelError;
use tool_runtime::models::{EmbedRequest, Embedder, Embeddings};
use tool_runtime::store::Sqlite;
use tool_runtime::knowledge::{Document, Fusion, Knowledge, SearchFilter, SqliteDocuments};

use crate::corpus::{Corpus, DIMENSIONS};
use crate::{RESULTS, report_ingest, report_searches};

/// Returns generated vectors.
struct Generated(Corpus);

#[async_trait]
impl Embedder for Generated {
    async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        Ok(Embeddings::new(request.texts.iter().map(|text| self.0.vector(text)).collect()))
    }

    fn id(&self) -> String {
        "generated".into()
    }

    fn dimensions(&self) -> Option<usize> {
        Some(DIMENSIONS)
    }
}

pub(crate) fn run(corpus: &Corpus, folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let embedder = Arc::new(Generated(Corpus::new(corpus.count)));
    let knowledge = runtime.block_on(async {
        let store = Sqlite::open(folder.join("knowledge.db")).await.expect("a store");
        let documents = SqliteDocuments::open(&store).await.expect("tables");
        Knowledge::new(documents).embedder(embedder)
    });
    let start = Instant::now();
    let documents = (0..corpus.count)
        .map(|number| Document::text(format!("document {number}"), corpus.text(number)));
    runtime.block_on(knowledge.add_all(documents)).expect("documents");
    report_ingest("Knowledge", corpus, start, folder);
    for (kind, fusion) in
        [("  by words", Fusion::default().vectors(0.0)), ("  by both", Fusion::default())]
    {
        let knowledge = knowledge.clone().fusion(fusion);
        report_searches(kind, corpus, |query| {
            let filter = SearchFilter::default();
            let found = runtime.block_on(knowledge.search(query, &filter, RESULTS));
            found.expect("passages").len()
        });
    }
}
