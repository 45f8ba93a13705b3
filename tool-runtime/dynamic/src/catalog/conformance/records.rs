use super::{Violation, ensure, ensure_conflict, ensure_eq, failed};
use crate::catalog::store::{CatalogRecord, CatalogStore};

/// Keys that a careless store mixes up: by case, spaces, wildcards, or a joined key.
const KEYS: [(&str, &str); 12] = [
    ("tool", "add"),
    ("tool", "Add"),
    ("tool", "add "),
    ("tool", "a%"),
    ("tool", "a_d"),
    ("tool", "a/b"),
    ("tool/a", "b"),
    ("toola", "dd"),
    ("connection", "add"),
    ("tool", "größe"),
    ("tool", "'; DROP TABLE catalog; --"),
    ("tool", "\u{1F600}"),
];

fn sample(number: usize) -> String {
    format!("{{\"number\":{number},\"text\":\"{}\u{1F600}\\u0000\"}}", "x".repeat(number * 997))
}

/// Saves records under all keys, and loads each unchanged.
pub(super) async fn check_samples(store: &impl CatalogStore) -> Result<(), Violation> {
    const RULE: &str = "a saved record is loaded unchanged";
    let mut saved = Vec::new();
    for (number, (kind, name)) in KEYS.into_iter().enumerate() {
        let record = CatalogRecord::new(kind, name, sample(number));
        let revision = store.save(&record).await.map_err(failed(RULE))?;
        saved.push(record.at_revision(revision));
    }
    for record in &saved {
        let stored = store.load(&record.kind, &record.name).await.map_err(failed(RULE))?;
        ensure_eq(RULE, &stored.as_ref(), &Some(record))?;
    }
    let missing = store.load("tool", "missing").await.map_err(failed(RULE))?;
    ensure_eq("a record that was never saved is missing", &missing, &None)
}

/// Writes with current, outdated and future revisions.
pub(super) async fn check_revisions(store: &impl CatalogStore) -> Result<(), Violation> {
    const RULE: &str = "a write with the stored revision succeeds";
    let fail = failed(RULE);
    let record = CatalogRecord::new("tool", "add", "1");
    let first = store.save(&record).await.map_err(&fail)?;
    ensure(first > 0, "the revision of a record is positive", || format!("{first}"))?;
    ensure_conflict("a record is created once", &store.save(&record).await)?;

    let current = CatalogRecord::new("tool", "add", "2").at_revision(first);
    let second = store.save(&current).await.map_err(&fail)?;
    ensure(second > first, "each write has a higher revision", || format!("{first}, {second}"))?;
    ensure_conflict("an outdated save is refused", &store.save(&current).await)?;
    let future = current.clone().at_revision(second + 1);
    ensure_conflict("a save with an unknown revision is refused", &store.save(&future).await)?;
    for revision in [0, first, second + 1] {
        let deleted = store.delete("tool", "add", revision).await;
        ensure_conflict("a deletion with another revision is refused", &deleted)?;
    }
    let deleted = store.delete("tool", "sub", second).await;
    ensure_conflict("a deletion of a missing record is refused", &deleted)?;
    let stored = store.load("tool", "add").await.map_err(&fail)?;
    let expected = current.clone().at_revision(second);
    ensure_eq("a refused write changes nothing", &stored, &Some(expected))?;
    let last = store.revision().await.map_err(&fail)?;
    ensure_eq("a refused write has no revision", &last, &second)?;

    let third = store.delete("tool", "add", second).await.map_err(&fail)?;
    ensure(third > second, "a deletion has a higher revision", || format!("{second}, {third}"))?;
    let stored = store.load("tool", "add").await.map_err(&fail)?;
    ensure_eq("a deleted record is missing", &stored, &None)?;
    ensure_conflict("a deleted record is not saved", &store.save(&current).await)?;
    let fourth = store.save(&record).await.map_err(&fail)?;
    ensure(fourth > third, "a revision is never reused", || format!("{third}, {fourth}"))
}

/// Writes by one handle, and reads by another.
pub(super) async fn check_visibility(
    writer: &impl CatalogStore,
    reader: &impl CatalogStore,
) -> Result<(), Violation> {
    const RULE: &str = "a handle sees at once what the other writes";
    let fail = failed(RULE);
    let record = CatalogRecord::new("tool", "visible", "1");
    let revision = writer.save(&record).await.map_err(&fail)?;
    let record = record.at_revision(revision);
    let stored = reader.load("tool", "visible").await.map_err(&fail)?;
    ensure_eq(RULE, &stored, &Some(record.clone()))?;
    ensure_eq(RULE, &reader.revision().await.map_err(&fail)?, &revision)?;
    let deleted = writer.delete("tool", "visible", revision).await.map_err(&fail)?;
    let listed = reader.list().await.map_err(&fail)?;
    ensure_eq(RULE, &(listed.revision, listed.records.contains(&record)), &(deleted, false))
}
