//! The loop of a scheduler: looks for due records, claims them, and performs their actions.

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::executor::Executor;
use super::plan::AttemptResult;
use super::settings::Settings;
use crate::record::{Claim, ScheduleRecord};
use crate::store::{ScheduleError, ScheduleQuery, ScheduleStore};

/// The number of failures of the store in succession that end a scheduler.
const MAX_STORE_FAILURES: u32 = 10;

/// The most attempts to save a result.
const MAX_SAVES: u32 = 50;

/// The wait after a failure of the store, for each failure before it.
const SAVE_DELAY: Duration = Duration::from_millis(50);

/// The time between two looks at the records that are not due, for those that wait for a time which
/// a wrong clock has set.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// The number of records that a sweep loads at a time.
const SWEEP_PAGE: usize = 100;

type Executors = dyn Fn(&str) -> Option<Executor> + Send + Sync;

/// A scheduler at work.
pub(crate) struct Worker(Arc<Shared>);

struct Shared {
    settings: Settings,
    executors: Box<Executors>,
    store: Box<dyn ScheduleStore>,
    /// The random name of this scheduler in claims.
    claimant: String,
}

impl Worker {
    pub(crate) fn new(
        settings: Settings,
        executors: impl Fn(&str) -> Option<Executor> + Send + Sync + 'static,
        store: impl ScheduleStore + 'static,
    ) -> Self {
        let claimant = format!("{:032x}", fastrand::u128(..));
        let (executors, store) = (Box::new(executors), Box::new(store));
        Self(Arc::new(Shared { settings, executors, store, claimant }))
    }

    pub(crate) async fn run_until(
        &self,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ScheduleError> {
        let mut stop = pin!(stop);
        let mut tasks = JoinSet::new();
        let (mut failures, mut last_sweep) = (0, None::<Instant>);
        loop {
            let is_sweep_due = last_sweep.is_none_or(|at| at.elapsed() >= SWEEP_INTERVAL);
            if is_sweep_due {
                last_sweep = Some(Instant::now());
            }
            let wait = match self.look(is_sweep_due, &mut tasks).await {
                Ok(wait) => {
                    failures = 0;
                    wait
                }
                Err(error) => {
                    failures += 1;
                    if failures >= MAX_STORE_FAILURES {
                        while tasks.join_next().await.is_some() {}
                        return Err(error);
                    }
                    self.0.settings.poll_interval
                }
            };
            if is_stopped(stop.as_mut(), next_event(&mut tasks, wait)).await {
                break;
            }
        }
        while tasks.join_next().await.is_some() {}
        Ok(())
    }

    pub(crate) async fn fire_due(&self) -> Result<usize, ScheduleError> {
        let now = self.0.settings.now();
        let (mut tasks, mut count) = (JoinSet::new(), 0);
        let mut result = self.sweep(&mut tasks).await;
        while result.is_ok() {
            result = self.claim_due(now, &mut tasks).await;
            if tasks.is_empty() {
                break;
            }
            // Waits for one action if there is no place for another, or for all.
            count += usize::from(tasks.join_next().await.is_some());
        }
        while tasks.join_next().await.is_some() {
            count += 1;
        }
        result.map(|()| count)
    }

    /// Claims what is due, and returns the time until the next look.
    async fn look(
        &self,
        is_sweep_due: bool,
        tasks: &mut JoinSet<()>,
    ) -> Result<Duration, ScheduleError> {
        if is_sweep_due {
            self.sweep(tasks).await?;
        }
        let settings = &self.0.settings;
        self.claim_due(settings.now(), tasks).await?;
        if tasks.len() >= settings.max_concurrent {
            return Ok(settings.poll_interval);
        }
        let now = settings.now();
        let interval =
            SignedDuration::try_from(settings.poll_interval).unwrap_or(SignedDuration::MAX);
        let horizon = now.saturating_add(interval).unwrap_or(Timestamp::MAX);
        let next = self.0.store.due(horizon, 1).await?;
        let wakes_at = next.first().and_then(ScheduleRecord::wake_at).unwrap_or(horizon);
        let wait = Duration::try_from(wakes_at.duration_since(now)).unwrap_or_default();
        Ok(wait.clamp(Duration::from_millis(1), settings.poll_interval))
    }

    /// Claims the records that are due by this time, as far as there are places for actions.
    async fn claim_due(
        &self,
        time: Timestamp,
        tasks: &mut JoinSet<()>,
    ) -> Result<(), ScheduleError> {
        while let free @ 1.. = self.0.settings.max_concurrent.saturating_sub(tasks.len()) {
            let due = self.0.store.due(time, free).await?;
            let mut has_changed = false;
            for record in due {
                has_changed |= self.claim(record, tasks).await?;
            }
            if !has_changed {
                break;
            }
        }
        Ok(())
    }

    /// Examines all records for times that a wrong clock has set.
    async fn sweep(&self, tasks: &mut JoinSet<()>) -> Result<(), ScheduleError> {
        let mut after: Option<(String, String)> = None;
        loop {
            let mut query = ScheduleQuery::all().limit(SWEEP_PAGE);
            query.after = after.as_ref().map(|(principal, name)| (&**principal, &**name));
            let page = self.0.store.list(query).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some((last.schedule.principal.clone(), last.schedule.name.clone()));
            let (now, rules) = (self.0.settings.now(), self.0.settings.rules());
            for record in page.into_iter().filter(|it| it.is_ahead(now, rules)) {
                self.claim(record, tasks).await?;
            }
        }
    }

    /// Claims a record and starts its action. Returns whether the record has changed, by this
    /// scheduler or by another one.
    async fn claim(
        &self,
        mut record: ScheduleRecord,
        tasks: &mut JoinSet<()>,
    ) -> Result<bool, ScheduleError> {
        let shared = &self.0;
        let before = record.clone();
        let executor = (shared.executors)(&record.schedule.principal);
        let is_repeatable =
            executor.as_ref().is_some_and(|it| it.is_repeatable(&record.schedule.action));
        let (now, rules) = (shared.settings.now(), shared.settings.rules());
        let firing = record.claim(now, rules, &shared.claimant, is_repeatable);
        if record == before {
            return Ok(false);
        }
        match shared.store.save(&record).await {
            Ok(_) => {}
            // Another scheduler was faster.
            Err(error) if error.is_conflict() => return Ok(true),
            Err(error) => return Err(error),
        }
        if let Some(firing) = firing {
            tasks.spawn(Arc::clone(shared).fire(record, firing, executor));
        }
        Ok(true)
    }
}

impl Shared {
    /// Performs the action of a claimed occurrence, and saves its result.
    async fn fire(
        self: Arc<Self>,
        record: ScheduleRecord,
        firing: Claim,
        executor: Option<Executor>,
    ) {
        let key = (record.schedule.principal.clone(), record.schedule.name.clone());
        let mut action = JoinSet::new();
        action.spawn({
            let firing = firing.clone();
            async move {
                match executor {
                    Some(executor) => executor.perform(&record.schedule, &firing).await,
                    None => {
                        let principal = &record.schedule.principal;
                        failed(format!("the principal `{principal}` has no rights"))
                    }
                }
            }
        });
        let interval = self.settings.extension_interval();
        let result = loop {
            match timeout(interval, action.join_next()).await {
                Ok(Some(Ok(result))) => break result,
                Ok(Some(Err(error))) => break failed(format!("the action panicked: {error}")),
                Ok(None) => break failed("the action did not start".into()),
                // If the lease can't be extended, the action continues, and its result corrects the
                // report that it was interrupted.
                Err(_) => {
                    let now = self.settings.now();
                    self.update(&key, |it| it.extend(&firing, now, self.settings.rules())).await;
                }
            }
        };
        let now = self.settings.now();
        self.update(&key, |record| {
            let before = record.clone();
            record.finish(&firing, result.clone(), now, self.settings.rules());
            *record != before
        })
        .await;
    }

    /// Changes the stored record. The change returns whether it has to be saved.
    async fn update(&self, key: &(String, String), change: impl Fn(&mut ScheduleRecord) -> bool) {
        for attempt in 0..MAX_SAVES {
            match self.try_update(key, &change).await {
                Ok(()) => return,
                Err(error) if error.is_conflict() => tokio::task::yield_now().await,
                Err(_) => sleep(SAVE_DELAY * attempt).await,
            }
        }
        // The claim ends with its lease, and the occurrence is reported as interrupted.
    }

    async fn try_update(
        &self,
        (principal, name): &(String, String),
        change: impl Fn(&mut ScheduleRecord) -> bool,
    ) -> Result<(), ScheduleError> {
        let Some(mut record) = self.store.load(principal, name).await? else { return Ok(()) };
        if change(&mut record) {
            self.store.save(&record).await?;
        }
        Ok(())
    }
}

fn failed(error: String) -> AttemptResult {
    AttemptResult::Failed { error, is_retryable: false }
}

/// Waits until an action ends, at most this time.
async fn next_event(tasks: &mut JoinSet<()>, wait: Duration) {
    let ended = async {
        if tasks.join_next().await.is_none() {
            pending::<()>().await;
        }
    };
    _ = timeout(wait, ended).await;
}

/// Waits for either future, and returns whether it is the first.
async fn is_stopped(
    mut stop: Pin<&mut impl Future<Output = ()>>,
    event: impl Future<Output = ()>,
) -> bool {
    let mut event = pin!(event);
    poll_fn(|context| match stop.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending => event.as_mut().poll(context).map(|()| false),
    })
    .await
}
