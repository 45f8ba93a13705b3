use std::time::Duration;

/// When a provider that fails is left alone, and for how long.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::dispatch::Breaker;
///
/// let breaker = Breaker::after(3).cool_down(Duration::from_secs(10));
/// # let _ = breaker;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    cool_down: Duration,
}

impl Breaker {
    /// Leaves a provider alone after this many failures in a row, for 30 seconds unless set.
    #[must_use]
    pub fn after(failures: u32) -> Self {
        Self { failures: failures.max(1), cool_down: Duration::from_secs(30) }
    }

    /// How long until it is tried again.
    #[must_use]
    pub fn cool_down(mut self, span: Duration) -> Self {
        self.cool_down = span;
        self
    }
}

/// What is known of one provider. Times are spans since one fixed moment.
///
/// Closed, calls go through. Open, none does until the cool-down is over. Half-open, one is out as a
/// probe and decides: it closes the circuit or opens it again. One that never comes back counts as lost
/// after a cool-down.
#[derive(Debug)]
pub(in crate::dispatch) struct Circuit {
    breaker: Breaker,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Duration },
    HalfOpen { until: Duration },
}

/// How a call got through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dispatch) enum Passage {
    Plain,
    Probe,
}

impl Circuit {
    pub(in crate::dispatch) fn new(breaker: Breaker) -> Self {
        Self { breaker, state: State::Closed { failures: 0 } }
    }

    /// How long a call that came now would have to stay away, if it has to.
    pub(in crate::dispatch) fn closed_for(&self, now: Duration) -> Option<Duration> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { until } | State::HalfOpen { until } => {
                until.checked_sub(now).filter(|left| !left.is_zero())
            }
        }
    }

    /// Lets a call through, or says how long it has to stay away.
    pub(in crate::dispatch) fn enter(&mut self, now: Duration) -> Result<Passage, Duration> {
        match (self.closed_for(now), self.state) {
            (Some(left), _) => Err(left),
            (None, State::Closed { .. }) => Ok(Passage::Plain),
            (None, State::Open { .. } | State::HalfOpen { .. }) => {
                self.state = State::HalfOpen { until: now.saturating_add(self.breaker.cool_down) };
                Ok(Passage::Probe)
            }
        }
    }

    /// One that was let through has done its work, or has said no.
    pub(in crate::dispatch) fn worked(&mut self, passage: Passage) {
        match (self.state, passage) {
            (State::Closed { .. }, _) | (State::HalfOpen { .. }, Passage::Probe) => {
                self.state = State::Closed { failures: 0 };
            }
            // It began before the trouble did.
            (State::Open { .. }, _) | (State::HalfOpen { .. }, Passage::Plain) => {}
        }
    }

    /// One that was let through failed for the provider's sake.
    pub(in crate::dispatch) fn failed(&mut self, passage: Passage, now: Duration) {
        let open = State::Open { until: now.saturating_add(self.breaker.cool_down) };
        self.state = match (self.state, passage) {
            (State::Closed { failures }, _) if failures + 1 >= self.breaker.failures => open,
            (State::Closed { failures }, _) => State::Closed { failures: failures + 1 },
            (State::HalfOpen { .. }, Passage::Probe) => open,
            (state, _) => state,
        };
    }

    /// One that was let through was stopped: nobody knows. The next one is the probe then.
    pub(in crate::dispatch) fn gave_up(&mut self, passage: Passage, now: Duration) {
        if let (State::HalfOpen { .. }, Passage::Probe) = (self.state, passage) {
            self.state = State::Open { until: now };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Passage::{Plain, Probe};
    use super::State::{Closed, HalfOpen, Open};
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[derive(Clone, Copy, Debug)]
    enum Happens {
        Enter(Result<Passage, Duration>),
        Worked(Passage),
        Failed(Passage),
        GaveUp(Passage),
    }

    /// Every state and everything that may happen in it, at second 100, with a cool-down of ten.
    #[test]
    fn from_state_to_state() {
        use Happens::{Enter, Failed, GaveUp, Worked};
        let (none, two) = (Closed { failures: 0 }, Closed { failures: 2 });
        let (over, open) = (Open { until: s(100) }, Open { until: s(104) });
        let (probing, lost) = (HalfOpen { until: s(103) }, HalfOpen { until: s(99) });
        let (opened, probed) = (Open { until: s(110) }, HalfOpen { until: s(110) });
        for (from, happens, to) in [
            (none, Enter(Ok(Plain)), none),
            (none, Worked(Plain), none),
            (none, Failed(Plain), Closed { failures: 1 }),
            (none, GaveUp(Plain), none),
            (none, Failed(Probe), Closed { failures: 1 }),
            (two, Enter(Ok(Plain)), two),
            (two, Worked(Plain), none),
            (two, Worked(Probe), none),
            (two, Failed(Plain), opened),
            (two, Failed(Probe), opened),
            (two, GaveUp(Plain), two),
            (two, GaveUp(Probe), two),
            (open, Enter(Err(s(4))), open),
            (open, Worked(Plain), open),
            (open, Worked(Probe), open),
            (open, Failed(Plain), open),
            (open, Failed(Probe), open),
            (open, GaveUp(Plain), open),
            (open, GaveUp(Probe), open),
            (over, Enter(Ok(Probe)), probed),
            (over, Worked(Plain), over),
            (over, Failed(Plain), over),
            (probing, Enter(Err(s(3))), probing),
            (probing, Worked(Plain), probing),
            (probing, Worked(Probe), none),
            (probing, Failed(Plain), probing),
            (probing, Failed(Probe), opened),
            (probing, GaveUp(Plain), probing),
            (probing, GaveUp(Probe), over),
            (lost, Enter(Ok(Probe)), probed),
            (lost, Worked(Probe), none),
        ] {
            let breaker = Breaker::after(3).cool_down(s(10));
            let mut circuit = Circuit { breaker, state: from };
            match happens {
                Enter(expected) => assert_eq!(circuit.enter(s(100)), expected, "{from:?}"),
                Worked(passage) => circuit.worked(passage),
                Failed(passage) => circuit.failed(passage, s(100)),
                GaveUp(passage) => circuit.gave_up(passage, s(100)),
            }
            assert_eq!(circuit.state, to, "{from:?}, {happens:?}");
        }
    }

    #[test]
    fn none_at_all_is_one() {
        let mut circuit = Circuit::new(Breaker::after(0));
        assert_eq!(circuit.enter(s(0)), Ok(Plain));
        circuit.failed(Plain, s(0));
        assert_eq!(circuit.enter(s(1)), Err(s(29)));
    }
}
