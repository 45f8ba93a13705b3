use super::records::{record, second};
use super::{Violation, ensure_eq, failed};
use crate::{ScheduleQuery, ScheduleRecord, ScheduleState, ScheduleStore};

/// Returns the names of records.
fn names(records: &[ScheduleRecord]) -> Vec<&str> {
    records.iter().map(|record| record.schedule.name.as_str()).collect()
}

pub(super) async fn check_lists<S: ScheduleStore>(store: &S) -> Result<(), Violation> {
    const RULE: &str = "a list has the records of the query in their order";
    let fail = failed(RULE);
    for (name, principal) in
        [("b", "ada"), ("a", "bob"), ("ä", "ada"), ("B", "ada"), ("b", "bob"), ("aa", "ada")]
    {
        let mut record = record(name, 10);
        record.schedule.principal = principal.to_owned();
        store.save(&record).await.map_err(&fail)?;
    }
    let all = ScheduleQuery::all();
    let cases: [(ScheduleQuery<'_>, &[&str]); 7] = [
        (all, &["B", "aa", "b", "ä", "a", "b"]),
        (all.limit(2), &["B", "aa"]),
        (all.after("ada", "b").limit(2), &["ä", "a"]),
        (all.after("bob", "b"), &[]),
        (all.principal("bob"), &["a", "b"]),
        (all.principal("ada").after("ada", "aa").limit(1), &["b"]),
        (all.principal("Ada"), &[]),
    ];
    for (query, expected) in cases {
        let listed = store.list(query).await.map_err(&fail)?;
        ensure_eq(RULE, &names(&listed).as_slice(), &expected)?;
    }
    Ok(())
}

pub(super) async fn check_due<S: ScheduleStore>(store: &S) -> Result<(), Violation> {
    const RULE: &str = "due records are those that wake until then, the earliest first";
    let fail = failed(RULE);
    for (name, wakes_at) in [("late", 300), ("b", 100), ("a", 100), ("early", 50), ("past", -5)] {
        store.save(&record(name, wakes_at)).await.map_err(&fail)?;
    }
    let mut paused = ScheduleRecord { state: ScheduleState::Paused, ..record("paused", 10) };
    paused.revision = store.save(&paused).await.map_err(&fail)?;
    for (time, limit, expected) in [
        (-6, 10, &[][..]),
        (50, 10, &["past", "early"]),
        (299, 10, &["past", "early", "a", "b"]),
        (300, 10, &["past", "early", "a", "b", "late"]),
        (300, 3, &["past", "early", "a"]),
        (300, 0, &[]),
    ] {
        let due = store.due(second(time), limit).await.map_err(&fail)?;
        ensure_eq(RULE, &names(&due).as_slice(), &expected)?;
    }
    paused.state = ScheduleState::Active;
    paused.revision = store.save(&paused).await.map_err(&fail)?;
    let due = store.due(second(10), 10).await.map_err(&fail)?;
    ensure_eq("a saved record is due at its new time", &names(&due), &vec!["past", "paused"])?;
    store.delete("principal", "paused", paused.revision).await.map_err(&fail)?;
    let due = store.due(second(10), 10).await.map_err(&fail)?;
    ensure_eq("a deleted record is not due", &names(&due), &vec!["past"])
}
