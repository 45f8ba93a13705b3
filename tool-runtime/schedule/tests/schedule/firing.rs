//! Claims, leases, retries and states, with one scheduler and with several.

use std::time::Duration;

use tokio::time::{Instant, advance, sleep};
use tool_runtime::schedule::jiff::{SignedDuration, Timestamp};
use tool_runtime::schedule::{
    Action, Outcome, Schedule, ScheduleRecord, ScheduleState, Scheduler, Schedules, Timing,
};
use tool_runtime::store::Sqlite;

use super::fixture::{Clock, Folder, Log, create, executors, in_memory, load, time};

const START: &str = "2027-01-01T00:00:00Z";

fn in_an_hour() -> Timing {
    Timing::once(time("2027-01-01T01:00:00Z"))
}

/// Returns a scheduler whose clock follows the clock of tokio, which tests pause.
fn paced_scheduler(store: &Schedules, log: &Log) -> Scheduler {
    let (start, started_at) = (time(START), Instant::now());
    Scheduler::new(store.clone(), executors(log))
        .clock(move || start + SignedDuration::try_from(started_at.elapsed()).unwrap())
}

#[tokio::test]
async fn safe_calls_are_retried_and_others_are_not() {
    for (tool, retries, expected_calls, expected) in [
        ("read", 2, 3, "fired: read"),
        ("read", 1, 2, "failed: the desk is locked"),
        ("read", 0, 1, "failed: the desk is locked"),
        ("fail", 5, 1, "failed: the desk is locked"),
        ("missing", 5, 0, "failed: "),
    ] {
        let (store, log) = (in_memory(), Log::default());
        let clock = Clock::at(START);
        create(&store, clock.now(), in_an_hour(), tool, |it| it.max_retries(retries)).await;
        clock.set("2027-01-01T01:00:00Z");
        for _ in 0..10 {
            clock.scheduler(&store, executors(&log)).fire_due().await.unwrap();
            clock.set_time(clock.now() + SignedDuration::from_secs(60));
        }
        assert_eq!(log.take().len(), expected_calls, "{tool} {retries}");
        let record = load(&store).await;
        assert_eq!((record.history.len(), record.state), (1, ScheduleState::Finished));
        let outcome = record.history[0].outcome.to_string();
        assert!(outcome.starts_with(expected), "{tool} {retries}: {outcome}");
    }
}

#[tokio::test]
async fn retry_waits_longer_after_each_attempt() {
    let (store, log) = (in_memory(), Log::default());
    let clock = Clock::at(START);
    create(&store, clock.now(), in_an_hour(), "read", |it| it.max_retries(2)).await;
    for (now, expected_calls) in [
        ("2027-01-01T01:00:00Z", 1),
        ("2027-01-01T01:00:29Z", 1),
        ("2027-01-01T01:00:30Z", 2),
        ("2027-01-01T01:01:29Z", 2),
        ("2027-01-01T01:01:30Z", 3),
    ] {
        clock.set(now);
        clock.scheduler(&store, executors(&log)).fire_due().await.unwrap();
        let record = load(&store).await;
        let calls = match record.history.first().map(|entry| &entry.outcome) {
            Some(Outcome::Fired { attempts, .. }) => *attempts,
            _ => record.retry.unwrap().attempt - 1,
        };
        assert_eq!(calls, expected_calls, "{now}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_scheduler_leaves_an_interrupted_occurrence_that_is_not_repeated() {
    for (tool, retries, expected_calls) in
        [("write_on", 5, 1), ("read_on", 0, 1), ("read_on", 1, 2)]
    {
        let (store, log) = (in_memory(), Log::default());
        let scheduler = paced_scheduler(&store, &log);
        create(&store, time(START), in_an_hour(), tool, |it| it.max_retries(retries)).await;
        let mut calls = 0;
        // Each scheduler ends while it fires, after half an hour of extensions of the lease.
        for _ in 0..3 {
            let run = scheduler.run();
            let hours = Duration::from_secs(2 * 3600);
            assert!(tokio::time::timeout(hours, run).await.is_err());
            calls += log.take().len();
            advance(Duration::from_secs(61)).await;
        }
        assert_eq!(calls, expected_calls, "{tool} {retries}");
        scheduler.run_until(sleep(Duration::from_secs(10))).await.unwrap();
        let record = load(&store).await;
        let outcomes: Vec<_> = record.history.iter().map(|entry| entry.outcome.clone()).collect();
        assert_eq!(outcomes, [Outcome::Interrupted { attempts: expected_calls as u32 }], "{tool}");
        assert_eq!((record.counts.missed, record.state), (1, ScheduleState::Finished));
    }
}

#[tokio::test(start_paused = true)]
async fn extended_lease_keeps_other_schedulers_from_firing() {
    let (store, log) = (in_memory(), Log::default());
    let scheduler = paced_scheduler(&store, &log);
    create(&store, time(START), in_an_hour(), "write_long", |it| it).await;
    let stop = || sleep(Duration::from_secs(2 * 3600));
    let (first, second) = tokio::join!(scheduler.run_until(stop()), scheduler.run_until(stop()),);
    first.and(second).unwrap();
    assert_eq!(log.take(), ["2027-01-01T01:00:00Z"]);
    let record = load(&store).await;
    assert_eq!(record.history.len(), 1);
    assert_eq!(record.history[0].outcome.to_string(), "fired: written");
    assert_eq!(record.history[0].recorded_at, time("2027-01-01T01:10:00Z"));
}

#[tokio::test(start_paused = true)]
async fn stopped_scheduler_waits_for_its_actions() {
    let (store, log) = (in_memory(), Log::default());
    let scheduler = paced_scheduler(&store, &log);
    create(&store, time(START), in_an_hour(), "write_long", |it| it).await;
    let stop = sleep(Duration::from_secs(3660));
    scheduler.run_until(stop).await.unwrap();
    assert_eq!(load(&store).await.history[0].outcome.to_string(), "fired: written");
}

#[tokio::test(start_paused = true)]
async fn running_scheduler_fires_at_the_time_also_what_is_created_later() {
    let (store, log) = (in_memory(), Log::default());
    // The store reports the change.
    let scheduler = paced_scheduler(&store, &log).poll_interval(Duration::from_secs(3600));
    let each_minute = Timing::every(Duration::from_secs(60), time("2027-01-01T00:00:10Z")).unwrap();
    let run = scheduler.run_until(sleep(Duration::from_secs(200)));
    let created = async {
        sleep(Duration::from_secs(2)).await;
        create(&store, time("2027-01-01T00:00:02Z"), each_minute, "note", |it| it).await;
    };
    tokio::join!(run, created).0.unwrap();
    let record = load(&store).await;
    let recorded: Vec<_> = record.history.iter().map(|entry| entry.recorded_at).collect();
    let expected: Vec<Timestamp> = ["00:00:10", "00:01:10", "00:02:10", "00:03:10"]
        .map(|at| time(&format!("2027-01-01T{at}Z")))
        .into();
    // A wait of tokio ends at the next millisecond.
    for (recorded, expected) in recorded.iter().zip(&expected) {
        let late = recorded.duration_since(*expected);
        assert!(late >= SignedDuration::ZERO && late <= SignedDuration::from_millis(5), "{late}");
    }
    assert_eq!(recorded.len(), expected.len());
}

#[tokio::test]
async fn failures_in_succession_stop_the_schedule_until_it_is_resumed() {
    let (store, log) = (in_memory(), Log::default());
    let clock = Clock::at(START);
    let hourly = Timing::cron("0 * * * *", "UTC").unwrap();
    create(&store, clock.now(), hourly, "fail", |it| it).await;
    for _ in 0..20 {
        clock.set_time(clock.now() + SignedDuration::from_hours(1));
        clock.scheduler(&store, executors(&log)).max_failures(3).fire_due().await.unwrap();
    }
    assert_eq!(log.take().len(), 3);
    let mut record = load(&store).await;
    assert_eq!(record.state, ScheduleState::Failed);
    assert_eq!(record.stop_reason.as_deref(), Some("3 occurrences failed in succession"));
    record.resume(clock.now()).unwrap();
    store.save(&record).await.unwrap();
    clock.set_time(clock.now() + SignedDuration::from_hours(1));
    clock.scheduler(&store, executors(&log)).fire_due().await.unwrap();
    assert_eq!(log.take().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn failing_schedule_of_each_second_lives_on_with_longer_delays() {
    let (store, log) = (in_memory(), Log::default());
    let scheduler = paced_scheduler(&store, &log);
    let each_second = Timing::every(Duration::from_secs(1), time("2027-01-01T00:00:01Z")).unwrap();
    create(&store, time(START), each_second, "fail", |it| it).await;
    scheduler.run_until(sleep(Duration::from_secs(600))).await.unwrap();
    // After 30, 60, 120 and 240 seconds.
    let expected = ["00:00:01", "00:00:31", "00:01:31", "00:03:31", "00:07:31"];
    assert_eq!(log.take(), expected.map(|at| format!("2027-01-01T{at}Z")));
    let record = load(&store).await;
    assert_eq!((record.state, record.failures), (ScheduleState::Active, 5));
    let counts = record.counts;
    assert_eq!(counts.failed + counts.missed, 7 * 60 + 31);
    assert_eq!(record.wake_at(), record.backoff_until);
    assert!(record.backoff_until > Some(time("2027-01-01T00:15:30Z")));
}

#[tokio::test]
async fn paused_schedule_does_not_fire_and_misses_nothing() {
    let (store, log) = (in_memory(), Log::default());
    let clock = Clock::at(START);
    let hourly = Timing::cron("0 * * * *", "UTC").unwrap();
    create(&store, clock.now(), hourly, "note", |it| it).await;
    let mut record = load(&store).await;
    record.pause();
    record.revision = store.save(&record).await.unwrap();
    clock.set("2027-01-01T05:30:00Z");
    assert_eq!(clock.scheduler(&store, executors(&log)).fire_due().await.unwrap(), 0);
    record.resume(clock.now()).unwrap();
    store.save(&record).await.unwrap();
    clock.set("2027-01-01T06:00:00Z");
    clock.scheduler(&store, executors(&log)).fire_due().await.unwrap();
    assert_eq!(log.take(), ["2027-01-01T06:00:00Z"]);
    assert_eq!(load(&store).await.counts.missed, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_occurrence_is_fired_by_one_of_many_schedulers() {
    let folder = Folder::new();
    let (clock, log) = (Clock::at(START), Log::default());
    let open = async || {
        let file = Sqlite::open(folder.file()).await.unwrap();
        Schedules::new(file.records().await.unwrap())
    };
    let store = open().await;
    for number in 0..40 {
        let at = clock.now() + SignedDuration::from_secs(number + 1);
        let action = Action::call("note", serde_json::json!({}));
        let schedule = Schedule::new(format!("note {number}"), Timing::once(at), action, "ada");
        store.save(&ScheduleRecord::new(schedule, clock.now()).unwrap()).await.unwrap();
    }
    clock.set("2027-01-01T01:00:00Z");
    let mut schedulers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let scheduler = clock.scheduler(&open().await, executors(&log));
        schedulers.spawn(async move { scheduler.fire_due().await.unwrap() });
    }
    let counts = schedulers.join_all().await;
    assert_eq!(counts.iter().sum::<usize>(), 40, "{counts:?}");
    let mut fired = log.take();
    fired.sort();
    fired.dedup();
    assert_eq!(fired.len(), 40);
}
