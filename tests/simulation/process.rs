//! A process that can crash and freeze, and the session store as it sees it.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};
use tool_runtime::agent::session::{
    MemorySessions, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart,
    SessionQuery, SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::{Message, async_trait};

use super::world::{Fault, Mutation, World, number_of};

/// A process. Clones are the same one.
#[derive(Clone)]
pub struct Process(Arc<ProcessState>);

struct ProcessState {
    world: World,
    life: Mutex<Life>,
    changed: Notify,
    /// The epoch of the lease that it acquired last.
    epoch: AtomicU64,
}

#[derive(Clone, Copy)]
enum Life {
    Runs,
    FrozenUntil(Instant),
    Dead,
}

impl Process {
    pub fn new(world: &World) -> Self {
        Self(Arc::new(ProcessState {
            world: world.clone(),
            life: Mutex::new(Life::Runs),
            changed: Notify::new(),
            epoch: AtomicU64::new(0),
        }))
    }

    pub fn world(&self) -> &World {
        &self.0.world
    }

    pub fn epoch(&self) -> u64 {
        self.0.epoch.load(Ordering::Relaxed)
    }

    fn life(&self) -> Life {
        *self.0.life.lock().unwrap()
    }

    fn set_life(&self, life: Life) {
        *self.0.life.lock().unwrap() = life;
        self.0.changed.notify_one();
    }

    /// Waits while the process is frozen, and forever if it is dead.
    async fn live(&self) {
        loop {
            match self.life() {
                Life::FrozenUntil(thaw) if thaw > Instant::now() => sleep_until(thaw).await,
                Life::Dead => std::future::pending().await,
                Life::Runs | Life::FrozenUntil(_) => return,
            }
        }
    }

    /// A point at which the process waits, so that it may crash or freeze there.
    pub async fn point(&self) {
        self.live().await;
        match self.world().fault() {
            None => return,
            Some(Fault::Delay(span)) => sleep(span).await,
            Some(Fault::Freeze(span)) => self.set_life(Life::FrozenUntil(Instant::now() + span)),
            Some(Fault::Crash) => self.set_life(Life::Dead),
        }
        self.live().await;
    }

    /// Runs the main function of the process. Returns `None` if it crashes.
    pub async fn run<T>(&self, main: impl Future<Output = T>) -> Option<T> {
        let mut main = Box::pin(main);
        loop {
            match self.life() {
                Life::Dead => return None,
                Life::FrozenUntil(thaw) if thaw > Instant::now() => sleep_until(thaw).await,
                Life::Runs | Life::FrozenUntil(_) => tokio::select! {
                    biased;
                    () = self.0.changed.notified() => {}
                    value = &mut main => return Some(value),
                },
            }
        }
    }
}

/// The store of sessions, over a network that delays messages.
#[derive(Clone)]
pub struct ProcessStore {
    store: MemorySessions,
    locks: SessionLocks,
    process: Process,
    /// The leases of a store that grants each of them.
    granted: Arc<AtomicU64>,
}

impl fmt::Debug for ProcessStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessStore")
    }
}

impl ProcessStore {
    pub fn new(store: &MemorySessions, granted: &Arc<AtomicU64>, process: &Process) -> Self {
        Self {
            store: store.clone(),
            locks: SessionLocks::default(),
            process: process.clone(),
            granted: Arc::clone(granted),
        }
    }

    fn mutation(&self) -> Mutation {
        self.process.world().mutation
    }

    /// Returns the state to store, and the calls that it marks as started.
    fn marked_state(&self, state: &str, messages: &[Message]) -> (String, Vec<u64>) {
        let mut value: Value = serde_json::from_str(state).unwrap();
        let Some(turn) = value.get_mut("turn").and_then(Value::as_object_mut) else {
            panic!("a saved run has a turn: {state}");
        };
        if self.mutation() == Mutation::NoMark {
            turn.remove("started_calls");
        }
        let started = turn.get("started_calls").and_then(Value::as_object);
        let is_started = |id: &str| started.is_some_and(|started| started.contains_key(id));
        let calls = messages.iter().flat_map(Message::calls);
        let marked = calls.filter(|call| is_started(call.id.as_str()));
        let marked = marked.map(|call| number_of(&call.arguments.to_text())).collect();
        (value.to_string(), marked)
    }
}

#[async_trait]
impl SessionStore for ProcessStore {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        self.process.point().await;
        let record = self.store.load(session).await;
        self.process.point().await;
        record
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        self.process.point().await;
        let part = self.store.load_range(session, range).await;
        self.process.point().await;
        part
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        self.process.point().await;
        let all = self.store.load(session).await?.map_or(Vec::new(), |record| record.messages);
        let all = [all.get(..write.from).unwrap_or_default(), write.messages].concat();
        let (state, marked) = self.marked_state(write.state, &all);
        let (store, session, messages) =
            (self.store.clone(), session.to_owned(), write.messages.to_vec());
        let (revision, from, status) = (write.revision, write.from, write.status);
        let failure = write.failure.map(ToOwned::to_owned);
        let epoch = write.epoch.filter(|_| self.mutation() != Mutation::NoEpoch);
        let world = self.process.world().clone();
        let latency = world.latency();
        // The message arrives even if the process crashes meanwhile.
        let message = tokio::spawn(async move {
            sleep(latency).await;
            let mut write = SessionWrite::update(revision).messages(from, &messages).state(&state);
            (write.status, write.failure, write.epoch) = (status, failure.as_deref(), epoch);
            let saved = store.save(&session, write).await;
            if saved.is_ok() {
                world.mark(marked);
            }
            saved
        });
        let saved = message.await.unwrap();
        self.process.point().await;
        saved
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        self.store.list(query).await
    }

    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
        self.store.set_title(session, title).await
    }

    async fn rename(&self, from: &str, to: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        self.store.rename(from, to, epoch).await
    }

    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        self.store.delete(session, epoch).await
    }

    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        self.process.point().await;
        let epoch = if self.mutation() == Mutation::NoEpoch {
            self.granted.fetch_add(1, Ordering::Relaxed) + 1
        } else {
            self.store.acquire(session, owner, lifetime).await?
        };
        self.process.0.epoch.store(epoch, Ordering::Relaxed);
        self.process.point().await;
        Ok(epoch)
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        self.process.point().await;
        if self.mutation() == Mutation::NoEpoch {
            return Ok(());
        }
        let renewed = self.store.renew(session, epoch, lifetime).await;
        self.process.point().await;
        renewed
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        self.process.point().await;
        if self.mutation() == Mutation::NoEpoch {
            return Ok(());
        }
        self.store.release(session, epoch).await
    }

    fn locks(&self) -> &SessionLocks {
        &self.locks
    }
}
