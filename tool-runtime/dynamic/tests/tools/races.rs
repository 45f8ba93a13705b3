//! Changes by other calls and processes at the same time.

use std::sync::atomic::{AtomicU32, Ordering};

use tool_dynamic::{Catalog, EntryId, ToolSpec};
use tool_runtime::records::MemoryRecords;

use super::fixture::{Fixture, allowed, spec};
use super::intercepted::{Intercepted, Operation};

#[tokio::test]
async fn model_reads_that_another_call_made_or_removed_the_tool() {
    let content: ToolSpec = serde_json::from_value(spec("one", "return 1;")).unwrap();
    for is_removed in [false, true] {
        let store = MemoryRecords::new();
        let other = Catalog::new(store.clone());
        if is_removed {
            other.create("one", content.clone()).await.unwrap();
        }
        // The other call comes after the call has looked whether there is a tool.
        let (changes, content) = (AtomicU32::new(0), content.clone());
        let late = Intercepted::new(store, move |operation, collection| {
            let is_load = (operation, collection) == (Operation::Load, "catalog");
            let is_save = (operation, collection) == (Operation::Save, "catalog");
            let loads = changes.fetch_add(u32::from(is_load), Ordering::Relaxed);
            let is_due = if is_removed { is_load && loads == 1 } else { is_save };
            let (other, content) = (other.clone(), content.clone());
            async move {
                if is_due && is_removed {
                    other.remove(&EntryId::tool("one")).await.unwrap();
                } else if is_due {
                    other.create("one", content).await.unwrap();
                }
                Ok(())
            }
        });
        let execution = Fixture::on(late, allowed()).await.make("one", "return 2;").await;
        assert!(execution.failed_with("TOOL_EXECUTION_FAILED"));
        let text = execution.result.text;
        assert!(text.contains("by another call at the same time"), "{text}");
    }
}
