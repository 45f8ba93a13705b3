//! The changes that tools made, with the contents before and after them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tool_core::CallId;
use tool_core::event::RunId;

use crate::path::RelativePath;
use crate::state::FileState;

/// The most bytes of contents. Beyond that, the oldest turns are evicted.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The most changes.
const MAX_CHANGES: usize = 100_000;

/// A run and the number of a turn within it.
pub(crate) type TurnId = (RunId, u32);

/// One change of a file.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The content changed. `None` stands for no file.
    Content { path: RelativePath, before: Option<FileState>, after: Option<FileState> },
    /// The file moved.
    Rename { from: RelativePath, to: RelativePath, state: FileState },
}

impl Change {
    /// Returns the states of each path before and after the change.
    pub(crate) fn states(
        &self,
    ) -> impl Iterator<Item = (&RelativePath, Option<&FileState>, Option<&FileState>)> {
        let states = match self {
            Self::Content { path, before, after } => {
                [Some((path, before.as_ref(), after.as_ref())), None]
            }
            Self::Rename { from, to, state } => {
                [Some((from, Some(state), None)), Some((to, None, Some(state)))]
            }
        };
        states.into_iter().flatten()
    }

    pub(crate) fn size(&self) -> usize {
        let states = self.states().flat_map(|(_, before, after)| [before, after]);
        states.flatten().map(FileState::size).sum()
    }
}

/// A change with its place in the order of all changes.
#[derive(Clone, Debug)]
pub(crate) struct JournalEntry {
    pub(crate) number: u64,
    pub(crate) turn: TurnId,
    pub(crate) call: CallId,
    pub(crate) change: Change,
}

/// The first and the last state of a path, over several changes.
pub(crate) type NetStates<'j> =
    BTreeMap<&'j RelativePath, (Option<&'j FileState>, Option<&'j FileState>)>;

/// Returns what changes amount to, path by path.
pub(crate) fn net_states<'j>(changes: impl IntoIterator<Item = &'j Change>) -> NetStates<'j> {
    let mut states = NetStates::new();
    for (path, before, after) in changes.into_iter().flat_map(Change::states) {
        states.entry(path).and_modify(|(_, last)| *last = after).or_insert((before, after));
    }
    states
}

#[derive(Debug, Default)]
struct Entries {
    entries: VecDeque<JournalEntry>,
    bytes: usize,
    next_number: u64,
    /// The last turn of each run of which changes were evicted.
    evicted: BTreeMap<RunId, u32>,
    /// The numbers of the changes that were undone.
    undone: BTreeSet<u64>,
}

/// The changes of all runs, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Entries>);

impl Journal {
    pub(crate) fn add(&self, turn: TurnId, call: CallId, change: Change) {
        let mut journal = self.lock();
        let number = journal.next_number;
        journal.next_number += 1;
        journal.bytes += change.size();
        journal.entries.push_back(JournalEntry { number, turn, call, change });
        while journal.bytes > MAX_BYTES || journal.entries.len() > MAX_CHANGES {
            let Some(oldest) = journal.entries.pop_front() else { break };
            journal.bytes -= oldest.change.size();
            let (run, turn) = oldest.turn;
            let last = journal.evicted.entry(run).or_default();
            *last = turn.max(*last);
        }
    }

    /// Returns the changes of a call.
    pub(crate) fn of_call(&self, turn: TurnId, call: &CallId) -> Vec<JournalEntry> {
        let journal = self.lock();
        let entries = journal.entries.iter();
        entries.filter(|entry| entry.turn == turn && entry.call == *call).cloned().collect()
    }

    /// Returns the changes of a turn, oldest first; `None` if some were evicted.
    pub(crate) fn of_turn(&self, turn: TurnId) -> Option<Vec<JournalEntry>> {
        let journal = self.lock();
        if journal.evicted.get(&turn.0).is_some_and(|last| turn.1 <= *last) {
            return None;
        }
        Some(journal.entries.iter().filter(|entry| entry.turn == turn).cloned().collect())
    }

    /// Removes a change that was undone.
    pub(crate) fn remove(&self, number: u64) {
        let mut journal = self.lock();
        if let Some(at) = journal.entries.iter().position(|entry| entry.number == number)
            && let Some(entry) = journal.entries.remove(at)
        {
            journal.bytes -= entry.change.size();
            journal.undone.insert(number);
        }
    }

    /// Whether a change was undone.
    pub(crate) fn is_undone(&self, number: u64) -> bool {
        self.lock().undone.contains(&number)
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
