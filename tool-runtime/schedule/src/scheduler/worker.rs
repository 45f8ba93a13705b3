//! The loop of a scheduler: looks for due records, claims them, and performs their actions.

use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tool_core::records::{CorruptRecord, StoreError};

use super::executor::Executor;
use super::plan::AttemptResult;
use super::settings::Settings;
use super::{Executors, Scheduler};
use crate::event::ScheduleEvent;
use crate::list::ScheduleQuery;
use crate::record::{Claim, ScheduleRecord};
use crate::schedules::Schedules;

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

/// A scheduler at work.
pub(crate) struct Worker(Arc<Shared>);

struct Shared {
    settings: Settings,
    executors: Arc<Executors>,
    schedules: Schedules,
    /// The random name of this scheduler in claims.
    claimant: String,
    /// The records that were reported as corrupt, by their keys.
    corrupt: Mutex<BTreeMap<String, CorruptRecord>>,
}

/// How long a scheduler waits for the next look.
struct Wait {
    most: Duration,
    /// The counter of the schedules after which a change ends the wait; `None` to wait for none.
    since: Option<u64>,
}

impl Worker {
    pub(crate) fn new(scheduler: &Scheduler) -> Self {
        let Scheduler { schedules, executors, settings } = scheduler.clone();
        let claimant = format!("{:032x}", fastrand::u128(..));
        Self(Arc::new(Shared {
            settings,
            executors,
            schedules,
            claimant,
            corrupt: Mutex::default(),
        }))
    }

    pub(crate) async fn run_until(&self, stop: impl Future<Output = ()>) -> Result<(), StoreError> {
        let mut stop = pin!(stop);
        let mut tasks = JoinSet::new();
        let (mut failures, mut last_sweep) = (0, None::<Instant>);
        loop {
            let is_sweep_due = last_sweep.is_none_or(|at| at.elapsed() >= SWEEP_INTERVAL);
            let wait = match self.look(is_sweep_due, &mut tasks).await {
                Ok(wait) => {
                    failures = 0;
                    if is_sweep_due {
                        last_sweep = Some(Instant::now());
                    }
                    wait
                }
                Err(error) => {
                    self.0.emit_failure(&error);
                    failures += 1;
                    if failures >= MAX_STORE_FAILURES {
                        while tasks.join_next().await.is_some() {}
                        return Err(error);
                    }
                    Wait { most: self.0.settings.poll_interval, since: None }
                }
            };
            let event = self.0.next_event(&mut tasks, wait);
            if is_first(stop.as_mut(), pin!(event)).await {
                break;
            }
        }
        while tasks.join_next().await.is_some() {}
        Ok(())
    }

    pub(crate) async fn fire_due(&self) -> Result<usize, StoreError> {
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
        if let Err(error) = &result {
            self.0.emit_failure(error);
        }
        result?;
        match self.0.corrupt.lock().unwrap_or_else(PoisonError::into_inner).values().next() {
            Some(corrupt) => Err(corrupt.clone().into()),
            None => Ok(count),
        }
    }

    /// Claims what is due, and returns how long to wait for the next look.
    async fn look(&self, is_sweep_due: bool, tasks: &mut JoinSet<()>) -> Result<Wait, StoreError> {
        if is_sweep_due {
            self.sweep(tasks).await?;
        }
        let settings = &self.0.settings;
        self.claim_due(settings.now(), tasks).await?;
        if tasks.len() >= settings.max_concurrent {
            return Ok(Wait { most: settings.poll_interval, since: None });
        }
        let now = settings.now();
        let interval =
            SignedDuration::try_from(settings.poll_interval).unwrap_or(SignedDuration::MAX);
        let horizon = now.saturating_add(interval).unwrap_or(Timestamp::MAX);
        let next = self.0.schedules.due(horizon, 1).await?;
        let wakes_at = next.records.first().and_then(ScheduleRecord::wake_at).unwrap_or(horizon);
        let most = Duration::try_from(wakes_at.duration_since(now)).unwrap_or_default();
        let most = most.clamp(Duration::from_millis(1), settings.poll_interval);
        Ok(Wait { most, since: Some(next.counter) })
    }

    /// Claims the records that are due by this time, as far as there are places for actions.
    async fn claim_due(&self, time: Timestamp, tasks: &mut JoinSet<()>) -> Result<(), StoreError> {
        while let free @ 1.. = self.0.settings.max_concurrent.saturating_sub(tasks.len()) {
            let due = self.0.schedules.due(time, free).await?;
            self.0.report(due.corrupt);
            let mut has_changed = false;
            for record in due.records {
                has_changed |= self.claim(record, tasks).await?;
            }
            if !has_changed {
                break;
            }
        }
        Ok(())
    }

    /// Examines all records: for times that a wrong clock has set, and for corrupt ones.
    async fn sweep(&self, tasks: &mut JoinSet<()>) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let query = ScheduleQuery::all().after(after).limit(SWEEP_PAGE);
            let page = self.0.schedules.list(query).await?;
            self.0.report(page.corrupt);
            let (now, rules) = (self.0.settings.now(), self.0.settings.rules());
            for record in page.records.into_iter().filter(|it| it.is_ahead(now, rules)) {
                self.claim(record, tasks).await?;
            }
            if page.end.is_none() {
                return Ok(());
            }
            after = page.end;
        }
    }

    /// Claims a record and starts its action. Returns whether the record has changed, by this
    /// scheduler or by another one.
    async fn claim(
        &self,
        mut record: ScheduleRecord,
        tasks: &mut JoinSet<()>,
    ) -> Result<bool, StoreError> {
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
        match shared.schedules.save(&record).await {
            Ok(_) => shared.emit(&ScheduleEvent::of_change(&before, &record, now)),
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
    fn emit(&self, events: &[ScheduleEvent]) {
        events.iter().for_each(|event| self.settings.observers.emit(event));
    }

    fn emit_failure(&self, error: &StoreError) {
        self.emit(&[ScheduleEvent::StoreFailed { error: error.to_string() }]);
    }

    /// Reports each corrupt record once.
    fn report(&self, found: Vec<CorruptRecord>) {
        for corrupt in found {
            let (key, revision) = (corrupt.key.clone(), corrupt.revision);
            let mut reported = self.corrupt.lock().unwrap_or_else(PoisonError::into_inner);
            let before = reported.insert(key, corrupt.clone());
            drop(reported);
            if before.is_none_or(|before| before.revision != revision) {
                self.emit(&[ScheduleEvent::Corrupt { record: corrupt }]);
            }
        }
    }

    /// Waits until an action ends or a schedule changes, or for some time.
    async fn next_event(&self, tasks: &mut JoinSet<()>, wait: Wait) {
        let ended = async {
            if tasks.join_next().await.is_none() {
                pending::<()>().await;
            }
        };
        let changed = async {
            // The next look fails as well if the store has failed.
            let is_changed = match wait.since {
                Some(since) => self.schedules.changed(since).await.is_ok(),
                None => false,
            };
            if !is_changed {
                pending::<()>().await;
            }
        };
        _ = timeout(wait.most, is_first(pin!(ended), pin!(changed))).await;
    }

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
                    None => AttemptResult::NoExecutor,
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
        let mut last = None;
        let mut events = Vec::new();
        for attempt in 0..MAX_SAVES {
            match self.try_update(key, &change, &mut events).await {
                Ok(()) => return self.emit(&events),
                Err(error) => {
                    let is_conflict = error.is_conflict();
                    last = Some(error);
                    if is_conflict {
                        tokio::task::yield_now().await;
                    } else {
                        sleep(SAVE_DELAY * attempt).await;
                    }
                }
            }
        }
        // The claim ends with its lease, and the occurrence is reported as interrupted.
        if let Some(error) = last {
            self.emit_failure(&error);
        }
    }

    /// Changes and saves the record, and sets the events of the change. A change that needs no save
    /// leaves them: a save whose confirmation was lost has made it.
    async fn try_update(
        &self,
        (principal, name): &(String, String),
        change: impl Fn(&mut ScheduleRecord) -> bool,
        events: &mut Vec<ScheduleEvent>,
    ) -> Result<(), StoreError> {
        let Some(mut record) = self.schedules.load(principal, name).await? else { return Ok(()) };
        let before = record.clone();
        if change(&mut record) {
            *events = ScheduleEvent::of_change(&before, &record, self.settings.now());
            self.schedules.save(&record).await?;
        }
        Ok(())
    }
}

fn failed(error: String) -> AttemptResult {
    AttemptResult::Failed { error, is_retryable: false }
}

/// Waits for either future, and returns whether it is the first.
async fn is_first(
    mut first: Pin<&mut impl Future<Output = ()>>,
    mut second: Pin<&mut impl Future<Output = ()>>,
) -> bool {
    poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending => second.as_mut().poll(context).map(|()| false),
    })
    .await
}
