//! Checks of records that can't be read.

use tool_core::records::{
    CorruptRecord, Expected, Position, RecordList, RecordQuery, Records, StoreError,
};

use super::operations::{list, list_all, load, save};
use crate::Violation;
use crate::violation::{ensure, ensure_eq, failed};

const LOADED: &str = "loading a damaged record is the error `Corrupt` with its key";
const OTHERS: &str = "a damaged record affects no other";
const LISTED: &str = "a damaged record is listed as corrupt, with its revision and order";
const PAGES: &str = "pages from end to end have each damaged record once";
const EXPECTED: &str = "a damaged record exists: only what is expected replaces it";
const REPLACED: &str = "a damaged record is replaced by its revision or by `Expected::Any`";
const DELETED: &str = "a damaged record is deleted by its revision or by `Expected::Any`";

/// The keys of the records, of which the middle one is damaged.
const KEYS: [&str; 3] = ["a", "b", "c"];
const ORDER: i64 = 5;

/// Saves three records, and returns the revision of the one to damage.
pub(super) async fn fill(store: &dyn Records) -> Result<u64, Violation> {
    let [first, middle, last] = KEYS;
    save(store, "c", (first, "1", Some(ORDER)), OTHERS).await?;
    let revision = save(store, "c", (middle, "2", Some(ORDER)), OTHERS).await?;
    save(store, "c", (last, "3", Some(ORDER)), OTHERS).await?;
    Ok(revision)
}

/// Checks what is read of a collection with a damaged record.
pub(super) async fn check_reads(store: &dyn Records, revision: u64) -> Result<(), Violation> {
    ensure_corrupt(store).await?;
    for key in ["a", "c"] {
        let record = load(store, "c", key, OTHERS).await?;
        ensure(record.is_some(), OTHERS, "the record", || format!("none of `{key}`"))?;
    }
    ensure_eq(OTHERS, &load(store, "c", "missing", OTHERS).await?, &None)?;
    let after_b = || Position::new("b", ORDER);
    for (query, keys, is_listed) in [
        (RecordQuery::all(), vec!["a", "c"], true),
        (RecordQuery::all().prefix("b"), vec![], true),
        (RecordQuery::all().prefix("c"), vec!["c"], false),
        (RecordQuery::all().order_up_to(ORDER), vec!["a", "c"], true),
        (RecordQuery::all().order_up_to(ORDER - 1), vec![], false),
        (RecordQuery::all().after(Position::new("a", ORDER)), vec!["c"], true),
        (RecordQuery::all().after(after_b()), vec!["c"], false),
        (RecordQuery::all().order_up_to(ORDER).after(after_b()), vec!["c"], false),
        (RecordQuery::all().limit(0), vec![], false),
    ] {
        let found = list(store, "c", &query, LISTED).await?;
        let readable: Vec<_> = found.records.iter().map(|it| it.key.as_str()).collect();
        ensure_eq(OTHERS, &readable, &keys)?;
        let corrupt = found.corrupt.iter().map(|it| (it.key.as_str(), it.revision, it.order));
        let expected = is_listed.then_some(("b", revision, Some(ORDER)));
        let describe = |corrupt: Vec<_>| format!("{corrupt:?} for {query:?}");
        let expected = describe(expected.into_iter().collect());
        ensure_eq(LISTED, &describe(corrupt.collect()), &expected)?;
    }
    for query in [RecordQuery::all(), RecordQuery::all().order_up_to(ORDER)] {
        check_pages(store, query.limit(1)).await?;
    }
    Ok(())
}

async fn check_pages(store: &dyn Records, mut page: RecordQuery<'_>) -> Result<(), Violation> {
    let mut found = Vec::new();
    loop {
        let RecordList { records, corrupt, .. } = list(store, "c", &page, PAGES).await?;
        let mut positions: Vec<_> = records.iter().map(Position::from).collect();
        positions.extend(corrupt.iter().map(Position::from));
        let mut list = RecordList::new(0, records);
        list.corrupt = corrupt;
        let Some(end) = list.end(&page) else { break };
        found.extend(positions.into_iter().map(|it| it.key));
        page = page.after(end);
        ensure(found.len() <= KEYS.len(), PAGES, "an end", || format!("{found:?} …"))?;
    }
    found.sort();
    ensure_eq(PAGES, &found, &KEYS.map(str::to_owned).to_vec())
}

async fn ensure_corrupt(store: &dyn Records) -> Result<(), Violation> {
    let loaded = store.load("c", "b").await;
    let is_corrupt = matches!(&loaded, Err(StoreError::Corrupt { key, .. }) if key == "b");
    ensure(is_corrupt, LOADED, "`Corrupt` of `b`", || format!("{loaded:?}"))
}

/// Checks that a damaged record is refused, replaced or deleted as one that exists.
pub(super) async fn check_writes(
    store: &dyn Records,
    expected: Expected,
    is_save: bool,
) -> Result<(), Violation> {
    let before = list_all(store, "c", EXPECTED).await?;
    for refused in [Expected::Absent, Expected::Revision(u64::MAX)] {
        let saved = store.save("c", "b", refused, "new", None).await;
        let is_conflict =
            |written: &Result<_, StoreError>| written.as_ref().is_err_and(StoreError::is_conflict);
        ensure(is_conflict(&saved), EXPECTED, "a conflict", || format!("{saved:?}"))?;
        let deleted = store.delete("c", "b", refused).await;
        ensure(is_conflict(&deleted), EXPECTED, "a conflict", || format!("{deleted:?}"))?;
    }
    ensure_eq(EXPECTED, &list_all(store, "c", EXPECTED).await?, &before)?;
    ensure_corrupt(store).await?;
    // Writes of others leave it as it is.
    let counter = save(store, "c", ("d", "4", None), OTHERS).await?;
    ensure_eq(OTHERS, &list_all(store, "c", OTHERS).await?.corrupt, &before.corrupt)?;
    let revision = before.corrupt.first().map_or(0, |corrupt: &CorruptRecord| corrupt.revision);
    let expected = match expected {
        Expected::Revision(_) => Expected::Revision(revision),
        other => other,
    };
    let rule = if is_save { REPLACED } else { DELETED };
    let written = if is_save {
        store.save("c", "b", expected, "new", None).await
    } else {
        store.delete("c", "b", expected).await
    };
    let written = written.map_err(failed(rule))?;
    ensure(written > counter, rule, "a higher revision", || written.to_string())?;
    let value = load(store, "c", "b", rule).await?.map(|it| it.value);
    ensure_eq(rule, &value.as_deref(), &is_save.then_some("new"))?;
    let after = list_all(store, "c", rule).await?;
    let found = (after.records.len(), after.corrupt.len());
    ensure_eq(rule, &found, &(3 + usize::from(is_save), 0))
}
