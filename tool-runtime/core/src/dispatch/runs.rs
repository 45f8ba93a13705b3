//! The state of runs between their batches: the approvals that hold for the rest of a run, and the
//! secrets that its calls contained.
//!
//! The program may end a run explicitly. Otherwise, the run that was used least recently is evicted
//! when there are too many; a run with a batch in flight is not, because its secrets are redacted.
//! Batches outside of a run share one entry, whose secrets are kept for a number of batches. Each
//! eviction that loses something is reported.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::RunId;
use crate::secret::Redactor;
use crate::tool::RunApproval;

/// The maximum number of runs.
const MAX_RUNS: usize = 1_024;

/// The minimum number of batches outside of a run for which the secrets of an earlier one are kept.
const MAX_BATCHES: u32 = 1_024;

/// The tools that are approved for the rest of a run, by their full names.
pub(super) type ApprovedTools = BTreeMap<String, RunApproval>;

/// The runs of a dispatcher; clones share them.
#[derive(Clone, Default)]
pub(super) struct Runs(Arc<Mutex<RunTable>>);

#[derive(Default)]
struct RunTable {
    runs: HashMap<RunId, RunEntry>,
    /// Counts the uses of all runs.
    clock: u64,
    /// The runs of which something was evicted and that were not reported.
    evicted: Vec<RunId>,
}

#[derive(Default)]
struct RunEntry {
    approved: ApprovedTools,
    redactor: Option<Redactor>,
    batches: u32,
    last_use: u64,
}

impl RunEntry {
    /// Whether no batch of the run redacts its secrets now.
    fn is_idle(&self) -> bool {
        self.redactor.as_ref().is_none_or(|redactor| !redactor.is_shared())
    }

    /// Whether eviction loses an approval or a secret.
    fn holds_anything(&self) -> bool {
        !self.approved.is_empty() || self.redactor.as_ref().is_some_and(Redactor::has_collected)
    }
}

impl Runs {
    /// Returns the runs of a dispatcher that serves a single run.
    pub(super) fn with_run(run: RunId, approved: ApprovedTools) -> Self {
        let runs = Self::default();
        runs.lock().of(run).approved = approved;
        runs
    }

    /// Returns the tools that are approved for the rest of a run.
    pub(super) fn approved_tools(&self, run: RunId) -> ApprovedTools {
        self.lock().find(run).map(|entry| entry.approved.clone()).unwrap_or_default()
    }

    /// Returns the approval of a tool for the rest of a run.
    pub(super) fn approval(&self, run: RunId, full_name: &str) -> Option<RunApproval> {
        self.lock().find(run)?.approved.get(full_name).cloned()
    }

    /// Approves a tool for the rest of a run.
    pub(super) fn approve(&self, run: RunId, full_name: &str, approval: RunApproval) {
        self.lock().of(run).approved.insert(full_name.to_owned(), approval);
    }

    /// Returns the redactor for a batch of a run, which collects the secrets of its calls.
    pub(super) fn redactor(&self, run: RunId, configured: &Redactor) -> Redactor {
        let mut table = self.lock();
        let entry = table.of(run);
        let redactor = entry.redactor.get_or_insert_with(|| configured.for_run());
        if run == RunId::default() {
            let evicts = entry.batches.is_multiple_of(MAX_BATCHES) && redactor.start_generation();
            entry.batches = entry.batches.wrapping_add(1);
            let redactor = redactor.clone();
            table.evicted.extend(evicts.then_some(run));
            return redactor;
        }
        redactor.clone()
    }

    /// Returns the runs of which something was evicted since the last call.
    pub(super) fn take_evicted(&self) -> Vec<RunId> {
        std::mem::take(&mut self.lock().evicted)
    }

    /// Removes the entry of a run.
    pub(super) fn end(&self, run: RunId) {
        self.lock().runs.remove(&run);
    }

    fn lock(&self) -> MutexGuard<'_, RunTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunTable {
    fn find(&mut self, run: RunId) -> Option<&RunEntry> {
        self.clock += 1;
        let entry = self.runs.get_mut(&run)?;
        entry.last_use = self.clock;
        Some(entry)
    }

    fn of(&mut self, run: RunId) -> &mut RunEntry {
        self.clock += 1;
        if self.runs.len() >= MAX_RUNS && !self.runs.contains_key(&run) {
            let idle = self
                .runs
                .iter()
                .filter(|(run, entry)| **run != RunId::default() && entry.is_idle());
            let least_recent = idle.min_by_key(|(_, entry)| entry.last_use).map(|(run, _)| *run);
            if let Some(run) = least_recent
                && self.runs.remove(&run).is_some_and(|entry| entry.holds_anything())
            {
                self.evicted.push(run);
            }
        }
        let entry = self.runs.entry(run).or_default();
        entry.last_use = self.clock;
        entry
    }
}

/// Prints no secret.
impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").field("len", &self.lock().runs.len()).finish()
    }
}
