//! The right to run or change a session: the lock of this process, and the lease of the store.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
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

/// The least time that a store has to release a lease.
const MIN_RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

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

/// The answer of a store to the request for a lease.
type Acquired = Result<SessionHold, (SessionError, SessionLock)>;

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
        mut lock: SessionLock,
        patience: Patience,
    ) -> Result<SessionHold, StopReason> {
        let (started, [mut pause, longest]) = (Instant::now(), POLL);
        loop {
            let is_patient = match patience {
                Patience::None => false,
                Patience::Lifetime => started.elapsed() <= self.lease_lifetime,
                Patience::Unlimited => true,
            };
            lock = match self.acquire(lock).await? {
                Ok(hold) => return Ok(hold),
                Err((SessionError::Busy { .. }, lock)) if is_patient => lock,
                Err((error, _)) => return Err(error.into()),
            };
            match &self.agent.config.cancellation {
                None => sleep(pause).await,
                Some(stop) => {
                    stop.run_until_cancelled(sleep(pause)).await.ok_or(StopReason::Cancelled)?;
                }
            }
            pause = longest.min(pause * 2);
        }
    }

    /// Asks the store for the lease, in a task: if the future is dropped, the task releases the
    /// lease that the store may have granted, and keeps the lock until it knows.
    async fn acquire(&self, lock: SessionLock) -> Result<Acquired, SessionError> {
        let Ok(runtime) = Handle::try_current() else {
            return Ok(acquired(self.request_lease().await, lock));
        };
        let (session, (sender, receiver)) = (self.clone(), oneshot::channel());
        runtime.spawn(async move {
            let lease = timeout(session.lease_lifetime, session.request_lease()).await;
            let lease = lease.unwrap_or_else(|_| Err(SessionError::unavailable(TIMED_OUT)));
            // Without a receiver, the hold is dropped, which releases the lease.
            sender.send(acquired(lease, lock)).is_ok()
        });
        // The sender is dropped only if the runtime shuts down.
        receiver.await.map_err(SessionError::unavailable)
    }

    async fn request_lease(&self) -> Result<Arc<HeldLease>, SessionError> {
        let (store, requested_at) = (self.store.as_ref(), Instant::now());
        let acquire = || store.acquire(&self.name, store.locks().owner(), self.lease_lifetime);
        let epoch = CatchPanic::new(acquire, store_panicked).await?;
        Ok(self.lease_of(epoch, requested_at))
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

fn acquired(lease: Result<Arc<HeldLease>, SessionError>, lock: SessionLock) -> Acquired {
    match lease {
        Ok(lease) => Ok(SessionHold { lease: Some(lease), _lock: lock }),
        Err(error) => Err((error, lock)),
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

    /// Releases the lease. A lease that may be lost is released as well, because only the
    /// connection may have failed; if that fails too, no event is emitted.
    async fn release(&self) {
        let Self { agent, store, session, epoch, permit, .. } = self;
        let must_release = permit.is_valid();
        let limit = permit.expires_at().max(Instant::now() + MIN_RELEASE_TIMEOUT);
        let release = || store.release(session, *epoch);
        let error = match timeout_at(limit, CatchPanic::new(release, store_panicked)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error_chain(&error),
            Err(_) => TIMED_OUT.to_owned(),
        };
        if must_release {
            emit(agent, RunEvent::LeaseReleaseFailed { session: session.clone(), error });
        }
    }
}

/// Emits an event of a lease, which belongs to no run.
fn emit(agent: &Agent, event: RunEvent) {
    agent.config.dispatcher.emit(&Origin::new(RunId::default(), 0), || event);
}
