use std::time::Duration;

/// Configures a circuit breaker: how many failures open it, and for how long.
///
/// An open breaker blocks the calls of its provider. [`Breakers`](crate::dispatch::Breakers) lists
/// the failures that count.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::dispatch::Breaker;
///
/// let breaker = Breaker::after(3).cool_down(Duration::from_secs(10));
/// assert_ne!(breaker, Breaker::after(3), "the default cool-down is 30 seconds");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    cool_down: Duration,
}

impl Breaker {
    /// Creates a breaker that opens after this many failures in a row, and after one at least.
    #[must_use]
    pub fn after(failures: u32) -> Self {
        Self { failures: failures.max(1), cool_down: Duration::from_secs(30) }
    }

    /// Sets how long the breaker stays open before one call probes the provider.
    ///
    /// Default: 30 seconds.
    #[must_use]
    pub fn cool_down(mut self, span: Duration) -> Self {
        self.cool_down = span;
        self
    }
}

/// The state machine of one provider's circuit breaker. Times are offsets from one fixed instant.
///
/// A closed circuit admits every call. An open one admits none until its cool-down has passed. A
/// half-open circuit has admitted one call as a probe: the probe's result closes the circuit or
/// opens it again. A probe without a result counts as lost after one cool-down.
#[derive(Debug)]
pub(in crate::dispatch) struct Circuit {
    breaker: Breaker,
    state: CircuitState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CircuitState {
    Closed { failures: u32 },
    Open { ends_at: Duration },
    HalfOpen { ends_at: Duration },
}

/// The kind of admission that a circuit granted to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dispatch) enum AdmissionKind {
    /// The circuit was closed.
    Regular,
    /// The circuit was open, and the call probes the provider.
    Probe,
}

impl Circuit {
    pub(in crate::dispatch) fn new(breaker: Breaker) -> Self {
        Self { breaker, state: CircuitState::Closed { failures: 0 } }
    }

    /// Whether the circuit equals a new one.
    pub(in crate::dispatch) fn is_new(&self) -> bool {
        self.state == CircuitState::Closed { failures: 0 }
    }

    /// Returns the time until a call may be admitted, or `None` if it may be admitted now.
    pub(in crate::dispatch) fn delay(&self, now: Duration) -> Option<Duration> {
        match self.state {
            CircuitState::Closed { .. } => None,
            CircuitState::Open { ends_at } | CircuitState::HalfOpen { ends_at } => {
                ends_at.checked_sub(now).filter(|remaining| !remaining.is_zero())
            }
        }
    }

    /// Admits a call, or returns the time until one may be admitted.
    pub(in crate::dispatch) fn admit(&mut self, now: Duration) -> Result<AdmissionKind, Duration> {
        match (self.delay(now), self.state) {
            (Some(remaining), _) => Err(remaining),
            (None, CircuitState::Closed { .. }) => Ok(AdmissionKind::Regular),
            (None, CircuitState::Open { .. } | CircuitState::HalfOpen { .. }) => {
                self.state =
                    CircuitState::HalfOpen { ends_at: now.saturating_add(self.breaker.cool_down) };
                Ok(AdmissionKind::Probe)
            }
        }
    }

    /// Records that an admitted call succeeded, or failed for a reason that is not the provider's.
    pub(in crate::dispatch) fn on_success(&mut self, admission: AdmissionKind) {
        match (self.state, admission) {
            (CircuitState::Closed { .. }, _)
            | (CircuitState::HalfOpen { .. }, AdmissionKind::Probe) => {
                self.state = CircuitState::Closed { failures: 0 };
            }
            // The call was admitted before the circuit opened.
            (CircuitState::Open { .. }, _)
            | (CircuitState::HalfOpen { .. }, AdmissionKind::Regular) => {}
        }
    }

    /// Records that an admitted call failed because of the provider.
    pub(in crate::dispatch) fn on_failure(&mut self, admission: AdmissionKind, now: Duration) {
        let open = CircuitState::Open { ends_at: now.saturating_add(self.breaker.cool_down) };
        self.state = match (self.state, admission) {
            (CircuitState::Closed { failures }, _) if failures + 1 >= self.breaker.failures => open,
            (CircuitState::Closed { failures }, _) => {
                CircuitState::Closed { failures: failures + 1 }
            }
            (CircuitState::HalfOpen { .. }, AdmissionKind::Probe) => open,
            (state, _) => state,
        };
    }

    /// Records that an admitted call was cancelled. After a cancelled probe, the next call probes.
    pub(in crate::dispatch) fn on_cancel(&mut self, admission: AdmissionKind, now: Duration) {
        if let (CircuitState::HalfOpen { .. }, AdmissionKind::Probe) = (self.state, admission) {
            self.state = CircuitState::Open { ends_at: now };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AdmissionKind::{Probe, Regular};
    use super::CircuitState::{Closed, HalfOpen, Open};
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[derive(Clone, Copy, Debug)]
    enum BreakerInput {
        Admit(Result<AdmissionKind, Duration>),
        Success(AdmissionKind),
        Failure(AdmissionKind),
        Cancel(AdmissionKind),
    }

    /// Every state and every input, at second 100, with a cool-down of ten seconds.
    #[test]
    fn every_state_transition_is_as_listed() {
        use BreakerInput::{Admit, Cancel, Failure, Success};
        let (zero, two) = (Closed { failures: 0 }, Closed { failures: 2 });
        let (expired, open) = (Open { ends_at: s(100) }, Open { ends_at: s(104) });
        let (probing, lost) = (HalfOpen { ends_at: s(103) }, HalfOpen { ends_at: s(99) });
        let (opened, probed) = (Open { ends_at: s(110) }, HalfOpen { ends_at: s(110) });
        for (from, input, to) in [
            (zero, Admit(Ok(Regular)), zero),
            (zero, Success(Regular), zero),
            (zero, Failure(Regular), Closed { failures: 1 }),
            (zero, Cancel(Regular), zero),
            (zero, Failure(Probe), Closed { failures: 1 }),
            (two, Admit(Ok(Regular)), two),
            (two, Success(Regular), zero),
            (two, Success(Probe), zero),
            (two, Failure(Regular), opened),
            (two, Failure(Probe), opened),
            (two, Cancel(Regular), two),
            (two, Cancel(Probe), two),
            (open, Admit(Err(s(4))), open),
            (open, Success(Regular), open),
            (open, Success(Probe), open),
            (open, Failure(Regular), open),
            (open, Failure(Probe), open),
            (open, Cancel(Regular), open),
            (open, Cancel(Probe), open),
            (expired, Admit(Ok(Probe)), probed),
            (expired, Success(Regular), expired),
            (expired, Failure(Regular), expired),
            (probing, Admit(Err(s(3))), probing),
            (probing, Success(Regular), probing),
            (probing, Success(Probe), zero),
            (probing, Failure(Regular), probing),
            (probing, Failure(Probe), opened),
            (probing, Cancel(Regular), probing),
            (probing, Cancel(Probe), expired),
            (lost, Admit(Ok(Probe)), probed),
            (lost, Success(Probe), zero),
        ] {
            let breaker = Breaker::after(3).cool_down(s(10));
            let mut circuit = Circuit { breaker, state: from };
            match input {
                Admit(expected) => assert_eq!(circuit.admit(s(100)), expected, "{from:?}"),
                Success(admission) => circuit.on_success(admission),
                Failure(admission) => circuit.on_failure(admission, s(100)),
                Cancel(admission) => circuit.on_cancel(admission, s(100)),
            }
            assert_eq!(circuit.state, to, "{from:?}, {input:?}");
        }
    }

    #[test]
    fn threshold_of_zero_opens_after_one_failure() {
        let mut circuit = Circuit::new(Breaker::after(0));
        assert_eq!(circuit.admit(s(0)), Ok(Regular));
        circuit.on_failure(Regular, s(0));
        assert_eq!(circuit.admit(s(1)), Err(s(29)));
    }
}
