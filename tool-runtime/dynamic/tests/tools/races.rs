//! Changes by other calls and processes at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tool_dynamic::catalog::{CatalogRecord, CatalogRecords, CatalogStore, MemoryCatalog};
use tool_dynamic::{Catalog, CatalogError, EntryId, ToolSpec};
use tool_runtime::async_trait;

use super::fixture::{Fixture, allowed, spec};

/// A store that answers one read as if it was made before the last change.
#[derive(Debug)]
struct Late {
    store: Arc<MemoryCatalog>,
    earlier: Option<CatalogRecord>,
    is_late: AtomicBool,
}

#[async_trait]
impl CatalogStore for Late {
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError> {
        if self.is_late.swap(false, Ordering::Relaxed) {
            return Ok(self.earlier.clone());
        }
        self.store.load(kind, name).await
    }

    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError> {
        self.store.save(record).await
    }

    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError> {
        self.store.delete(kind, name, revision).await
    }

    async fn list(&self) -> Result<CatalogRecords, CatalogError> {
        self.store.list().await
    }

    async fn count(&self) -> Result<usize, CatalogError> {
        self.store.count().await
    }

    async fn revision(&self) -> Result<u64, CatalogError> {
        self.store.revision().await
    }
}

#[tokio::test]
async fn model_reads_that_another_call_made_or_removed_the_tool() {
    let content: ToolSpec = serde_json::from_value(spec("one", "return 1;")).unwrap();
    for is_removed in [false, true] {
        let store = Arc::new(MemoryCatalog::new());
        let other = Catalog::new(Arc::clone(&store));
        other.create("one", content.clone()).await.unwrap();
        let mut earlier = None;
        if is_removed {
            earlier = store.load("tool", "one").await.unwrap();
            other.remove(&EntryId::tool("one")).await.unwrap();
        }
        let late = Late { store, earlier, is_late: AtomicBool::new(true) };
        let execution = Fixture::on(late, allowed()).await.make("one", "return 2;").await;
        assert!(execution.failed_with("TOOL_EXECUTION_FAILED"));
        let text = execution.result.text;
        assert!(text.contains("by another call at the same time"), "{text}");
    }
}
