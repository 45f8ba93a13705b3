//! The right to run or change a session: the lock of this process, and the lease of the store.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Session, SessionError, SessionLock, SessionStore};
use crate::agent::persist::store_panicked;
use crate::agent::{Agent, StopReason};
use crate::event::{Origin, RunEvent, RunId};
use crate::guard::{CatchPanic, error_chain};
use crate::tool::StartPermit;

/// The first and the longest time after which a busy session is asked for again.
const POLL: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// The error of a store that does not respond in time.
const TIMED_OUT: &str = "the session store timed out";

/// How long to wait for a session that another process runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Patience {
    /// Fails at once.
    None,
    /// Waits as long as the lease of a process that was killed may last.
    Lifetime,
    /// Waits until the other run has ended.
    Unlimited,
}

/// The right to run or change a session, until it is released or dropped.
pub(in crate::agent) struct SessionHold {
    /// `None` once it was released.
    lease: Option<Arc<HeldLease>>,
    _lock: SessionLock,
}

/// A lease that this process has acquired.
pub(in crate::agent) struct HeldLease {
    /// Emits the events of the lease.
    agent: Agent,
    store: Arc<dyn SessionStore>,
    session: String,
    epoch: u64,
    lifetime: Duration,
    /// Expires with the lease, counted from before the last request for it was sent.
    permit: StartPermit,
    /// The label of the owner that has acquired the session since.
    next_owner: Mutex<Option<String>>,
    /// Stops the run: if the agent is cancelled, and if the lease is lost.
    stop: CancellationToken,
    /// Stops the renewal.
    released: CancellationToken,
}

impl Session {
    /// Acquires the session. Waiting ends if the agent is cancelled.
    pub(super) async fn hold(&self, patience: Patience) -> Result<SessionHold, StopReason> {
        let lock = self.lock().await?;
        self.hold_locked(lock, patience).await
    }

    /// Acquires the session whose lock this is. Only waiting ends if the agent is cancelled, so
    /// that a cancelled run of a free session stops as any other does.
    pub(super) async fn hold_locked(
        &self,
        lock: SessionLock,
        patience: Patience,
    ) -> Result<SessionHold, StopReason> {
        let (started, [mut pause, longest]) = (Instant::now(), POLL);
        loop {
            let requested_at = Instant::now();
            let is_patient = match patience {
                Patience::None => false,
                Patience::Lifetime => started.elapsed() <= self.lease_lifetime,
                Patience::Unlimited => true,
            };
            match self.acquire().await {
                Ok(epoch) => {
                    return Ok(SessionHold {
                        lease: Some(self.lease_of(epoch, requested_at)),
                        _lock: lock,
                    });
                }
                Err(SessionError::Busy { .. }) if is_patient => {}
                Err(error) => return Err(error.into()),
            }
            match &self.agent.config.cancellation {
                None => sleep(pause).await,
                Some(stop) => {
                    stop.run_until_cancelled(sleep(pause)).await.ok_or(StopReason::Cancelled)?;
                }
            }
            pause = longest.min(pause * 2);
        }
    }

    /// Acquires the lease. If the future is dropped meanwhile, the lease is released as soon as it
    /// is acquired.
    async fn acquire(&self) -> Result<u64, SessionError> {
        let (store, session, agent) =
            (Arc::clone(&self.store), self.name.clone(), self.agent.clone());
        let lifetime = self.lease_lifetime;
        let acquire = move || async move {
            let owner = store.locks().owner().clone();
            let acquire = || store.acquire(&session, &owner, lifetime);
            let acquired = CatchPanic::new(acquire, store_panicked).await;
            (acquired, store, session)
        };
        let Ok(runtime) = Handle::try_current() else { return acquire().await.0 };
        let (sender, receiver) = oneshot::channel();
        runtime.spawn(async move {
            let (acquired, store, session) = acquire().await;
            if let Err(Ok(epoch)) = sender.send(acquired) {
                let expires_at = Instant::now() + lifetime;
                release(store.as_ref(), &session, epoch, expires_at, &agent).await;
            }
        });
        // The sender is dropped only if the runtime shuts down.
        receiver
            .await
            .unwrap_or_else(|ended| Err(SessionError::Unavailable { source: ended.into() }))
    }

    fn lease_of(&self, epoch: u64, requested_at: Instant) -> Arc<HeldLease> {
        let cancellation = self.agent.config.cancellation.as_ref();
        let lease = Arc::new(HeldLease {
            agent: self.agent.clone(),
            store: Arc::clone(&self.store),
            session: self.name.clone(),
            epoch,
            lifetime: self.lease_lifetime,
            permit: StartPermit::expiring_at(requested_at + self.lease_lifetime),
            next_owner: Mutex::new(None),
            stop: cancellation.map_or_else(CancellationToken::new, CancellationToken::child_token),
            released: CancellationToken::new(),
        });
        // Without a runtime, the run can't wait either, and the lease ends unless the run is quick.
        if let Ok(runtime) = Handle::try_current() {
            let lease = Arc::clone(&lease);
            runtime.spawn(async move { lease.released.run_until_cancelled(lease.keep()).await });
        }
        lease
    }
}

impl SessionHold {
    /// Returns the lease, until it is released.
    pub(in crate::agent) fn lease(&self) -> Option<&Arc<HeldLease>> {
        self.lease.as_ref()
    }

    /// Returns the epoch that the writes to the session name.
    pub(in crate::agent) fn epoch(&self) -> Option<u64> {
        self.lease.as_ref().map(|lease| lease.epoch)
    }

    /// Lets other processes acquire the session. If the future is dropped, that is done as well.
    pub(in crate::agent) async fn release(mut self) {
        if let Some(lease) = &self.lease {
            lease.released.cancel();
            lease.release().await;
        }
        self.lease = None;
    }
}

impl Drop for SessionHold {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        lease.released.cancel();
        // Without a runtime, other processes wait until the lease has expired.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { lease.release().await });
        }
    }
}

impl HeldLease {
    /// Returns the token that stops the run.
    pub(in crate::agent) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Returns the permit to start calls.
    pub(in crate::agent) fn permit(&self) -> &StartPermit {
        &self.permit
    }

    /// Checks whether the run may continue: no other process can have acquired the session.
    pub(in crate::agent) fn check(&self) -> Result<(), SessionError> {
        if self.permit.is_valid() {
            return Ok(());
        }
        let owner = self.next_owner.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Err(SessionError::LeaseLost { session: self.session.clone(), owner })
    }

    /// Renews the lease until it is lost: each third of its lifetime, and more often if that fails.
    async fn keep(&self) {
        let Self { agent, store, session, epoch, lifetime, permit, .. } = self;
        let mut pause = *lifetime / 3;
        let mut has_failed = false;
        loop {
            let expires_at = permit.expires_at();
            sleep_until(expires_at.min(Instant::now() + pause)).await;
            let requested_at = Instant::now();
            let renew = || store.renew(session, *epoch, *lifetime);
            // A connection that hangs must not use up the time for another attempt.
            let limit = expires_at.min(requested_at + *lifetime / 3);
            let error = match timeout_at(limit, CatchPanic::new(renew, store_panicked)).await {
                Ok(Ok(())) => {
                    permit.extend_to(requested_at + *lifetime);
                    pause = *lifetime / 3;
                    has_failed = false;
                    continue;
                }
                Ok(Err(SessionError::LeaseLost { owner, .. })) => return self.lose(owner),
                Ok(Err(error)) => error_chain(&error),
                Err(_) => TIMED_OUT.to_owned(),
            };
            if !mem::replace(&mut has_failed, true) {
                let session = session.clone();
                emit(agent, RunEvent::LeaseRenewalFailed { session, error });
            }
            if !permit.is_valid() {
                return self.lose(None);
            }
            pause = *lifetime / 30;
        }
    }

    fn lose(&self, owner: Option<String>) {
        *self.next_owner.lock().unwrap_or_else(PoisonError::into_inner) = owner;
        self.permit.revoke();
        self.stop.cancel();
    }

    async fn release(&self) {
        let Self { agent, store, session, epoch, permit, .. } = self;
        release(store.as_ref(), session, *epoch, permit.expires_at(), agent).await;
    }
}

/// Releases a lease. If the store can't be reached, the lease expires.
async fn release(
    store: &dyn SessionStore,
    session: &str,
    epoch: u64,
    expires_at: Instant,
    agent: &Agent,
) {
    let release = || store.release(session, epoch);
    let error = match timeout_at(expires_at, CatchPanic::new(release, store_panicked)).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error_chain(&error),
        Err(_) => TIMED_OUT.to_owned(),
    };
    emit(agent, RunEvent::LeaseReleaseFailed { session: session.to_owned(), error });
}

/// Emits an event of a lease, which belongs to no run.
fn emit(agent: &Agent, event: RunEvent) {
    agent.config.dispatcher.emit(&Origin::new(RunId::default(), 0), || event);
}
