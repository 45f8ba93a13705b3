//! The memo of pure tools: the same arguments give the same output, so the tool runs only once.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::OnceCell;

use super::call_record::CallResult;
use crate::registry::Entry;
use crate::tool::{Tool, ToolOutput};

/// The maximum number of outputs in a memo; beyond it the oldest is evicted.
const MAX_ENTRIES: usize = 1_000;

/// The maximum size of all arguments and outputs in a memo together.
const MAX_BYTES: usize = 32 << 20;

/// The full name of a tool, and its arguments with sorted members.
type Key = Arc<(String, String)>;

/// The outputs of the pure tools of one dispatcher, or of one run of an agent. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Memo(Arc<Mutex<MemoEntries>>);

#[derive(Default)]
struct MemoEntries {
    outputs: HashMap<Key, Cell>,
    /// The keys of the outputs, oldest first.
    order: VecDeque<Key>,
    bytes: usize,
}

/// The output of one call.
struct Cell {
    /// The tool that produced it: another one may have the name by now.
    tool: Weak<dyn Tool>,
    output: Arc<OnceCell<ToolOutput>>,
    /// The size of the arguments, and of the output once it is there.
    bytes: usize,
}

impl Memo {
    /// Returns the memoized output of a tool for these arguments, or else runs `run`; and whether
    /// the output was memoized. `arguments` are JSON with sorted members.
    ///
    /// Concurrent calls with the same arguments wait for the first. Errors are not memoized: the
    /// next call runs again.
    ///
    /// A call that may not wait runs beside the first. That is so for nested calls: the first may
    /// be waiting for the tool that makes the nested call, or be that tool.
    pub(super) async fn get_or_run<F>(
        &self,
        entry: &Entry,
        arguments: String,
        may_wait: bool,
        run: F,
    ) -> (CallResult, bool)
    where
        F: Future<Output = CallResult>,
    {
        let key = Arc::new((entry.full_name().to_owned(), arguments));
        let cell = self.cell(entry, &key);
        if !may_wait {
            if let Some(output) = cell.get() {
                return (Ok(output.clone()), true);
            }
            let result = run.await;
            // Fails if the first call is still running; that one sets the same output.
            if let Ok(output) = &result
                && cell.set(output.clone()).is_ok()
            {
                self.add_output(&key, &cell, size_of(output));
            }
            return (result, false);
        }
        let mut has_run = false;
        let result = cell
            .get_or_try_init(|| {
                has_run = true;
                run
            })
            .await
            .cloned();
        if has_run && let Ok(output) = &result {
            self.add_output(&key, &cell, size_of(output));
        }
        (result, !has_run)
    }

    fn cell(&self, entry: &Entry, key: &Key) -> Arc<OnceCell<ToolOutput>> {
        let tool = Arc::downgrade(entry.tool());
        let mut entries = self.lock();
        if let Some(cell) = entries.outputs.get(key)
            && cell.tool.ptr_eq(&tool)
        {
            return Arc::clone(&cell.output);
        }
        if entries.order.len() >= MAX_ENTRIES {
            entries.evict_oldest();
        }
        let (output, bytes) = (Arc::default(), key.1.len());
        let cell = Cell { tool, output: Arc::clone(&output), bytes };
        match entries.outputs.insert(Arc::clone(key), cell) {
            Some(replaced) => entries.bytes -= replaced.bytes,
            None => entries.order.push_back(Arc::clone(key)),
        }
        entries.add_bytes(bytes);
        output
    }

    /// Counts the size of a new output.
    fn add_output(&self, key: &Key, output: &Arc<OnceCell<ToolOutput>>, bytes: usize) {
        let mut entries = self.lock();
        // The cell may have been evicted meanwhile.
        let is_same = |cell: &&mut Cell| Arc::ptr_eq(&cell.output, output);
        if let Some(cell) = entries.outputs.get_mut(key).filter(is_same) {
            cell.bytes += bytes;
            entries.add_bytes(bytes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, MemoEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoEntries {
    /// Adds to the total size, and evicts the oldest outputs until it is within the limit.
    fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes;
        while self.bytes > MAX_BYTES && self.evict_oldest() {}
    }

    /// Evicts the oldest output. Returns false if there is none.
    fn evict_oldest(&mut self) -> bool {
        let oldest = self.order.pop_front();
        let evicted = oldest.as_ref().and_then(|oldest| self.outputs.remove(oldest));
        self.bytes -= evicted.map_or(0, |cell| cell.bytes);
        oldest.is_some()
    }
}

/// Returns the size of an output in bytes.
fn size_of(output: &ToolOutput) -> usize {
    output.as_text().len() + output.images().iter().map(|it| it.base64.len()).sum::<usize>()
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::json;

    use super::{MAX_BYTES, MAX_ENTRIES, Memo};
    use crate::message::Arguments;
    use crate::registry::{Registry, Snapshot};
    use crate::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};

    struct Unused(ToolDefinition);

    #[async_trait]
    impl Tool for Unused {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            Err("not called".into())
        }
    }

    fn tools() -> Snapshot {
        let registry = Registry::new();
        let definition = ToolDefinition::new("t", "T.", json!({ "type": "object" }));
        registry.register(std::sync::Arc::new(Unused(definition))).unwrap();
        registry.snapshot()
    }

    async fn is_cached(memo: &Memo, tools: &Snapshot, number: usize) -> bool {
        let run = async { Ok(ToolOutput::text(number.to_string())) };
        let entry = tools.entry("t").unwrap();
        let may_wait = number.is_multiple_of(2);
        let (output, is_cached) =
            memo.get_or_run(entry, json!({ "n": number }).to_string(), may_wait, run).await;
        assert_eq!(output.unwrap().as_text(), number.to_string());
        is_cached
    }

    #[tokio::test]
    async fn oldest_output_is_evicted_first() {
        let (memo, tools) = (Memo::default(), tools());
        for number in 0..=MAX_ENTRIES {
            assert!(!is_cached(&memo, &tools, number).await);
        }
        assert!(is_cached(&memo, &tools, MAX_ENTRIES).await && is_cached(&memo, &tools, 1).await);
        assert!(!is_cached(&memo, &tools, 0).await);
    }

    #[tokio::test]
    async fn large_outputs_evict_older_ones() {
        let (memo, tools) = (Memo::default(), tools());
        let entry = tools.entry("t").unwrap();
        let run = async |number: usize, bytes: usize| {
            let output = async { Ok(ToolOutput::text("x".repeat(bytes))) };
            memo.get_or_run(
                entry,
                json!({ "n": number }).to_string(),
                number.is_multiple_of(2),
                output,
            )
            .await
            .1
        };
        // The arguments count as well.
        let half = MAX_BYTES / 2 - json!({ "n": 1 }).to_string().len();
        for (number, bytes, is_cached) in [
            (1, half, false),
            (2, half, false),
            (1, 0, true),
            // The oldest is evicted.
            (3, 1, false),
            (2, 0, true),
            (1, 1, false),
            // This output alone exceeds the limit, so all are evicted.
            (4, MAX_BYTES + 1, false),
            (4, 1, false),
            (4, 0, true),
        ] {
            assert_eq!(run(number, bytes).await, is_cached, "{number}");
        }
        assert_eq!(memo.lock().bytes, MAX_BYTES / 2 - half + 1);
    }

    #[tokio::test]
    async fn large_arguments_of_failed_calls_evict_older_ones() {
        let (memo, tools) = (Memo::default(), tools());
        let entry = tools.entry("t").unwrap();
        for number in 0..40 {
            let arguments = json!({ "n": number, "text": "x".repeat(1 << 20) });
            let fail = async { Err(ToolError::failed("no")) };
            memo.get_or_run(entry, arguments.to_string(), number % 2 == 0, fail)
                .await
                .0
                .unwrap_err();
            assert!(memo.lock().bytes <= MAX_BYTES);
        }
        let entries = memo.lock();
        assert_eq!((entries.outputs.len(), entries.order.len()), (31, 31));
    }

    #[tokio::test]
    async fn errors_are_not_memoized() {
        let (memo, tools) = (Memo::default(), tools());
        for number in [1, 2] {
            let (entry, fail) = (tools.entry("t").unwrap(), async { Err(ToolError::failed("no")) });
            let failed =
                memo.get_or_run(entry, json!({ "n": number }).to_string(), number == 2, fail).await;
            assert!(failed.0.is_err() && !failed.1);
            assert!(!is_cached(&memo, &tools, number).await);
            assert!(is_cached(&memo, &tools, number).await);
        }
    }

    #[tokio::test]
    async fn output_of_another_tool_with_the_name_is_not_used() {
        let (memo, first, second) = (Memo::default(), tools(), tools());
        assert!(!is_cached(&memo, &first, 1).await && is_cached(&memo, &first, 1).await);
        assert!(!is_cached(&memo, &second, 1).await && is_cached(&memo, &second, 1).await);
    }
}
