//! The messages of a conversation that a run has not loaded.

use crate::agent::state::RunState;

/// The part of a stored conversation that a run has not loaded: the messages between the leading
/// system messages and the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Omitted {
    /// The number of loaded messages before the omitted ones.
    pub(super) leading: usize,
    /// The number of omitted messages.
    pub(super) count: usize,
    /// The stored end of the summarized part, which may be before the loaded messages.
    pub(super) summary_end: usize,
}

impl Omitted {
    /// Returns the index in the conversation of the first message behind the omitted ones.
    pub(super) fn end(self) -> usize {
        self.leading + self.count
    }

    /// Converts an index of the loaded messages to one of the conversation.
    pub(super) fn to_stored(self, index: usize) -> usize {
        if index < self.leading { index } else { index + self.count }
    }

    /// Converts an index of the conversation to one of the loaded messages.
    pub(super) fn to_loaded(self, index: usize) -> usize {
        if index < self.leading {
            index
        } else {
            index.saturating_sub(self.count).max(self.leading)
        }
    }

    /// Converts the indices of a state that was loaded.
    pub(super) fn loaded_state(self, mut state: RunState) -> RunState {
        if self.count > 0 {
            state.map_indices(|index| self.to_loaded(index));
        }
        state
    }

    /// Converts the indices of a state that is to be stored.
    pub(super) fn stored_state(self, mut state: RunState) -> RunState {
        if self.count > 0 {
            let is_summary_older = state.window.summary_end <= self.leading;
            state.map_indices(|index| self.to_stored(index));
            if is_summary_older {
                state.window.summary_end = self.summary_end;
            }
        }
        state
    }
}
