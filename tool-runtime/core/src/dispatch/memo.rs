//! The memo of pure tools: the same arguments give the same output, so the tool runs only once.
//!
//! Outputs belong to a run and are not shared with others. `entries.rs` holds them and bounds their
//! number and size over all runs.
//!
//! # Invariants
//! - What a tool with [`Effect::Read`] returned is used until a call with [`Effect::Write`] or
//!   [`Effect::External`] of the same run starts. While such a call runs, or what it has left
//!   behind in the background, no output of a tool that reads is stored or shared.
//! - The output of a tool without an effect depends on its arguments alone: it is kept.
//! - A tool that changes something is never memoized, even if its definition says that it is pure.

mod entries;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::OnceCell;

use crate::event::RunId;
use crate::message::ContentPart;
use crate::registry::Entry;
use crate::tool::{Effect, ToolDefinition, ToolError, ToolOutput};
use entries::{Key, MemoEntries};

/// The outputs of the pure tools of one dispatcher, or of one run of an agent. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Memo(Arc<Shared>);

#[derive(Default)]
struct Shared {
    entries: Mutex<MemoEntries>,
    /// Whether an output of a tool that reads was ever stored.
    has_reads: AtomicBool,
}

/// A call whose output may be memoized.
pub(super) struct MemoKey<'e> {
    pub(super) run: RunId,
    pub(super) entry: &'e Entry,
    /// JSON with sorted members.
    pub(super) arguments: String,
    /// Whether the call waits for an earlier one with the same arguments that still runs.
    ///
    /// Nested calls must not: the earlier one may be waiting for the tool that makes the nested
    /// call, or be that tool. They run beside it.
    pub(super) may_wait: bool,
}

impl Memo {
    /// Returns the memoized output of a call, or else runs `run`; and whether the output was
    /// memoized.
    ///
    /// Concurrent calls with the same arguments wait for the first. Errors are not memoized: the
    /// next call runs again.
    pub(super) async fn get_or_run<F>(
        &self,
        call: MemoKey<'_>,
        run: F,
    ) -> (Result<ToolOutput, ToolError>, bool)
    where
        F: Future<Output = Result<ToolOutput, ToolError>>,
    {
        let MemoKey { run: run_id, entry, arguments, may_wait } = call;
        let is_read = entry.definition().effect == Effect::Read;
        if is_read {
            self.0.has_reads.store(true, Ordering::Relaxed);
        }
        let key = Arc::new(Key { run: run_id, tool: entry.full_name().to_owned(), arguments });
        let cell = self.lock().cell(entry.tool(), &key, is_read);
        let Some(cell) = cell else { return (run.await, false) };
        if !may_wait {
            if let Some(output) = cell.get() {
                return (Ok(output.clone()), true);
            }
            let result = run.await;
            // Fails if the first call is still running; that one sets the same output.
            if let Ok(output) = &result
                && cell.set(output.clone()).is_ok()
            {
                self.add_output(&key, &cell, output);
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
            self.add_output(&key, &cell, output);
        }
        (result, !has_run)
    }

    /// Whether the memo may hold outputs that a write invalidates.
    pub(super) fn has_reads(&self) -> bool {
        self.0.has_reads.load(Ordering::Relaxed)
    }

    /// Evicts what the run has read, as a call of this tool is about to start. Nothing that is read
    /// is stored until the guard is dropped.
    pub(super) fn begin_write(&self, run: RunId, tool: &ToolDefinition) -> WriteGuard {
        self.lock().begin_write(run);
        // If the call is dropped, it is unknown whether its thread still runs.
        WriteGuard { memo: self.clone(), run, is_endless: tool.blocking }
    }

    /// Evicts what the run has read. Nothing that is read is stored until the guard is dropped,
    /// which may outlive the run.
    pub(super) fn begin_background_write(&self, run: RunId) -> BackgroundWrite {
        self.lock().begin_write(run);
        BackgroundWrite { memo: Arc::downgrade(&self.0), run }
    }

    /// Evicts all outputs of a run.
    pub(super) fn end_run(&self, run: RunId) {
        self.lock().end_run(run);
    }

    fn add_output(&self, key: &Arc<Key>, cell: &Arc<OnceCell<ToolOutput>>, output: &ToolOutput) {
        self.lock().add_output(key, cell, size_of(output));
    }

    fn lock(&self) -> MutexGuard<'_, MemoEntries> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether outputs of this tool are memoized.
pub(super) fn is_memoized(tool: &ToolDefinition) -> bool {
    tool.pure && !is_mutating(tool)
}

/// Whether a call of this tool invalidates what was read before.
pub(super) fn is_mutating(tool: &ToolDefinition) -> bool {
    matches!(tool.effect, Effect::Write | Effect::External)
}

/// A call that runs and may change what other tools read.
pub(super) struct WriteGuard {
    memo: Memo,
    run: RunId,
    is_endless: bool,
}

impl WriteGuard {
    /// Ends the change with its call, unless a thread still runs: then the run stores nothing that
    /// it reads from now on.
    pub(super) fn end(mut self, has_detached_thread: bool) {
        self.is_endless = has_detached_thread;
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        if !self.is_endless {
            self.memo.lock().end_write(self.run);
        }
    }
}

/// Something that a call has left behind and that may change what other tools read.
pub(super) struct BackgroundWrite {
    memo: Weak<Shared>,
    run: RunId,
}

impl Drop for BackgroundWrite {
    fn drop(&mut self) {
        if let Some(shared) = self.memo.upgrade() {
            Memo(shared).lock().end_write(self.run);
        }
    }
}

/// Returns the size of an output in bytes.
fn size_of(output: &ToolOutput) -> usize {
    let parts = output.parts().iter().map(ContentPart::byte_len).sum::<usize>();
    let structured = output.structured().map_or(0, |value| value.to_string().len());
    output.as_text().len() + parts + structured
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::{Value, json};

    use super::entries::{MAX_BYTES, MAX_ENTRIES};
    use super::{Memo, MemoKey};
    use crate::event::RunId;
    use crate::message::Arguments;
    use crate::registry::{Registry, Snapshot};
    use crate::tool::{Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};

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
        let definition = definition.effect(Effect::None);
        registry.register(std::sync::Arc::new(Unused(definition))).unwrap();
        registry.snapshot()
    }

    fn key<'t>(tools: &'t Snapshot, arguments: &Value, may_wait: bool) -> MemoKey<'t> {
        let (run, entry) = (RunId::default(), tools.entry("t").unwrap());
        MemoKey { run, entry, arguments: arguments.to_string(), may_wait }
    }

    async fn is_cached(memo: &Memo, tools: &Snapshot, number: usize) -> bool {
        let run = async { Ok(ToolOutput::text(number.to_string())) };
        let key = key(tools, &json!({ "n": number }), number.is_multiple_of(2));
        let (output, is_cached) = memo.get_or_run(key, run).await;
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
        let run = async |number: usize, bytes: usize| {
            let output = async { Ok(ToolOutput::text("x".repeat(bytes))) };
            let key = key(&tools, &json!({ "n": number }), number.is_multiple_of(2));
            memo.get_or_run(key, output).await.1
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
        assert_eq!(memo.lock().bytes(), MAX_BYTES / 2 - half + 1);
    }

    #[tokio::test]
    async fn large_arguments_of_failed_calls_evict_older_ones() {
        let (memo, tools) = (Memo::default(), tools());
        for number in 0..40 {
            let arguments = json!({ "n": number, "text": "x".repeat(1 << 20) });
            let fail = async { Err(ToolError::failed("no")) };
            memo.get_or_run(key(&tools, &arguments, number % 2 == 0), fail).await.0.unwrap_err();
            assert!(memo.lock().bytes() <= MAX_BYTES);
        }
        assert_eq!(memo.lock().len(), 31);
    }

    #[tokio::test]
    async fn errors_are_not_memoized() {
        let (memo, tools) = (Memo::default(), tools());
        for number in [1, 2] {
            let fail = async { Err(ToolError::failed("no")) };
            let key = key(&tools, &json!({ "n": number }), number == 2);
            let failed = memo.get_or_run(key, fail).await;
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
