//! Events of schedulers, as an observer and as `tracing` receive them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tool_runtime::async_trait;
use tool_runtime::records::{
    Expected, MemoryRecords, Record, RecordList, RecordQuery, Records, StoreError,
};
use tool_runtime::schedule::jiff::SignedDuration;
use tool_runtime::schedule::{MissedPolicy, Schedule, ScheduleEvent, Scheduler, Schedules, Timing};

use super::fixture::{Clock, Log, create, executors, in_memory, time};

const START: &str = "2027-01-01T00:00:00Z";

/// The texts of events, warnings with an exclamation mark.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    fn observe(&self, scheduler: Scheduler) -> Scheduler {
        let events = Arc::clone(&self.0);
        scheduler.on_event(move |event| events.lock().unwrap().push(line(event)))
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn line(event: &ScheduleEvent) -> String {
    let mark = if event.is_warning() { "! " } else { "" };
    let text = event.to_string();
    format!("{mark}{}", text.strip_prefix("schedule `notes` of `ada`").unwrap_or(&text))
}

fn once() -> Timing {
    Timing::once(time("2027-01-01T01:00:00Z"))
}

fn hourly() -> Timing {
    Timing::cron("0 * * * *", "UTC").unwrap()
}

/// Fires what is due at each of the times, and returns the events.
async fn events_of(
    (tool, timing): (&str, Timing),
    change: impl Fn(Schedule) -> Schedule,
    settings: impl Fn(Scheduler) -> Scheduler,
    times: &[&str],
) -> Vec<String> {
    let (store, clock, events) = (in_memory(), Clock::at(START), Events::default());
    create(&store, clock.now(), timing, tool, change).await;
    let scheduler = settings(clock.scheduler(&store, executors(&Log::default())));
    let scheduler = events.observe(scheduler);
    for at in times {
        clock.set(at);
        scheduler.fire_due().await.unwrap();
    }
    events.take()
}

#[tokio::test]
async fn each_outcome_is_an_event() {
    let unchanged = |scheduler: Scheduler| scheduler;
    let due = "2027-01-01T01:00:00Z";
    let fired = events_of(("note", once()), |it| it, unchanged, &[due]).await;
    let expected = [": occurrence 2027-01-01T01:00:00Z fired", " stopped: finished"];
    assert_eq!(fired, expected);

    let failed = events_of(("fail", hourly()), |it| it, unchanged, &[due]).await;
    assert_eq!(failed, ["! : occurrence 2027-01-01T01:00:00Z failed: the desk is locked"]);

    let times = [due, "2027-01-01T01:00:30Z", "2027-01-01T01:01:30Z"];
    let retried = events_of(("read", hourly()), |it| it.max_retries(2), unchanged, &times).await;
    let expected = [
        "! : occurrence 2027-01-01T01:00:00Z is retried in 30s (attempt 2): the desk is locked",
        "! : occurrence 2027-01-01T01:00:00Z is retried in 1m (attempt 3): the desk is locked",
        ": occurrence 2027-01-01T01:00:00Z fired",
    ];
    assert_eq!(retried, expected);

    let skip = |schedule: Schedule| schedule.missed(MissedPolicy::Skip);
    let missed = events_of(("note", hourly()), skip, unchanged, &["2027-01-01T03:30:00Z"]).await;
    let expected =
        ["! : missed occurrences (3) from 2027-01-01T01:00:00Z until 2027-01-01T03:00:00Z"];
    assert_eq!(missed, expected);

    let times = ["2041-01-01T00:00:00Z", due];
    let set_back = events_of(("note", hourly()), |it| it, unchanged, &times).await;
    let expected = "! : clock set back from 2041-01-01T00:00:00Z to 2027-01-01T01:00:00Z";
    assert!(set_back.iter().any(|it| it == expected), "{set_back:?}");

    let times = [due, "2027-01-01T02:00:00Z"];
    let stopped = events_of(("fail", hourly()), |it| it, |it| it.max_failures(2), &times).await;
    assert_eq!(stopped.len(), 3, "{stopped:?}");
    assert_eq!(stopped[2], "!  stopped: failed: 2 occurrences failed in succession");
}

#[tokio::test(start_paused = true)]
async fn interrupted_occurrence_is_an_event_and_so_is_its_retry() {
    for (tool, retries, expected) in [
        ("write_on", 5, "! : occurrence 2027-01-01T01:00:00Z interrupted: it may have run"),
        (
            "read_on",
            1,
            "! : occurrence 2027-01-01T01:00:00Z is retried in 0s (attempt 2): \
             the scheduler ended while it fired the occurrence",
        ),
    ] {
        let (store, clock, events) = (in_memory(), Clock::at(START), Events::default());
        create(&store, clock.now(), hourly(), tool, |it| it.max_retries(retries)).await;
        let scheduler = events.observe(clock.scheduler(&store, executors(&Log::default())));
        clock.set("2027-01-01T01:00:00Z");
        for _ in 0..2 {
            let dropped = tokio::time::timeout(Duration::from_secs(1), scheduler.fire_due());
            _ = dropped.await;
            clock.set_time(clock.now() + SignedDuration::from_secs(61));
        }
        assert_eq!(events.take(), [expected], "{tool}");
    }
}

#[tokio::test]
async fn corrupt_record_is_an_event() {
    let store = MemoryRecords::new();
    store.save("schedules", "ada/mail", Expected::Absent, "{", None).await.unwrap();
    let events = Events::default();
    let schedules = Schedules::new(store);
    let scheduler = Clock::at(START).scheduler(&schedules, executors(&Log::default()));
    events.observe(scheduler).fire_due().await.unwrap_err();
    let emitted = events.take();
    assert_eq!(emitted.len(), 1, "{emitted:?}");
    assert!(emitted[0].starts_with("! the record of `ada/mail` can't be read: "), "{emitted:?}");
}

/// Loses the confirmation of the third save, which is the one of a result.
#[derive(Debug, Default)]
struct Unconfirmed {
    store: MemoryRecords,
    saves: AtomicU32,
}

#[async_trait]
impl Records for Unconfirmed {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        self.store.load(collection, key).await
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        let revision = self.store.save(collection, key, expected, value, order).await?;
        match self.saves.fetch_add(1, Ordering::Relaxed) {
            // The first save creates the schedule, the second one claims the occurrence.
            2 => Err(StoreError::unavailable("the connection broke")),
            _ => Ok(revision),
        }
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        self.store.delete(collection, key, expected).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        self.store.list(collection, query).await
    }
}

#[tokio::test]
async fn outcome_is_emitted_once_if_the_confirmation_of_its_save_was_lost() {
    let (store, events) = (Schedules::new(Unconfirmed::default()), Events::default());
    let clock = Clock::at(START);
    create(&store, clock.now(), hourly(), "fail", |it| it).await;
    clock.set("2027-01-01T01:00:00Z");
    let scheduler = clock.scheduler(&store, executors(&Log::default()));
    events.observe(scheduler).fire_due().await.unwrap();
    let expected = ["! : occurrence 2027-01-01T01:00:00Z failed: the desk is locked"];
    assert_eq!(events.take(), expected);
}

#[tokio::test]
async fn panic_of_an_observer_stops_neither_the_scheduler_nor_the_other_observers() {
    let (store, clock, events) = (in_memory(), Clock::at(START), Events::default());
    create(&store, clock.now(), once(), "note", |it| it).await;
    clock.set("2027-01-01T01:00:00Z");
    let scheduler = clock.scheduler(&store, executors(&Log::default()));
    let scheduler = events.observe(scheduler.on_event(|_| panic!("on purpose")));
    assert_eq!(scheduler.fire_due().await.unwrap(), 1);
    assert_eq!(events.take().len(), 2);
}

#[cfg(feature = "tracing")]
mod traced {
    use std::fmt::Debug;

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record as SpanRecord};
    use tracing::{Event, Level, Metadata, Subscriber};

    use super::*;

    /// Records the level, the fields and the message of each event.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0.push_str(&format!(" {}={value:?}", field.name()));
        }
    }

    impl Subscriber for Lines {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "tool_runtime" && *metadata.level() <= Level::INFO
        }

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &SpanRecord<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[tokio::test]
    async fn each_event_is_emitted_to_tracing_with_its_level() {
        let lines = Lines::default();
        let _lines = tracing::subscriber::set_default(lines.clone());
        for (tool, level, expected) in
            [("note", "INFO", "fired"), ("fail", "WARN", "failed: the desk is locked")]
        {
            let times = ["2027-01-01T01:00:00Z"];
            events_of((tool, hourly()), |it| it, |it| it, &times).await;
            let emitted = std::mem::take(&mut *lines.0.lock().unwrap());
            let message = format!(
                "message=schedule `notes` of `ada`: occurrence 2027-01-01T01:00:00Z {expected}"
            );
            let fields = "principal=\"ada\" schedule=\"notes\"";
            assert_eq!(emitted.len(), 1, "{emitted:?}");
            for part in [level, &message, fields] {
                assert!(emitted[0].contains(part), "{part}: {emitted:?}");
            }
        }
    }
}
