//! The stored outputs of a memo, in the order in which they were stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use tokio::sync::OnceCell;

use crate::event::RunId;
use crate::tool::{Tool, ToolOutput};

/// The maximum number of outputs in a memo; beyond it the oldest is evicted.
pub(super) const MAX_ENTRIES: usize = 1_000;

/// The maximum size of all arguments and outputs in a memo together.
pub(super) const MAX_BYTES: usize = 32 << 20;

/// Identifies the output of a call.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) run: RunId,
    /// The full name of the tool.
    pub(super) tool: String,
    /// JSON with sorted members.
    pub(super) arguments: String,
}

#[derive(Default)]
pub(super) struct MemoEntries {
    outputs: HashMap<Arc<Key>, Cell>,
    /// The keys of the outputs, oldest first.
    order: BTreeMap<u64, Arc<Key>>,
    /// The number of outputs that were ever stored.
    count: u64,
    /// The runs that have outputs or calls that change something.
    runs: HashMap<RunId, RunEntries>,
    bytes: usize,
}

/// The output of one call.
struct Cell {
    /// The tool that produced it: another one may have the name by now.
    tool: Weak<dyn Tool>,
    output: Arc<OnceCell<ToolOutput>>,
    /// The size of the arguments, and of the output once it is there.
    bytes: usize,
    /// The position in the order of all outputs.
    number: u64,
}

/// The outputs of one run, by their numbers.
#[derive(Default)]
struct RunEntries {
    /// The outputs that a change invalidates.
    reads: BTreeSet<u64>,
    constants: BTreeSet<u64>,
    /// The number of calls that run now and may change what was read.
    writes: usize,
}

impl MemoEntries {
    /// Returns the place for the output of a call, or `None` if it may not be stored now.
    pub(super) fn cell(
        &mut self,
        tool: &Arc<dyn Tool>,
        key: &Arc<Key>,
        is_read: bool,
    ) -> Option<Arc<OnceCell<ToolOutput>>> {
        if is_read && self.runs.get(&key.run).is_some_and(|run| run.writes > 0) {
            return None;
        }
        let tool = Arc::downgrade(tool);
        if let Some(Cell { tool: producer, output, number, .. }) = self.outputs.get(key) {
            if producer.ptr_eq(&tool) {
                return Some(Arc::clone(output));
            }
            self.evict(*number);
        }
        if self.order.len() >= MAX_ENTRIES {
            self.evict_oldest();
        }
        let (number, bytes) = (self.count, key.arguments.len());
        self.count += 1;
        let output = Arc::default();
        let cell = Cell { tool, output: Arc::clone(&output), bytes, number };
        self.outputs.insert(Arc::clone(key), cell);
        self.order.insert(number, Arc::clone(key));
        let run = self.runs.entry(key.run).or_default();
        if is_read { &mut run.reads } else { &mut run.constants }.insert(number);
        self.add_bytes(bytes);
        Some(output)
    }

    /// Counts the size of a new output.
    pub(super) fn add_output(
        &mut self,
        key: &Arc<Key>,
        output: &Arc<OnceCell<ToolOutput>>,
        bytes: usize,
    ) {
        // The cell may have been evicted meanwhile.
        let is_same = |cell: &&mut Cell| Arc::ptr_eq(&cell.output, output);
        if let Some(cell) = self.outputs.get_mut(key).filter(is_same) {
            cell.bytes += bytes;
            self.add_bytes(bytes);
        }
    }

    /// Evicts what the run has read, and stores no more of it until the change ends.
    pub(super) fn begin_write(&mut self, run: RunId) {
        let entries = self.runs.entry(run).or_default();
        entries.writes += 1;
        let reads = std::mem::take(&mut entries.reads);
        reads.into_iter().for_each(|number| self.evict(number));
    }

    pub(super) fn end_write(&mut self, run: RunId) {
        if let Some(entries) = self.runs.get_mut(&run) {
            entries.writes = entries.writes.saturating_sub(1);
            self.remove_if_empty(run);
        }
    }

    /// Evicts all outputs of a run.
    pub(super) fn end_run(&mut self, run: RunId) {
        let entries = self.runs.remove(&run).unwrap_or_default();
        entries.reads.into_iter().chain(entries.constants).for_each(|number| self.evict(number));
    }

    /// Adds to the total size, and evicts the oldest outputs until it is within the limit.
    fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes;
        while self.bytes > MAX_BYTES && self.evict_oldest() {}
    }

    /// Evicts the oldest output. Returns false if there is none.
    fn evict_oldest(&mut self) -> bool {
        let oldest = self.order.first_key_value().map(|(number, _)| *number);
        oldest.into_iter().for_each(|number| self.evict(number));
        oldest.is_some()
    }

    fn evict(&mut self, number: u64) {
        let Some(key) = self.order.remove(&number) else { return };
        self.bytes -= self.outputs.remove(&key).map_or(0, |cell| cell.bytes);
        if let Some(run) = self.runs.get_mut(&key.run) {
            run.reads.remove(&number);
            run.constants.remove(&number);
            self.remove_if_empty(key.run);
        }
    }

    fn remove_if_empty(&mut self, run: RunId) {
        let is_empty = |entries: &RunEntries| {
            entries.writes == 0 && entries.reads.is_empty() && entries.constants.is_empty()
        };
        if self.runs.get(&run).is_some_and(is_empty) {
            self.runs.remove(&run);
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.outputs.len(), self.order.len());
        self.outputs.len()
    }
}
