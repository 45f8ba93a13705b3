//! Fires due schedules.

pub(crate) mod executor;
pub(crate) mod plan;
mod settings;
mod worker;

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::store::{ScheduleError, ScheduleStore};
use executor::Executor;
use settings::Settings;
use worker::Worker;

/// Fires due schedules, in one process or in several that share a store.
///
/// For each due occurrence, one scheduler saves a claim before it performs the action. The claim is
/// a lease: while the action is performed, the scheduler extends it. If the lease expires, the
/// scheduler is taken to have ended, and the occurrence is reported as
/// [interrupted](crate::Outcome::Interrupted). It is repeated only if that is
/// [safe](crate::Schedule::max_retries). The occurrences of one schedule never overlap: one that is
/// due while another is fired waits, or is missed.
///
/// | setting | default |
/// |---|---|
/// | [`lease`](Self::lease) | 60 seconds |
/// | [`poll_interval`](Self::poll_interval) | 5 seconds |
/// | [`grace_period`](Self::grace_period) | 60 seconds |
/// | [`max_concurrent`](Self::max_concurrent) | 16 actions |
/// | [`max_failures`](Self::max_failures) | 10 in succession |
///
/// ```
/// use tool_runtime::agent::session::MemorySessions;
/// use tool_runtime::schedule::jiff::{SignedDuration, Timestamp};
/// use tool_runtime::schedule::{
///     Action, Executor, MemorySchedules, Schedule, ScheduleRecord, ScheduleStore, Scheduler,
///     Timing,
/// };
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let now = Timestamp::now();
/// let timing = Timing::once(now + SignedDuration::from_secs(60));
/// let schedule = Schedule::new("greeting", timing, Action::prompt("ada", "Say hello."), "ada");
/// let schedules = MemorySchedules::new();
/// schedules.save(&ScheduleRecord::new(schedule, now)?).await?;
///
/// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let executor = Executor::new().agent(Agent::new(model, Tools::new()), MemorySessions::new());
/// // A principal without an executor has no rights.
/// let executors = move |principal: &str| (principal == "ada").then(|| executor.clone());
///
/// // A server calls `run` instead, which fires schedules until it is dropped.
/// let scheduler = Scheduler::new().clock(move || now + SignedDuration::from_secs(61));
/// assert_eq!(scheduler.fire_due(executors, schedules.clone()).await?, 1);
/// let record = schedules.load("ada", "greeting").await?.ok_or("it was deleted")?;
/// assert_eq!(record.history[0].outcome.to_string(), "fired: Hello!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Scheduler(Settings);

impl Scheduler {
    /// Creates a scheduler with the default settings.
    pub fn new() -> Self {
        Self(Settings {
            clock: Arc::new(Timestamp::now),
            poll_interval: Duration::from_secs(5),
            max_concurrent: 16,
            lease: Duration::from_secs(60),
            grace_period: Duration::from_secs(60),
            max_failures: 10,
        })
    }

    /// Sets the function that returns the current time. Default: the clock of the system.
    ///
    /// In a test, pass a virtual clock, and pause the clock of tokio, by which the scheduler waits.
    #[must_use]
    pub fn clock(self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Settings { clock: Arc::new(clock), ..self.0 })
    }

    /// Sets the longest time between two polls of the store. Default: 5 seconds.
    ///
    /// An occurrence that was known at the last poll fires at its time. A schedule that another
    /// process creates, or a change of the clock, is noticed after at most this interval.
    #[must_use]
    pub fn poll_interval(self, interval: Duration) -> Self {
        Self(Settings { poll_interval: interval.max(Duration::from_millis(1)), ..self.0 })
    }

    /// Sets the time after which a claim expires unless its scheduler extends it. Default: 60
    /// seconds.
    ///
    /// The scheduler extends a claim whenever a third of this time has passed. All schedulers of a
    /// store need the same value, and clocks that differ by much less.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        Self(Settings { lease: lease.max(Duration::from_millis(10)), ..self.0 })
    }

    /// Sets the grace period: the maximum delay with which an occurrence still fires under
    /// [`MissedPolicy::Skip`](crate::MissedPolicy::Skip). Default: 60 seconds.
    #[must_use]
    pub fn grace_period(self, grace_period: Duration) -> Self {
        Self(Settings { grace_period, ..self.0 })
    }

    /// Sets the maximum number of actions that are performed at the same time. Default: 16.
    #[must_use]
    pub fn max_concurrent(self, actions: usize) -> Self {
        Self(Settings { max_concurrent: actions.max(1), ..self.0 })
    }

    /// Sets the number of failures in succession after which a schedule
    /// [fails](crate::ScheduleState::Failed) and stops. Default: 10.
    #[must_use]
    pub fn max_failures(self, failures: u32) -> Self {
        Self(Settings { max_failures: failures.max(1), ..self.0 })
    }

    /// Fires due schedules until the future is dropped.
    ///
    /// `executors` returns the executor of a principal; `None` if the principal has no rights. It
    /// is called for each occurrence, so revoked rights apply at once.
    ///
    /// # Errors
    /// Returns the error of the store if the store has failed ten times in succession.
    ///
    /// # Cancellation
    /// Actions in progress are cancelled, and reported as interrupted after their lease. Use
    /// [`run_until`](Self::run_until) to wait for them.
    ///
    /// ```
    /// use tool_runtime::schedule::{Executor, MemorySchedules, Scheduler};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let schedules = MemorySchedules::new();
    /// let server = tokio::spawn(async move {
    ///     Scheduler::new().run(|_: &str| Some(Executor::new()), schedules).await
    /// });
    /// server.abort();
    /// # }
    /// ```
    pub async fn run(
        &self,
        executors: impl Fn(&str) -> Option<Executor> + Send + Sync + 'static,
        store: impl ScheduleStore + 'static,
    ) -> Result<(), ScheduleError> {
        self.run_until(executors, store, pending()).await
    }

    /// Fires due schedules until `stop` completes, and then waits for actions in progress.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run).
    ///
    /// ```
    /// use tool_runtime::schedule::{Executor, MemorySchedules, Scheduler};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::schedule::ScheduleError> {
    /// let stop = async { /* Such as `tokio::signal::ctrl_c().await`. */ };
    /// let executors = |_: &str| Some(Executor::new());
    /// Scheduler::new().run_until(executors, MemorySchedules::new(), stop).await
    /// # }
    /// ```
    pub async fn run_until(
        &self,
        executors: impl Fn(&str) -> Option<Executor> + Send + Sync + 'static,
        store: impl ScheduleStore + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ScheduleError> {
        Worker::new(self.0.clone(), executors, store).run_until(stop).await
    }

    /// Fires the occurrences that are due now, waits for their actions, and returns their number.
    ///
    /// Use it in a program that another scheduler starts, such as cron or a serverless platform.
    ///
    /// # Errors
    /// Returns the first error of the store, after the actions in progress have ended.
    ///
    /// ```
    /// use tool_runtime::schedule::{Executor, MemorySchedules, Scheduler};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::schedule::ScheduleError> {
    /// let executors = |_: &str| Some(Executor::new());
    /// assert_eq!(Scheduler::new().fire_due(executors, MemorySchedules::new()).await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn fire_due(
        &self,
        executors: impl Fn(&str) -> Option<Executor> + Send + Sync + 'static,
        store: impl ScheduleStore + 'static,
    ) -> Result<usize, ScheduleError> {
        Worker::new(self.0.clone(), executors, store).fire_due().await
    }
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("poll_interval", &self.0.poll_interval)
            .field("lease", &self.0.lease)
            .finish_non_exhaustive()
    }
}
