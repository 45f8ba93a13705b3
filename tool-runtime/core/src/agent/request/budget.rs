//! Usage of the attempts at one model request, and the budget left for another attempt.

use crate::agent::outcome::stop_reason::exceeded_limit;
use crate::agent::turn::{estimate_partial_usage, estimate_usage};
use crate::agent::{Limits, StopReason, Turn};
use crate::message::Usage;
use crate::models::{ChatReply, ChatRequest};
use crate::tool::MeteredUsage;

/// Usage of all attempts at one model request, checked against the limits of the run.
pub(crate) struct RequestBudget {
    limits: Limits,
    before: MeteredUsage,
    /// The number of model requests of the run so far.
    requests: u32,
    replies: u32,
    /// The number of bytes that have arrived of a reply that is not complete.
    partial_bytes: usize,
    reported: Option<Usage>,
    /// Estimated usage of replies for which the provider reported none.
    estimated: Usage,
    /// The reported usage of the first attempt; `None` before the first reply.
    first: Option<Option<Usage>>,
}

impl RequestBudget {
    /// Starts from the usage of the run so far.
    pub(crate) fn new(turn: &Turn) -> Self {
        Self {
            limits: turn.limits().clone(),
            before: turn.metered(),
            requests: turn.requests(),
            replies: 0,
            partial_bytes: 0,
            reported: None,
            estimated: Usage::default(),
            first: None,
        }
    }

    /// Adds the usage of one attempt.
    pub(crate) fn record(&mut self, request: ChatRequest<'_>, reply: &ChatReply) {
        self.replies = self.replies.saturating_add(1);
        self.partial_bytes = 0;
        self.first.get_or_insert(reply.usage);
        match reply.usage {
            Some(usage) => *self.reported.get_or_insert_default() += usage,
            None if self.limits.has_budget() => {
                self.estimated += estimate_usage(request, &reply.parts);
            }
            None => {}
        }
    }

    /// Returns the stop reason if the budget allows no further attempt.
    pub(crate) fn check(&self) -> Result<(), StopReason> {
        let mut metered = self.before;
        metered += self.total_usage().into();
        if self.limits.is_exhausted(&metered) {
            Err(exceeded_limit(&self.limits, metered))
        } else {
            Ok(())
        }
    }

    /// Returns the stop reason if the iteration limit allows no further attempt.
    pub(crate) fn check_iterations(&self) -> Result<(), StopReason> {
        let requests = self.requests.saturating_add(self.replies);
        if requests < self.limits.max_iterations {
            Ok(())
        } else {
            Err(StopReason::IterationLimit(requests))
        }
    }

    /// Returns the number of bytes that have arrived of a reply that is not complete.
    pub(crate) fn partial_bytes(&mut self) -> &mut usize {
        &mut self.partial_bytes
    }

    /// Adds the estimated usage of a request that failed after a part of its reply had arrived, and
    /// returns it.
    pub(crate) fn record_failed(&mut self, request: ChatRequest<'_>) -> Option<Usage> {
        let bytes = std::mem::take(&mut self.partial_bytes);
        let usage = (bytes > 0).then(|| estimate_partial_usage(request, bytes))?;
        self.estimated += usage;
        Some(usage)
    }

    /// Returns the number of replies of the exchange so far.
    pub(crate) fn replies(&self) -> u32 {
        self.replies
    }

    /// Returns the usage that the provider reported for all attempts.
    pub(crate) fn reported_usage(&self) -> Option<Usage> {
        self.reported
    }

    /// Returns the estimated usage of attempts for which the provider reported none.
    pub(crate) fn estimated_usage(&self) -> Usage {
        self.estimated
    }

    /// Returns the usage that the provider reported for the first attempt.
    pub(crate) fn first_usage(&self) -> Option<Usage> {
        self.first.flatten()
    }

    /// Returns the reported and the estimated usage of all attempts.
    pub(crate) fn total_usage(&self) -> Usage {
        let mut total = self.reported.unwrap_or_default();
        total += self.estimated;
        total
    }
}
