//! Providers that fail too often are left alone for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::policy::{Breaker, Circuit, Passage};
use crate::event::Gate;
use crate::registry::Entry;
use crate::tool::{ToolError, ToolErrorKind};

/// Which providers are left alone when they fail: their calls are held back, and the model is told
/// when to come back. None is, unless something is said of it here.
///
/// What counts is that a tool could not do its work: it failed for the world's sake, was unavailable,
/// took too long or panicked. An answer that says no does not. Each attempt counts. After
/// the cool-down one call is let through to see; what comes of it decides for the rest. A dispatcher
/// and its clones share what they know, over all runs of an agent.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::dispatch::{Breaker, Breakers};
/// use tool_runtime::{Dispatcher, Policy, Registry};
///
/// let breakers = Breakers::default()
///     .each(Breaker::after(5))
///     .provider("github", Breaker::after(3).cool_down(Duration::from_secs(60)));
/// let dispatcher = Dispatcher::new(Registry::new()).policy(Policy::new().breakers(breakers));
/// # let _ = dispatcher;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Breakers {
    each: Option<Breaker>,
    providers: HashMap<String, Breaker>,
}

impl Breakers {
    /// Every provider of which nothing else is said.
    #[must_use]
    pub fn each(mut self, breaker: Breaker) -> Self {
        self.each = Some(breaker);
        self
    }

    /// This provider.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>, breaker: Breaker) -> Self {
        self.providers.insert(name.into(), breaker);
        self
    }
}

/// What is known of the providers; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Circuits(Option<Arc<Known>>);

#[derive(Debug)]
struct Known {
    breakers: Breakers,
    begun: Instant,
    circuits: Mutex<HashMap<String, Arc<Mutex<Circuit>>>>,
}

impl Circuits {
    pub(super) fn of(breakers: Breakers) -> Self {
        let circuits = Mutex::default();
        Self(Some(Arc::new(Known { breakers, begun: Instant::now(), circuits })))
    }

    /// Whether calls of this tool may be held back.
    #[inline]
    pub(super) fn are_set(&self) -> bool {
        self.0.is_some()
    }

    /// What its provider's calls go through.
    pub(super) fn of_provider(&self, entry: &Entry) -> Option<Way> {
        let known = self.0.as_ref()?;
        let provider = entry.provider()?;
        let breaker = known.breakers.providers.get(provider).or(known.breakers.each.as_ref())?;
        let mut circuits = lock(&known.circuits);
        let circuit = match circuits.get(provider) {
            Some(circuit) => Arc::clone(circuit),
            None => {
                let circuit = Arc::new(Mutex::new(Circuit::new(*breaker)));
                circuits.insert(provider.to_owned(), Arc::clone(&circuit));
                circuit
            }
        };
        Some(Way { provider: provider.to_owned(), circuit, begun: known.begun })
    }
}

/// The way of calls to one provider.
#[derive(Debug)]
pub(super) struct Way {
    provider: String,
    circuit: Arc<Mutex<Circuit>>,
    begun: Instant,
}

impl Way {
    /// Whether a call would be let through.
    pub(super) fn check(&self) -> Result<(), (Gate, ToolError)> {
        match lock(&self.circuit).closed_for(self.begun.elapsed()) {
            None => Ok(()),
            Some(left) => Err(self.closed(left)),
        }
    }

    /// Lets a call through.
    pub(super) fn enter(self, deadline: Option<Instant>) -> Result<Trial, (Gate, ToolError)> {
        let entered = lock(&self.circuit).enter(self.begun.elapsed());
        match entered {
            Ok(passage) => Ok(Trial { way: self, passage, deadline, is_open: true }),
            Err(left) => Err(self.closed(left)),
        }
    }

    #[cold]
    fn closed(&self, left: Duration) -> (Gate, ToolError) {
        let (provider, seconds) = (&self.provider, left.as_secs_f64().ceil());
        let text = format!(
            "Not run: the tools of `{provider}` fail at the moment. Go on without them, or call \
             again in {seconds} s."
        );
        (Gate::Breaker, ToolError::new(ToolErrorKind::Unavailable, text))
    }
}

/// One call on its way.
#[derive(Debug)]
pub(super) struct Trial {
    way: Way,
    passage: Passage,
    /// Of its batch.
    deadline: Option<Instant>,
    is_open: bool,
}

impl Trial {
    /// An attempt has ended so.
    pub(super) fn note(&mut self, failure: Option<ToolErrorKind>) {
        self.is_open = false;
        let mut circuit = lock(&self.way.circuit);
        match failure {
            // Says nothing of the provider.
            Some(ToolErrorKind::Cancelled | ToolErrorKind::Validation | ToolErrorKind::Pending) => {
                self.is_open = true
            }
            Some(kind) if kind.is_infrastructure() => {
                circuit.failed(self.passage, self.way.begun.elapsed());
            }
            _ => circuit.worked(self.passage),
        }
    }

    /// Whether the provider may be tried once more.
    pub(super) fn may_go_on(&self) -> bool {
        self.way.check().is_ok()
    }

    /// Another attempt begins, if it may.
    pub(super) fn go_on(&mut self) -> bool {
        let entered = lock(&self.way.circuit).enter(self.way.begun.elapsed());
        if let Ok(passage) = entered {
            (self.passage, self.is_open) = (passage, true);
        }
        entered.is_ok()
    }
}

/// Dropped in mid-work a call was stopped, or its batch was past its time: then its provider was as
/// well.
impl Drop for Trial {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let now = self.way.begun.elapsed();
        let mut circuit = lock(&self.way.circuit);
        if self.deadline.is_some_and(|at| at <= Instant::now()) {
            circuit.failed(self.passage, now);
        } else {
            circuit.gave_up(self.passage, now);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
