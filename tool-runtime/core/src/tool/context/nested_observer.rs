//! Passes what happens in a nested run on to the observers of the call that it serves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::ToolContext;
use crate::event::{Event, EventKind, ModelEvent, Observer, Origin, RunEvent, RunId};
use crate::message::Delta;
use crate::secret::{DeltaRedaction, Redactor};
use crate::tool::dispatch_contract::Host;

struct NestedObserver {
    host: Arc<dyn Host>,
    /// Redacts the secrets of the outer run, for each nested run that streams a reply.
    streamed: Mutex<HashMap<RunId, DeltaRedaction>>,
}

impl ToolContext {
    /// Returns the origin of this call, and an observer for the runs that are nested in it.
    pub(crate) fn observed_origin(&self) -> Option<(Origin, impl Observer + use<>)> {
        let host = Arc::clone(self.host.as_ref()?);
        let origin = host.scope().origin.clone();
        Some((origin, NestedObserver { host, streamed: Mutex::default() }))
    }
}

impl NestedObserver {
    fn redactor(&self) -> Option<Redactor> {
        self.host.scope().redactor.as_ref().map(Redactor::for_nested_agent)
    }

    fn with_streamed<T>(&self, with: impl FnOnce(&mut HashMap<RunId, DeltaRedaction>) -> T) -> T {
        with(&mut self.streamed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for NestedObserver {
    fn observe(&self, event: &Event) {
        let observers = &self.host.scope().observers;
        let redactor = self.redactor();
        if let Some(redactor) = redactor.as_ref().filter(|_| ends_reply(event)) {
            let streamed = self.with_streamed(|streamed| streamed.remove(&event.origin.run));
            let sink = &mut |delta: Delta<'_>| observers.emit_delta(&event.origin, delta);
            streamed.unwrap_or_default().finish(redactor, sink);
        }
        observers.emit(redactor.as_ref(), || event.clone());
    }

    fn receives_deltas(&self) -> bool {
        self.host.scope().observers.receive_deltas()
    }

    fn observe_delta(&self, origin: &Origin, delta: Delta<'_>) {
        let observers = &self.host.scope().observers;
        let Some(redactor) = self.redactor() else { return observers.emit_delta(origin, delta) };
        let sink = &mut |delta: Delta<'_>| observers.emit_delta(origin, delta);
        // Observers are called without the lock. The pieces of a run arrive one after the other.
        let streamed = self.with_streamed(|streamed| streamed.remove(&origin.run));
        let mut streamed = streamed.unwrap_or_default();
        streamed.push(&redactor, delta, sink);
        self.with_streamed(|all| all.insert(origin.run, streamed));
    }
}

/// Whether no more pieces of a reply follow.
fn ends_reply(event: &Event) -> bool {
    match &event.kind {
        EventKind::Model(event) => matches!(
            event,
            ModelEvent::Replied { .. }
                | ModelEvent::Failed { .. }
                | ModelEvent::ExtractionFailed { .. }
                | ModelEvent::ValidationFailed { .. }
        ),
        EventKind::Run(event) => matches!(event, RunEvent::Finished { .. }),
        _ => false,
    }
}
