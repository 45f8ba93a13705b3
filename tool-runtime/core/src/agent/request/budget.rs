//! Usage of the attempts at one model request, and the budget left for another attempt.

use std::time::Duration;

use tokio::time::Instant;

use crate::agent::outcome::stop_reason::exceeded_limit;
use crate::agent::turn::{estimate_partial_usage, estimate_usage};
use crate::agent::{Limits, StopReason, Turn};
use crate::guard::catch_panic;
use crate::message::{Usage, UsedModel};
use crate::models::{ChatModel, ChatReply, ChatRequest};
use crate::tool::MeteredUsage;

/// Usage of all attempts at one model request, checked against the limits of the run.
pub(crate) struct RequestBudget {
    limits: Limits,
    before: MeteredUsage,
    /// The number of model requests of the run so far.
    requests: u32,
    replies: u32,
    /// The pieces of a reply that is not complete.
    pieces: ArrivedReply,
    reported: Option<Usage>,
    /// Estimated usage of replies for which the provider reported none.
    estimated: Usage,
    /// The usage of all attempts, by the models that served them.
    metered: MeteredUsage,
    /// The reported usage of the first attempt; `None` before the first reply.
    first: Option<Option<Usage>>,
}

/// Counts the pieces of the replies to one model request.
#[derive(Default)]
pub(crate) struct ArrivedReply {
    /// The number of bytes that have arrived of a reply that is not complete.
    bytes: usize,
    /// When the first streamed request was sent.
    started: Option<Instant>,
    /// The time until the first piece arrived.
    first_delta: Option<Duration>,
}

impl ArrivedReply {
    /// Adds a piece of this many bytes.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.first_delta.is_none() {
            self.first_delta = self.started.map(|started| started.elapsed());
        }
    }
}

impl RequestBudget {
    /// Starts from the usage of the run so far.
    pub(crate) fn new(turn: &Turn) -> Self {
        Self {
            limits: turn.limits().clone(),
            before: turn.metered(),
            requests: turn.requests(),
            replies: 0,
            pieces: ArrivedReply::default(),
            reported: None,
            estimated: Usage::default(),
            metered: MeteredUsage::default(),
            first: None,
        }
    }

    /// Adds the usage of one attempt at a request to `model`.
    pub(crate) fn record(
        &mut self,
        model: &dyn ChatModel,
        request: ChatRequest<'_>,
        reply: &ChatReply,
    ) {
        self.replies = self.replies.saturating_add(1);
        self.pieces.bytes = 0;
        self.first.get_or_insert(reply.usage);
        let usage = match reply.usage {
            Some(usage) => {
                *self.reported.get_or_insert_default() += usage;
                usage
            }
            None if self.limits.has_budget() => {
                let usage = estimate_usage(request, &reply.parts);
                self.estimated += usage;
                usage
            }
            None => return,
        };
        let served_by = used_model(model, reply.model.clone());
        self.metered += MeteredUsage::of_model(served_by, usage, None);
    }

    /// Returns the stop reason if the budget allows no further attempt.
    pub(crate) fn check(&self) -> Result<(), StopReason> {
        let mut metered = self.before.clone();
        metered += MeteredUsage::from(self.total_usage());
        if self.limits.is_exhausted(&metered) {
            Err(exceeded_limit(&self.limits, &metered))
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

    /// Returns what has arrived of the reply that is streamed now.
    pub(crate) fn pieces(&mut self) -> &mut ArrivedReply {
        self.pieces.started.get_or_insert_with(Instant::now);
        &mut self.pieces
    }

    /// Returns the time from the first streamed request until the first piece of its reply.
    pub(crate) fn first_delta(&self) -> Option<Duration> {
        self.pieces.first_delta
    }

    /// Adds the estimated usage of a request that failed after a part of its reply had arrived, and
    /// returns it.
    pub(crate) fn record_failed(
        &mut self,
        model: &dyn ChatModel,
        request: ChatRequest<'_>,
    ) -> Option<Usage> {
        let bytes = std::mem::take(&mut self.pieces.bytes);
        let usage = (bytes > 0).then(|| estimate_partial_usage(request, bytes))?;
        self.estimated += usage;
        self.metered += MeteredUsage::of_model(used_model(model, None), usage, None);
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

    /// Returns the usage of all attempts by model. If a hook has changed the usage, `total` is that
    /// of the model.
    pub(crate) fn metered(&self, model: UsedModel, total: Usage) -> MeteredUsage {
        if self.metered.usage() == total {
            self.metered.clone()
        } else {
            MeteredUsage::of_model(model, total, None)
        }
    }

    /// Returns the reported and the estimated usage of all attempts.
    pub(crate) fn total_usage(&self) -> Usage {
        let mut total = self.reported.unwrap_or_default();
        total += self.estimated;
        total
    }
}

/// Returns the model that served a request; what is known of it, if its code panics.
pub(crate) fn used_model(model: &dyn ChatModel, served_by: Option<String>) -> UsedModel {
    let info = catch_panic(|| model.info()).unwrap_or_default();
    let mut used = UsedModel::default();
    (used.provider, used.model) = (info.provider, served_by.or(info.name));
    used
}
