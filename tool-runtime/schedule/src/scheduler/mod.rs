//! Fires due schedules.

pub(crate) mod attempt;
mod delay;
mod due;
mod emit;
pub(crate) mod executor;
pub(crate) mod plan;
mod prompt;
mod settings;
#[cfg(test)]
mod tests;
mod worker;

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tool_core::records::StoreError;

use crate::event::ScheduleEvent;
use crate::schedules::Schedules;
use emit::Observers;
use executor::Executor;
use settings::Settings;
use worker::Worker;

/// Returns the executor of a principal.
type Executors = dyn Fn(&str) -> Option<Executor> + Send + Sync;

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
/// | [`max_failures`](Self::max_failures) | no limit |
///
/// ```
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::schedule::jiff::{SignedDuration, Timestamp};
/// use tool_runtime::schedule::{Action, Schedule, ScheduleRecord, Scheduler, Schedules, Timing};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let now = Timestamp::now();
/// let timing = Timing::once(now + SignedDuration::from_secs(60));
/// let schedule = Schedule::new("greeting", timing, Action::prompt("Say hello."), "ada");
/// let schedules = Schedules::new(MemoryRecords::new());
/// schedules.save(&ScheduleRecord::new(schedule, now)?).await?;
///
/// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// // A server calls `run` instead, which fires schedules until it is dropped.
/// let scheduler = Scheduler::with_executor(schedules.clone(), Agent::new(model, Tools::new()))
///     .clock(move || now + SignedDuration::from_secs(61));
/// assert_eq!(scheduler.fire_due().await?, 1);
/// let record = schedules.load("ada", "greeting").await?.ok_or("it was deleted")?;
/// assert_eq!(record.history[0].outcome.to_string(), "fired: Hello!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Scheduler {
    schedules: Schedules,
    executors: Arc<Executors>,
    settings: Settings,
}

impl Scheduler {
    /// Creates a scheduler with the default settings for the schedules of a store.
    ///
    /// `executors` returns the executor of a principal; `None` if the principal has none. It is
    /// called for each occurrence, so revoked rights apply at once. A schedule that is due and
    /// whose principal has no executor [fails](crate::ScheduleState::Failed), until it is
    /// [resumed](crate::ScheduleRecord::resume).
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::{Executor, Scheduler};
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// // Each user has an agent of its own; others have no rights.
    /// let executors = |principal: &str| {
    ///     let agent = Agent::new(ScriptedModel::default(), Tools::new()).name(principal);
    ///     ["ada", "bob"].contains(&principal).then(|| Executor::from(agent))
    /// };
    /// let scheduler = Scheduler::new(MemoryRecords::new(), executors);
    /// ```
    pub fn new(
        store: impl Into<Schedules>,
        executors: impl Fn(&str) -> Option<Executor> + Send + Sync + 'static,
    ) -> Self {
        let settings = Settings {
            clock: Arc::new(Timestamp::now),
            poll_interval: Duration::from_secs(5),
            max_concurrent: 16,
            lease: Duration::from_secs(60),
            grace_period: Duration::from_secs(60),
            max_failures: None,
            observers: Observers::default(),
        };
        Self { schedules: store.into(), executors: Arc::new(executors), settings }
    }

    /// Creates a scheduler that performs all actions with one executor, for a program with one
    /// user. An [`Agent`](tool_core::Agent) is an executor for prompts without a session.
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::Scheduler;
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new());
    /// let scheduler = Scheduler::with_executor(MemoryRecords::new(), agent);
    /// ```
    pub fn with_executor(store: impl Into<Schedules>, executor: impl Into<Executor>) -> Self {
        let executor = executor.into();
        Self::new(store, move |_: &str| Some(executor.clone()))
    }

    fn with(self, change: impl FnOnce(Settings) -> Settings) -> Self {
        Self { settings: change(self.settings), ..self }
    }

    /// Sets the function that returns the current time. Default: the clock of the system.
    ///
    /// In a test, pass a virtual clock, and pause the clock of tokio, by which the scheduler waits.
    #[must_use]
    pub fn clock(self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.with(|it| Settings { clock: Arc::new(clock), ..it })
    }

    /// Sets the longest time between two polls of the store. Default: 5 seconds.
    ///
    /// An occurrence fires at its time, because the scheduler also polls when it is due and when a
    /// schedule [changes](tool_core::records::Records::changed), in any process. A change of the
    /// clock is noticed after at most this interval.
    #[must_use]
    pub fn poll_interval(self, interval: Duration) -> Self {
        self.with(|it| Settings { poll_interval: interval.max(Duration::from_millis(1)), ..it })
    }

    /// Sets the time after which a claim expires unless its scheduler extends it. Default: 60
    /// seconds.
    ///
    /// The scheduler extends a claim whenever a third of this time has passed. All schedulers of a
    /// store need the same value, and clocks that differ by much less.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        self.with(|it| Settings { lease: lease.max(Duration::from_millis(10)), ..it })
    }

    /// Sets the grace period: the maximum delay with which an occurrence still fires under
    /// [`MissedPolicy::Skip`](crate::MissedPolicy::Skip). Default: 60 seconds.
    #[must_use]
    pub fn grace_period(self, grace_period: Duration) -> Self {
        self.with(|it| Settings { grace_period, ..it })
    }

    /// Sets the maximum number of actions that are performed at the same time. Default: 16.
    #[must_use]
    pub fn max_concurrent(self, actions: usize) -> Self {
        self.with(|it| Settings { max_concurrent: actions.max(1), ..it })
    }

    /// Sets the number of occurrences that may fail in succession before a schedule
    /// [fails](crate::ScheduleState::Failed) and stops. Default: no limit.
    ///
    /// Without a limit, a schedule that fails fires less often: after a failure, the next
    /// occurrence waits for at least 30 seconds, and twice as long after each further failure in
    /// succession, at most for an hour. Occurrences that are due meanwhile are handled by the
    /// [policy for missed ones](crate::MissedPolicy).
    #[must_use]
    pub fn max_failures(self, failures: impl Into<Option<u32>>) -> Self {
        let max_failures = failures.into().map(|it| it.max(1));
        self.with(|it| Settings { max_failures, ..it })
    }

    /// Calls a function with each event: outcomes of occurrences, retries, schedules that stop, and
    /// errors of the store. Call it again to add another function.
    ///
    /// The function is called in the task of the scheduler, so it must not block. A panic is
    /// caught. With the feature `tracing`, each event is also emitted to `tracing`, with the target
    /// `tool_runtime`, and the level `WARN` if it [is a warning](ScheduleEvent::is_warning), or
    /// else `INFO`.
    ///
    /// ```
    /// use tool_runtime::records::{Expected, MemoryRecords, Records};
    /// use tool_runtime::schedule::{Executor, Scheduler};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let store = MemoryRecords::new();
    /// store.save("schedules", "ada/mail", Expected::Absent, "{}", None).await?;
    /// let scheduler = Scheduler::new(store, |_: &str| Some(Executor::new()))
    ///     .on_event(|event| println!("{event}"));
    /// let error = scheduler.fire_due().await.unwrap_err();
    /// assert!(error.to_string().starts_with("the record of `ada/mail` can't be read"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn on_event(mut self, observer: impl Fn(&ScheduleEvent) + Send + Sync + 'static) -> Self {
        self.settings.observers.add(observer);
        self
    }

    /// Fires due schedules until the future is dropped.
    ///
    /// # Errors
    /// Returns the error of the store if ten polls in succession have failed.
    ///
    /// # Cancellation
    /// Actions in progress are cancelled, and reported as interrupted after their lease. Use
    /// [`run_until`](Self::run_until) to wait for them.
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::{Executor, Scheduler};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let scheduler = Scheduler::new(MemoryRecords::new(), |_: &str| Some(Executor::new()));
    /// let server = tokio::spawn(async move { scheduler.run().await });
    /// server.abort();
    /// # }
    /// ```
    pub async fn run(&self) -> Result<(), StoreError> {
        self.run_until(pending()).await
    }

    /// Fires due schedules until `stop` completes, and then waits for actions in progress.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run).
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::{Executor, Scheduler};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let stop = async { /* Such as `tokio::signal::ctrl_c().await`. */ };
    /// let scheduler = Scheduler::new(MemoryRecords::new(), |_: &str| Some(Executor::new()));
    /// scheduler.run_until(stop).await
    /// # }
    /// ```
    pub async fn run_until(&self, stop: impl Future<Output = ()>) -> Result<(), StoreError> {
        Worker::new(self).run_until(stop).await
    }

    /// Fires the occurrences that are due now, waits for their actions, and returns their number.
    ///
    /// Use it in a program that another scheduler starts, such as cron or a serverless platform.
    ///
    /// # Errors
    /// Returns the first error of the store, after the actions in progress have ended. If a record
    /// can't be decoded, that is [`StoreError::Corrupt`], after everything else that is due has
    /// been fired.
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::{Executor, Scheduler};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let scheduler = Scheduler::new(MemoryRecords::new(), |_: &str| Some(Executor::new()));
    /// assert_eq!(scheduler.fire_due().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn fire_due(&self) -> Result<usize, StoreError> {
        Worker::new(self).fire_due().await
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("schedules", &self.schedules)
            .field("poll_interval", &self.settings.poll_interval)
            .field("lease", &self.settings.lease)
            .finish_non_exhaustive()
    }
}
