//! How a run ends without an answer.

use super::state::RunState;
use super::{Limits, Outcome, StopReason, StopRequest, Stopped, Turn};
use crate::tool::Bill;

/// The end of a run. What it leaves behind can be gone on from, so that calls that are open are answered.
pub(super) fn stopped_at(why: StopReason, mut state: RunState) -> Stopped {
    state.give_up();
    let (usage, cost) = (Box::new(state.turn.usage()), state.turn.cost());
    let (transcript, offered) = state.turn.into_parts();
    Stopped { why, transcript, offered, usage, cost }
}

/// Why a run ends that has no answer.
pub(super) fn stopped(turn: &Turn, outcome: Outcome) -> StopReason {
    let limits = turn.limits();
    match outcome {
        Outcome::TruncatedReply(finish) => StopReason::TruncatedReply(finish),
        Outcome::MaxIterations => StopReason::MaxIterations(turn.iterations()),
        Outcome::BudgetExhausted => spent(limits, turn.metered()),
        Outcome::RepeatedCall => turn
            .repeated_call()
            .map(|(call, times)| StopReason::Repeated { call: Box::new(call.clone()), times })
            .unwrap_or(StopReason::EmptyReply),
        Outcome::StopRequested => {
            let none = || StopRequest::new(None, "");
            StopReason::Requested(turn.stop_request().cloned().unwrap_or_else(none))
        }
        Outcome::Answered | Outcome::EmptyReply => StopReason::EmptyReply,
    }
}

/// Which budget that is beyond.
pub(super) fn spent(limits: &Limits, bill: Bill) -> StopReason {
    match limits.cost.map(|(most, _)| most).zip(limits.cost_of(&bill)) {
        Some((most, cost)) if cost >= most => StopReason::CostLimit { cost, most },
        _ => {
            let most = limits.tokens.unwrap_or_default();
            StopReason::TokenLimit { usage: bill.usage, most }
        }
    }
}
