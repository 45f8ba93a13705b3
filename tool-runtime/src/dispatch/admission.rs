//! What a call waits for before it runs: its turn, its place, a provider that works.

use tokio::sync::SemaphorePermit;

use super::circuits::Trial;
use super::rate::Turn;
use super::record::Outcome;
use super::running::Running;
use crate::event::Gate;
use crate::registry::Entry;
use crate::tool::ToolError;

/// A call that may run, for as long as this is held. Boxed, for most calls need none.
pub(super) struct Admission<'r> {
    running: &'r Running,
    entry: &'r Entry,
    _places: [Option<SemaphorePermit<'r>>; 3],
    trial: Option<Trial>,
}

impl<'r> Admission<'r> {
    /// Whether a call of this tool has anything to wait for.
    #[inline]
    pub(super) fn is_needed(running: &Running, entry: &Entry) -> bool {
        let state = &running.state;
        state.places.are_limited() || state.rates.limit(entry) || state.circuits.are_set()
    }

    /// Waits until the call may run. One that only goes on had its turn when it began.
    pub(super) async fn wait(
        running: &'r Running,
        entry: &'r Entry,
        goes_on: bool,
    ) -> Result<Box<Self>, (Gate, ToolError)> {
        let state = &running.state;
        let next_turn = async || match goes_on {
            true => Turn::default(),
            false => state.rates.turn(entry).await,
        };
        let way = state.circuits.of_provider(entry);
        // Who is refused anyway need not queue.
        way.as_ref().map_or(Ok(()), |way| way.check())?;
        let mut turn = next_turn().await;
        let places = state.places.take(entry, &running.around()).await;
        // Calls that waited long for a place would begin all at once on turns of long ago.
        if !state.rates.put_off(&mut turn) {
            drop(turn);
            turn = next_turn().await;
        }
        // Others may have failed while this one waited.
        running.halt.check()?;
        let trial = way.map(|way| way.enter(running.scope.deadline)).transpose()?;
        turn.take();
        Ok(Box::new(Self { running, entry, _places: places, trial }))
    }

    /// An attempt has ended so.
    pub(super) fn note(&mut self, outcome: &Outcome) {
        if let Some(trial) = &mut self.trial {
            trial.note(outcome.as_ref().err().map(ToolError::kind));
        }
    }

    /// Whether there may be another attempt.
    pub(super) fn may_try_again(&self) -> bool {
        self.trial.as_ref().is_none_or(Trial::may_go_on)
    }

    /// Waits until there may be another attempt; none where its provider has failed others meanwhile.
    pub(super) async fn another_turn(&mut self) -> bool {
        let turn = self.running.state.rates.turn(self.entry).await;
        let may_begin = self.trial.as_mut().is_none_or(Trial::go_on);
        if may_begin {
            turn.take();
        }
        may_begin
    }
}
