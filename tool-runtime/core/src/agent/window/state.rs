//! State of a window between two plans of a conversation.

use serde::{Deserialize, Serialize};

/// Serializable state of a window for one conversation.
///
/// It holds the cut, the summary of evicted messages and the calibration of the token counter.
/// Store it together with the conversation. A [`RunState`](crate::agent::RunState) contains it.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowState {
    /// The first visible message of earlier runs.
    pub(super) history_start: usize,
    /// The evicted replies of the current run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evicted_replies: Option<EvictedReplies>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<String>,
    /// The end of the messages that the summary covers.
    pub(in crate::agent) summary_end: usize,
    /// The estimated and the reported tokens of the last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) calibration: Option<Calibration>,
}

/// The evicted replies of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EvictedReplies {
    /// The first message of the run.
    pub(super) run_start: usize,
    /// The index behind the last evicted reply and its results.
    pub(super) end: usize,
}

/// Ratio between the estimated and the reported tokens of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Calibration {
    estimated: u64,
    reported: u64,
}

/// The largest accepted ratio between estimate and reported count, in either direction.
///
/// Some providers report only the tokens that they did not read from a cache.
const MAX_RATIO: u64 = 4;

impl WindowState {
    /// Returns the summary of evicted messages, or `None` if there is none.
    pub fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// Calibrates the token counter with the count that a provider reported for a request.
    ///
    /// `estimated` is the [estimate](super::Window::estimate) of the same request. Later estimates
    /// are scaled by the ratio of the two, by a factor of four at most. If one of the counts is 0,
    /// the call has no effect.
    pub fn calibrate(&mut self, estimated: u64, reported: u64) {
        if estimated > 0 && reported > 0 {
            self.calibration = Some(Calibration { estimated, reported });
        }
    }

    /// Converts the indices of messages.
    pub(in crate::agent) fn map_indices(&mut self, map: impl Fn(usize) -> usize) {
        self.history_start = map(self.history_start);
        self.summary_end = map(self.summary_end);
        if let Some(EvictedReplies { run_start, end }) = &mut self.evicted_replies {
            (*run_start, *end) = (map(*run_start), map(*end));
        }
    }

    /// Returns the state for the first messages of the conversation only, of which there are
    /// `count`. If a part of them is summarized or evicted together with later ones, all are
    /// visible again.
    pub(in crate::agent) fn truncated(self, count: usize) -> Self {
        let Self { history_start, summary_end, calibration, .. } = self;
        if history_start.max(summary_end) < count {
            Self { evicted_replies: None, ..self }
        } else {
            Self { calibration, ..Self::default() }
        }
    }

    /// Converts a number of provider tokens to tokens of the window's counter.
    pub(super) fn to_counter_tokens(&self, provider_tokens: u64) -> u64 {
        let Some(Calibration { estimated, reported }) = self.calibration else {
            return provider_tokens;
        };
        let max = estimated.saturating_mul(MAX_RATIO);
        let reported = reported.clamp((estimated / MAX_RATIO).max(1), max.max(1));
        let exact = u128::from(provider_tokens) * u128::from(estimated) / u128::from(reported);
        u64::try_from(exact).unwrap_or(u64::MAX)
    }
}
