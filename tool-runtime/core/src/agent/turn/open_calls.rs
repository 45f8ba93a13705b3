//! Index of the open calls of the last reply, so that recording a result takes constant time.

use std::collections::HashSet;

use super::Turn;
use crate::message::{CallId, ToolResult};

/// The ids of the open calls. They follow from the transcript and the early results, so they are
/// neither stored nor compared.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCallIds(Option<HashSet<CallId>>);

impl PartialEq for OpenCallIds {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Turn {
    /// Returns the ids of the open calls.
    fn open_call_ids(&mut self) -> &mut HashSet<CallId> {
        let (transcript, early) = (&self.transcript, &self.early_results);
        self.open_call_ids.0.get_or_insert_with(|| {
            let calls = transcript.last().into_iter().flat_map(|reply| reply.calls());
            let mut open: HashSet<_> = calls.map(|call| call.id.clone()).collect();
            for result in early {
                open.remove(&result.call);
            }
            open
        })
    }

    /// Discards the index, because the last message or the early results were replaced.
    pub(super) fn reset_open_calls(&mut self) {
        self.open_call_ids = OpenCallIds::default();
    }

    /// Returns the first result that is not the only one of an open call.
    pub(super) fn unexpected_result<'r>(
        &mut self,
        results: &'r [ToolResult],
    ) -> Option<&'r ToolResult> {
        let open = self.open_call_ids();
        let mut answered = HashSet::new();
        results.iter().find(|result| !open.contains(&result.call) || !answered.insert(&result.call))
    }

    /// Removes the calls of these results from the open calls. Returns whether none remains.
    pub(super) fn close_calls(&mut self, results: &[ToolResult]) -> bool {
        let open = self.open_call_ids();
        for result in results {
            open.remove(&result.call);
        }
        open.is_empty()
    }
}
