//! Admission of a call: the circuit breaker of its provider, rate limits and concurrency limits.

use tokio::sync::SemaphorePermit;

use crate::dispatch::call::call_record::CallResult;
use crate::dispatch::context::BatchContext;
use crate::dispatch::limits::circuits::CircuitGuard;
use crate::dispatch::limits::rate::RateSlot;
use crate::event::BlockReason;
use crate::registry::Entry;
use crate::tool::ToolError;

/// The permission of a call to run, valid while it is held. Boxed, since most calls need none.
pub(crate) struct Admission<'b> {
    batch: &'b BatchContext,
    entry: &'b Entry,
    _permits: [Option<SemaphorePermit<'b>>; 3],
    circuit: Option<CircuitGuard>,
}

impl<'b> Admission<'b> {
    /// Whether calls of this tool may have to wait or may be blocked.
    pub(crate) fn is_needed(batch: &BatchContext, entry: &Entry) -> bool {
        let state = &batch.state;
        state.concurrency.are_set() || state.rates.apply_to(entry) || state.circuits.are_set()
    }

    /// Waits until the call may run. A resumed call takes no rate slot: it was counted when it
    /// first started.
    pub(crate) async fn acquire(
        batch: &'b BatchContext,
        entry: &'b Entry,
        is_resumed: bool,
    ) -> Result<Box<Self>, (BlockReason, ToolError)> {
        let (state, deadline) = (&batch.state, batch.scope.deadline);
        let acquire_slot = async || {
            if is_resumed {
                Ok(RateSlot::default())
            } else {
                state.rates.acquire(entry, deadline).await
            }
        };
        let circuit = state.circuits.provider_circuit(entry);
        // A call that is blocked anyway does not queue.
        circuit.as_ref().map_or(Ok(()), |circuit| circuit.check())?;
        let mut slot = acquire_slot().await?;
        let permits = state.concurrency.acquire(entry, &batch.outer_tools()).await;
        // Without this, calls that waited long for a permit would all start at once, in slots of
        // long ago.
        if !state.rates.postpone(&mut slot) {
            drop(slot);
            slot = acquire_slot().await?;
        }
        // Other calls may have failed while this one waited.
        batch.abort.check()?;
        let circuit = circuit.map(|circuit| circuit.admit(deadline)).transpose()?;
        slot.commit();
        Ok(Box::new(Self { batch, entry, _permits: permits, circuit }))
    }

    /// Reports the result of an attempt.
    pub(crate) fn report(&mut self, result: &CallResult) {
        if let Some(circuit) = &mut self.circuit {
            circuit.report(result.as_ref().err().map(ToolError::kind));
        }
    }

    /// Whether another attempt would be admitted now, or after a wait within the deadline.
    pub(crate) fn allows_retry(&self) -> bool {
        let (rates, deadline) = (&self.batch.state.rates, self.batch.scope.deadline);
        self.circuit.as_ref().is_none_or(CircuitGuard::allows_retry)
            && rates.check(self.entry, deadline).is_ok()
    }

    /// Waits until another attempt may start. Returns false if the circuit has opened meanwhile, or
    /// if the rate limit allows no attempt before the deadline.
    pub(crate) async fn acquire_retry(&mut self) -> bool {
        let rates = &self.batch.state.rates;
        let Ok(slot) = rates.acquire(self.entry, self.batch.scope.deadline).await else {
            return false;
        };
        let is_admitted = self.circuit.as_mut().is_none_or(CircuitGuard::admit_retry);
        if is_admitted {
            slot.commit();
        }
        is_admitted
    }
}
