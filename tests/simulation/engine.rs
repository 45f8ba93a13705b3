//! A durable queue of calls, as an engine for workflows offers it: it keeps each job once under its
//! key, delivers it to workers in any order and perhaps twice, and notices lost workers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tool_runtime::dispatch::CallEnvelope;

use super::world::{Mutation, World, number_of};

/// A worker that sends no heartbeat for so long is lost.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct Engine(Arc<EngineState>);

struct EngineState {
    world: World,
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Default)]
struct Queue {
    jobs: BTreeMap<String, Job>,
    /// The keys of deleted jobs.
    tombstones: BTreeSet<String>,
    next_lease: u64,
}

struct Job {
    /// The envelope, in JSON.
    envelope: String,
    number: u64,
    is_repeatable: bool,
    state: JobState,
}

enum JobState {
    Queued,
    /// Begun under this lease, with the last heartbeat.
    Begun(u64, Instant),
    /// Ended with this execution, in JSON.
    Done(String),
    Lost,
}

/// How a job ended.
pub enum Ended {
    Done(String),
    Lost,
}

impl Engine {
    pub fn new(world: &World) -> Self {
        let (queue, changed) = (Mutex::default(), Notify::new());
        Self(Arc::new(EngineState { world: world.clone(), queue, changed }))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap()
    }

    /// Adds a job, unless there is or was one with its key. The message arrives even if the sender
    /// crashes.
    pub async fn submit(&self, envelope: String, is_repeatable: bool) {
        let (engine, latency) = (self.clone(), self.0.world.latency());
        let message = tokio::spawn(async move {
            sleep(latency).await;
            let CallEnvelope { key, call, .. } = serde_json::from_str(&envelope).unwrap();
            let number = number_of(&call.arguments.to_text());
            let mut queue = engine.queue();
            if queue.tombstones.contains(&key) {
                return;
            }
            if queue.jobs.contains_key(&key) {
                engine.0.world.take_over();
                return;
            }
            let state = JobState::Queued;
            queue.jobs.insert(key, Job { envelope, number, is_repeatable, state });
            engine.0.changed.notify_waiters();
        });
        message.await.unwrap();
    }

    /// Waits for the end of a job.
    pub async fn result(&self, key: &str) -> Ended {
        loop {
            let changed = self.0.changed.notified();
            match self.queue().jobs.get(key).map(|job| &job.state) {
                Some(JobState::Done(execution)) => return Ended::Done(execution.clone()),
                Some(JobState::Lost) => return Ended::Lost,
                _ => {}
            }
            changed.await;
        }
    }

    /// Waits for a job, and returns its key and its envelope. Another worker may get it as well.
    pub async fn next(&self) -> (String, String) {
        loop {
            let changed = self.0.changed.notified();
            {
                let queue = self.queue();
                let is_queued = |job: &Job| matches!(job.state, JobState::Queued);
                let queued: Vec<_> = queue.jobs.iter().filter(|(_, job)| is_queued(job)).collect();
                if !queued.is_empty() {
                    let index = self.0.world.below(queued.len() as u64) as usize;
                    let (key, job) = queued[index];
                    return (key.clone(), job.envelope.clone());
                }
            }
            changed.await;
        }
    }

    /// Records that a worker is about to run a job, and returns its lease. Returns `None` if the
    /// job has begun before.
    pub fn begin(&self, key: &str) -> Option<u64> {
        let mut queue = self.queue();
        queue.next_lease += 1;
        let lease = queue.next_lease;
        let job = queue.jobs.get_mut(key)?;
        let can_begin = matches!(job.state, JobState::Queued);
        if !can_begin && self.0.world.mutation != Mutation::NoBegin {
            return None;
        }
        job.state = JobState::Begun(lease, Instant::now());
        Some(lease)
    }

    /// Returns whether the worker still holds the lease of its job.
    pub fn heartbeat(&self, key: &str, lease: u64) -> bool {
        match self.queue().jobs.get_mut(key).map(|job| &mut job.state) {
            Some(JobState::Begun(holder, last)) if *holder == lease => {
                *last = Instant::now();
                true
            }
            _ => false,
        }
    }

    /// Records the execution of a job, unless the worker has lost it.
    pub fn finish(&self, key: &str, lease: u64, execution: String) {
        if let Some(Job { state, .. }) = self.queue().jobs.get_mut(key)
            && matches!(state, JobState::Begun(holder, _) if *holder == lease)
        {
            *state = JobState::Done(execution);
        }
        self.0.changed.notify_waiters();
    }

    /// Deletes the jobs of a call whose result is saved.
    pub fn delete(&self, number: u64) {
        let mut queue = self.queue();
        let keys = queue.jobs.iter().filter(|(_, job)| job.number == number);
        for key in keys.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            queue.jobs.remove(&key);
            if self.0.world.mutation != Mutation::NoTombstone {
                queue.tombstones.insert(key);
            }
        }
    }

    /// Gives the jobs of lost workers to others, or ends them, for as long as it is polled.
    pub async fn watch_workers(&self) {
        loop {
            sleep(HEARTBEAT_TIMEOUT / 4).await;
            for job in self.queue().jobs.values_mut() {
                let JobState::Begun(_, last) = job.state else { continue };
                if last.elapsed() < HEARTBEAT_TIMEOUT {
                    continue;
                }
                if job.is_repeatable {
                    job.state = JobState::Queued;
                } else {
                    self.0.world.lose(job.number);
                    job.state = JobState::Lost;
                }
            }
            self.0.changed.notify_waiters();
        }
    }
}
