use jiff::Timestamp;
use serde_json::json;

use super::{Violation, ensure, ensure_conflict, ensure_eq, failed};
use crate::outcome::HistoryEntry;
use crate::{
    Action, Claim, MissedPolicy, OccurrenceCounts, Outcome, Retry, Schedule, ScheduleRecord,
    ScheduleState, ScheduleStore, Timing,
};

/// Names that a store must tell apart.
const NAMES: [&str; 12] = [
    "mail",
    "Mail",
    "mail ",
    " mail",
    "mäil",
    "ma\u{308}il",
    "mail\0",
    "mail\n",
    "%",
    "_",
    "ma%",
    "'; DROP TABLE schedules; --",
];

/// Returns a time by the seconds since 1970.
pub(super) fn second(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or_default()
}

/// Creates an active record that wakes at this second.
pub(super) fn record(name: &str, wakes_at: i64) -> ScheduleRecord {
    let schedule = Schedule::new(
        name,
        Timing::once(second(wakes_at)),
        Action::prompt("session", "text"),
        "principal",
    );
    ScheduleRecord {
        schedule,
        state: ScheduleState::Active,
        created_at: second(0),
        handled_until: second(0),
        next_at: Some(second(wakes_at)),
        firing: None,
        retry: None,
        failures: 0,
        counts: OccurrenceCounts::default(),
        history: Vec::new(),
        revision: 0,
    }
}

/// Returns records with every kind of content.
fn samples() -> Vec<ScheduleRecord> {
    let plain = record("plain", 10);
    let at: Timestamp = second(1_800_000_000);
    let zone = || "Europe/Oslo".to_owned();
    let timings = [
        Timing::once(Timestamp::MAX),
        Timing::At { time: at.to_zoned(jiff::tz::TimeZone::UTC).datetime(), zone: zone() },
        Timing::Every { seconds: u32::MAX, from: Timestamp::MIN },
        Timing::Cron { pattern: "*/5 0 L * MON#2".into(), zone: zone() },
    ];
    let actions = [
        Action::prompt("", "\0 \u{202e} 🦀 \"'"),
        Action::call("tool", json!({ "a": [1.5, null, "x"], "": { "b": u64::MAX } })),
        Action::message(None, ""),
        Action::message(Some("s".into()), "text"),
    ];
    let states = [
        ScheduleState::Active,
        ScheduleState::Paused,
        ScheduleState::Failed { reason: "no\nreason".into() },
        ScheduleState::Finished,
    ];
    let outcomes = [
        Outcome::Fired { attempts: 1, summary: "done".into() },
        Outcome::Failed { attempts: 3, error: "error".into() },
        Outcome::Missed { last: at, count: u64::MAX },
        Outcome::Interrupted { attempts: 2 },
        Outcome::ClockSetBack { from: at },
    ];
    let history: Vec<_> =
        outcomes.into_iter().map(|it| HistoryEntry::new(at, second(5), it)).collect();
    let mut samples = Vec::new();
    for ((timing, action), state) in timings.into_iter().zip(actions).zip(states) {
        let mut sample = ScheduleRecord { state, history: history.clone(), ..plain.clone() };
        sample.schedule.timing = timing;
        sample.schedule.action = action;
        sample.schedule.missed = MissedPolicy::All { max_occurrences: 7 };
        samples.push(sample);
    }
    let firing = Claim {
        at,
        attempt: u32::MAX,
        lease_until: at,
        claimant: "me".into(),
        is_repeatable: true,
    };
    samples.push(ScheduleRecord { firing: Some(firing), next_at: None, ..plain.clone() });
    let retry = Retry { at, attempt: 2, not_before: at };
    samples.push(ScheduleRecord { retry: Some(retry), failures: 9, ..plain });
    samples
}

pub(super) async fn check_samples<S: ScheduleStore>(store: &S) -> Result<(), Violation> {
    const RULE: &str = "a record is stored unchanged";
    let fail = failed(RULE);
    let mut saved = Vec::new();
    let renamed = NAMES.iter().map(|name| record(name, 10));
    for (at, mut sample) in samples().into_iter().chain(renamed).enumerate() {
        if sample.schedule.name == "plain" {
            sample.schedule.name = format!("sample {at}");
        }
        sample.revision = store.save(&sample).await.map_err(&fail)?;
        ensure(sample.revision > 0, "a revision is positive", || "it is 0".into())?;
        saved.push(sample);
    }
    for sample in &saved {
        let loaded = store.load("principal", &sample.schedule.name).await.map_err(&fail)?;
        ensure_eq(RULE, &loaded.as_ref(), &Some(sample))?;
    }
    for sample in &saved {
        store.delete("principal", &sample.schedule.name, sample.revision).await.map_err(&fail)?;
        let loaded = store.load("principal", &sample.schedule.name).await.map_err(&fail)?;
        ensure_eq("a deleted record does not exist", &loaded, &None)?;
    }
    Ok(())
}

pub(super) async fn check_revisions<S: ScheduleStore>(store: &S) -> Result<(), Violation> {
    const RULE: &str = "a write is refused unless its revision is the stored one";
    let fail = failed("a write on the stored revision succeeds");
    let mut current = record("mail", 10);
    let is_missing = ScheduleRecord { revision: 1, ..current.clone() };
    ensure_conflict(RULE, &store.save(&is_missing).await)?;
    ensure_conflict(RULE, &store.delete("principal", "mail", 0).await)?;
    let mut revisions = Vec::new();
    for round in 0..3 {
        let created = ScheduleRecord { revision: 0, ..current.clone() };
        current.revision = store.save(&created).await.map_err(&fail)?;
        revisions.push(current.revision);
        ensure_conflict(RULE, &store.save(&created).await)?;
        current.next_at = Some(second(20 + round));
        let outdated = current.clone();
        current.revision = store.save(&current).await.map_err(&fail)?;
        revisions.push(current.revision);
        ensure_conflict(RULE, &store.save(&outdated).await)?;
        ensure_conflict(RULE, &store.delete("principal", "mail", outdated.revision).await)?;
        ensure_conflict(RULE, &store.delete("principal", "mail", 0).await)?;
        let loaded = store.load("principal", "mail").await.map_err(&fail)?;
        ensure_eq("a refused write changes nothing", &loaded.as_ref(), &Some(&current))?;
        store.delete("principal", "mail", current.revision).await.map_err(&fail)?;
        ensure_conflict(RULE, &store.save(&current).await)?;
    }
    let count = revisions.len();
    revisions.sort_unstable();
    revisions.dedup();
    ensure(revisions.len() == count, "a revision is never reused", || format!("{revisions:?}"))
}

pub(super) async fn check_visibility<S: ScheduleStore>(
    writer: &S,
    reader: &S,
) -> Result<(), Violation> {
    const RULE: &str = "a handle sees at once what another one writes";
    let fail = failed(RULE);
    let mut current = record("visible", 10);
    current.revision = writer.save(&current).await.map_err(&fail)?;
    ensure_eq(
        RULE,
        &reader.load("principal", "visible").await.map_err(&fail)?.as_ref(),
        &Some(&current),
    )?;
    current.next_at = Some(second(20));
    current.revision = reader.save(&current).await.map_err(&fail)?;
    let due = writer.due(second(20), 1).await.map_err(&fail)?;
    ensure_eq(RULE, &due.first(), &Some(&current))?;
    writer.delete("principal", "visible", current.revision).await.map_err(&fail)?;
    ensure_eq(RULE, &reader.load("principal", "visible").await.map_err(&fail)?, &None)
}
