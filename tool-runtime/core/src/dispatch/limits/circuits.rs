//! Circuit breakers: calls to tool providers that fail repeatedly are blocked for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::dispatch::policy::{AdmissionKind, Breaker, Circuit};
use crate::event::BlockReason;
use crate::registry::Entry;
use crate::tool::{ToolError, ToolErrorKind};

/// The minimum number of circuits before unused ones are searched for. The searches are at powers
/// of two, so that they cost a constant time per circuit.
const MIN_CIRCUITS: usize = 64;

/// Sets which tool providers have a circuit breaker, and when each of them opens.
///
/// An open breaker blocks the calls of its provider, and the model receives the number of seconds
/// after which to call again. Default: no breakers. Tools without a provider have none.
///
/// Each attempt counts. Errors of the tool's [infrastructure](ToolErrorKind::is_infrastructure)
/// count as failures of the provider: transient errors, unavailability, timeouts and panics. Other
/// errors, such as `Failed` and `NotFound`, count as successes; cancelled and pending calls and
/// invalid arguments do not count. After the cool-down, one call probes the provider, and its
/// result closes or reopens the breaker. A dispatcher and its clones share their breakers, over all
/// runs of an agent.
///
/// ```
/// use tool_runtime::dispatch::{Breaker, Breakers};
/// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, ToolError, tool, tools};
///
/// /// Searches the issues.
/// #[tool(effect = "read")]
/// async fn search() -> Result<String, ToolError> {
///     Err(ToolError::transient("the service is down"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let registry = Registry::new();
/// registry.register_all_from("github", tools![search])?;
/// let breakers =
///     Breakers::default().each(Breaker::after(5)).provider("github", Breaker::after(1));
/// let dispatcher = Dispatcher::new(registry).policy(Policy::new().breakers(breakers));
///
/// let call = || vec![ToolCall::new("1", "search", "{}")];
/// let first = dispatcher.dispatch(call()).await;
/// assert!(first[0].failed_with("TOOL_TRANSIENT_FAILURE"));
/// let second = dispatcher.dispatch(call()).await;
/// assert!(second[0].is_blocked());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Breakers {
    each: Option<Breaker>,
    providers: HashMap<String, Breaker>,
}

impl Breakers {
    /// Sets the breaker of every provider that has no breaker yet.
    ///
    /// Each provider has its own state: a failing provider does not block the others. If no tool
    /// has a provider, [`Agent::check`](crate::Agent::check) reports the breaker.
    #[must_use]
    pub fn each(mut self, breaker: Breaker) -> Self {
        self.each = Some(breaker);
        self
    }

    /// Sets the breaker of one provider.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>, breaker: Breaker) -> Self {
        self.providers.insert(name.into(), breaker);
        self
    }

    /// Whether each provider has a breaker, also one that is not named.
    pub(crate) fn has_each(&self) -> bool {
        self.each.is_some()
    }

    /// Returns the names in the breakers of single providers.
    pub(crate) fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }
}

/// The circuit breakers of a dispatcher; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CircuitBreakers(Option<Arc<SharedCircuits>>);

#[derive(Debug)]
struct SharedCircuits {
    breakers: Breakers,
    /// The zero of the times in all circuits.
    epoch: Instant,
    circuits: Mutex<HashMap<String, Arc<Mutex<Circuit>>>>,
}

impl CircuitBreakers {
    pub(crate) fn new(breakers: Breakers) -> Self {
        let circuits = Mutex::default();
        Self(Some(Arc::new(SharedCircuits { breakers, epoch: Instant::now(), circuits })))
    }

    /// Whether calls may be blocked at all.
    pub(crate) fn are_set(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the circuit of the tool's provider, if it has a breaker.
    pub(crate) fn provider_circuit(&self, entry: &Entry) -> Option<ProviderCircuit> {
        let shared = self.0.as_ref()?;
        let provider = entry.provider()?;
        let breakers = &shared.breakers;
        let breaker = breakers.providers.get(provider).or(breakers.each.as_ref())?;
        let mut circuits = lock(&shared.circuits);
        let circuit = match circuits.get(provider) {
            Some(circuit) => Arc::clone(circuit),
            None => {
                // A closed circuit without failures equals a new one.
                if circuits.len() >= MIN_CIRCUITS && circuits.len().is_power_of_two() {
                    circuits.retain(|_, it| Arc::strong_count(it) > 1 || !lock(it).is_new());
                }
                let circuit = Arc::new(Mutex::new(Circuit::new(*breaker)));
                circuits.insert(provider.to_owned(), Arc::clone(&circuit));
                circuit
            }
        };
        Some(ProviderCircuit { provider: provider.to_owned(), circuit, epoch: shared.epoch })
    }
}

/// The circuit breaker of one provider.
#[derive(Debug)]
pub(crate) struct ProviderCircuit {
    provider: String,
    circuit: Arc<Mutex<Circuit>>,
    epoch: Instant,
}

impl ProviderCircuit {
    /// Checks whether a call would be admitted now.
    pub(crate) fn check(&self) -> Result<(), (BlockReason, ToolError)> {
        match lock(&self.circuit).delay(self.epoch.elapsed()) {
            None => Ok(()),
            Some(remaining) => Err(self.blocked(remaining)),
        }
    }

    /// Admits a call.
    pub(crate) fn admit(
        self,
        deadline: Option<Instant>,
    ) -> Result<CircuitGuard, (BlockReason, ToolError)> {
        let admitted = lock(&self.circuit).admit(self.epoch.elapsed());
        match admitted {
            Ok(admission) => {
                Ok(CircuitGuard { circuit: self, admission, deadline, is_unresolved: true })
            }
            Err(remaining) => Err(self.blocked(remaining)),
        }
    }

    fn blocked(&self, remaining: Duration) -> (BlockReason, ToolError) {
        let (provider, seconds) = (&self.provider, remaining.as_secs_f64().ceil());
        let text = format!(
            "Not run: the tools of `{provider}` fail at the moment. Go on without them, or call \
             again in {seconds} s."
        );
        (BlockReason::Breaker, ToolError::new(ToolErrorKind::Unavailable, text))
    }
}

/// A call that was admitted by a circuit breaker, and whose attempts are reported to it.
#[derive(Debug)]
pub(crate) struct CircuitGuard {
    circuit: ProviderCircuit,
    admission: AdmissionKind,
    /// The deadline of the batch.
    deadline: Option<Instant>,
    /// Whether the circuit has no result of the current attempt yet.
    is_unresolved: bool,
}

impl CircuitGuard {
    /// Reports the end of an attempt: its failure, or `None` for a success.
    pub(crate) fn report(&mut self, failure: Option<ToolErrorKind>) {
        self.is_unresolved = false;
        let mut circuit = lock(&self.circuit.circuit);
        match failure {
            // These reveal nothing about the provider.
            Some(
                ToolErrorKind::Cancelled
                | ToolErrorKind::InvalidArguments
                | ToolErrorKind::AwaitingApproval,
            ) => self.is_unresolved = true,
            Some(kind) if kind.is_infrastructure() => {
                circuit.on_failure(self.admission, self.circuit.epoch.elapsed());
            }
            _ => circuit.on_success(self.admission),
        }
    }

    /// Whether another attempt would be admitted now.
    pub(crate) fn allows_retry(&self) -> bool {
        self.circuit.check().is_ok()
    }

    /// Admits another attempt. Returns false if the circuit is open.
    pub(crate) fn admit_retry(&mut self) -> bool {
        let admitted = lock(&self.circuit.circuit).admit(self.circuit.epoch.elapsed());
        if let Ok(admission) = admitted {
            self.admission = admission;
            self.is_unresolved = true;
        }
        admitted.is_ok()
    }
}

/// A call that is dropped during an attempt was cancelled. If the deadline of its batch has passed,
/// that counts as a failure of the provider.
impl Drop for CircuitGuard {
    fn drop(&mut self) {
        if !self.is_unresolved {
            return;
        }
        let now = self.circuit.epoch.elapsed();
        let mut circuit = lock(&self.circuit.circuit);
        if self.deadline.is_some_and(|at| at <= Instant::now()) {
            circuit.on_failure(self.admission, now);
        } else {
            circuit.on_cancel(self.admission, now);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
