//! Checks parts of records, pages of the list, forks, renamed sessions and locks.

use super::samples::messages;
use crate::Violation;
use crate::violation::{ensure, ensure_eq, failed};
use tool_core::agent::session::{
    SessionError, SessionPart, SessionQuery, SessionRecord, SessionStore, SessionWrite,
};

const RANGE: &str = "a part has the messages of its range, and the count of all";
const PAGES: &str = "a page has the next names with the prefix, up to the limit";
const FORK: &str = "a fork has the messages before the write and those of the write";
const FORKED: &str = "a fork does not change the session";
const FORK_CONFLICT: &str = "a fork of another revision is a conflict";
const FORK_EXISTING: &str = "a fork does not replace a session";
const RENAMED: &str = "a renamed session has only its new name";
const RENAME_MISSING: &str = "a session that does not exist is not renamed";
const RENAME_EXISTING: &str = "a renamed session does not replace another";
const LOCKS: &str = "a store has the same locks each time";

/// Checks that a part has the messages of its range, wherever the range begins and ends.
pub(super) async fn check_ranges(store: &dyn SessionStore) -> Result<(), Violation> {
    let missing = store.load_range("s", 0..1).await.map_err(failed(RANGE))?;
    ensure_eq(RANGE, &missing, &None)?;
    let all = messages();
    let write = SessionWrite::create().messages(0, &all).state("state");
    let revision = store.save("s", write).await.map_err(failed(RANGE))?;
    let ends = [0, 1, 3, all.len() - 1, all.len(), all.len() + 1, usize::MAX];
    for (start, end) in ends.iter().flat_map(|start| ends.map(|end| (*start, end))) {
        let part = store.load_range("s", start..end).await.map_err(failed(RANGE))?;
        let last = end.min(all.len());
        let from = start.min(last);
        let expected = all.get(from..last).unwrap_or_default().to_vec();
        let expected = SessionPart::new(from, expected, all.len(), "state", revision);
        ensure_eq(RANGE, &part, &Some(expected))?;
    }
    Ok(())
}

/// Checks that pages of the list have all names in order, for prefixes that are hard to match.
pub(super) async fn check_pages(store: &dyn SessionStore) -> Result<(), Violation> {
    let names = [
        "",
        "A/1",
        "a",
        "a%",
        "a%1",
        "a/",
        "a/1",
        "a/10",
        "a/2",
        "a0",
        "a_",
        "ab",
        "\u{e9}/1",
        "\u{10ffff}",
        "\u{10ffff}1",
    ];
    for name in names {
        store.save(name, SessionWrite::create()).await.map_err(failed(PAGES))?;
    }
    for prefix in ["", "a", "a/", "a%", "a_", "A", "\u{e9}", "\u{10ffff}", "b", "a/1"] {
        for limit in [0, 1, 2, 100] {
            for after in [None, Some(""), Some("a"), Some("a/1"), Some("a/11"), Some("b")] {
                let mut query = SessionQuery::all().prefix(prefix).limit(limit);
                query.after = after;
                let listed = store.list(query).await.map_err(failed(PAGES))?;
                let listed: Vec<_> = listed.iter().map(|info| info.session.as_str()).collect();
                let is_selected = |name: &&str| {
                    name.starts_with(prefix) && after.is_none_or(|after| *name > after)
                };
                let expected = names.into_iter().filter(is_selected).take(limit);
                ensure_eq(PAGES, &listed, &expected.collect())?;
            }
        }
    }
    Ok(())
}

/// Checks that a fork copies the messages before the write, and nothing else changes.
pub(super) async fn check_forks(store: &dyn SessionStore) -> Result<(), Violation> {
    let all = messages();
    let (before, new) = all.split_at(3);
    let write = SessionWrite::create().messages(0, &all).state("state");
    let revision = store.save("s", write).await.map_err(failed(FORK))?;
    let fork = SessionWrite::update(revision).messages(3, new).state("copy");
    let copied = store.fork("s", "copy", fork).await.map_err(failed(FORK))?;
    let expected = SessionRecord::new([before, new].concat(), "copy", copied);
    ensure_eq(FORK, &store.load("copy").await.map_err(failed(FORK))?, &Some(expected))?;
    let fork = SessionWrite::update(revision).messages(2, &[]).state("copy");
    let copied = store.fork("s", "copy \u{e9}", fork).await.map_err(failed(FORK))?;
    let expected = SessionRecord::new(all.iter().take(2).cloned().collect(), "copy", copied);
    ensure_eq(FORK, &store.load("copy \u{e9}").await.map_err(failed(FORK))?, &Some(expected))?;

    let existing = store.fork("s", "copy", fork).await;
    let is_refused =
        matches!(&existing, Err(SessionError::AlreadyExists { session }) if session == "copy");
    ensure(is_refused, FORK_EXISTING, "`AlreadyExists`", || format!("{existing:?}"))?;
    for (session, base) in [("s", revision + 1), ("s", 0), ("missing", 1)] {
        let late = store.fork(session, "late", SessionWrite::update(base)).await;
        let is_conflict = matches!(late, Err(SessionError::Conflict { .. }));
        ensure(is_conflict, FORK_CONFLICT, "a conflict", || format!("{late:?}"))?;
    }
    let record = store.load("s").await.map_err(failed(FORKED))?;
    ensure_eq(FORKED, &record, &Some(SessionRecord::new(all, "state", revision)))
}

/// Checks that a renamed session has all that it had, under the new name only.
pub(super) async fn check_renames(store: &dyn SessionStore) -> Result<(), Violation> {
    let all = messages();
    let write = SessionWrite::create().messages(0, &all).state("state");
    let revision = store.save("s", write).await.map_err(failed(RENAMED))?;
    store.rename("s", "s", None).await.map_err(failed(RENAMED))?;
    store.rename("s", "t", None).await.map_err(failed(RENAMED))?;
    let load = |name| async move { store.load(name).await.map_err(failed(RENAMED)) };
    let record = Some(SessionRecord::new(all, "state", revision));
    ensure_eq(RENAMED, &load("t").await?, &record)?;
    ensure_eq(RENAMED, &load("s").await?, &None)?;
    // Writes go on under the new name, and the old one is free.
    let late = store.save("s", SessionWrite::update(revision)).await;
    let is_conflict = matches!(late, Err(SessionError::Conflict { .. }));
    ensure(is_conflict, RENAMED, "a conflict", || format!("{late:?}"))?;
    let other = store.save("s", SessionWrite::create()).await.map_err(failed(RENAMED))?;
    for (from, to) in [("missing", "u"), ("missing", "s")] {
        let renamed = store.rename(from, to, None).await;
        let is_refused =
            matches!(&renamed, Err(SessionError::NotFound { session }) if session == from);
        ensure(is_refused, RENAME_MISSING, "`NotFound`", || format!("{renamed:?}"))?;
    }
    let replaced = store.rename("t", "s", None).await;
    let is_refused =
        matches!(&replaced, Err(SessionError::AlreadyExists { session }) if session == "s");
    ensure(is_refused, RENAME_EXISTING, "`AlreadyExists`", || format!("{replaced:?}"))?;
    ensure_eq(RENAME_EXISTING, &load("t").await?, &record)?;
    let other = Some(SessionRecord::new(Vec::new(), "", other));
    ensure_eq(RENAME_EXISTING, &load("s").await?, &other)
}

/// Checks that the runs of a store find each other's locks.
pub(super) fn check_locks(store: &dyn SessionStore) -> Result<(), Violation> {
    let first = store.locks().try_lock("s");
    let is_locked = first.is_some() && store.locks().try_lock("s").is_none();
    ensure(is_locked, LOCKS, "no second lock of a locked session", || "a second one".to_owned())
}
