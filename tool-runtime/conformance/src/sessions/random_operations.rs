//! Checks that random saves, loads and deletions have the same result as in a plain map.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

use fastrand::Rng;

use super::samples::messages;
use crate::Violation;
use crate::violation::{ensure, ensure_eq, failed};
use tool_core::Message;
use tool_core::agent::session::{
    SessionError, SessionQuery, SessionRecord, SessionStore, SessionWrite,
};

/// The number of random sequences.
pub(super) const SEEDS: u64 = 24;
/// The number of operations in each.
const OPERATIONS: usize = 24;
const SESSIONS: [&str; 3] = ["a", "", "B \u{e9}\0'\""];

const DELETED: &str = "deleting a session succeeds, whether it exists or not";
const LOADED: &str = "a loaded record is the one saved last";
const SAVED: &str = "a valid write is saved";
const INVALID: &str = "a write that leaves a gap between messages is invalid";
const REVISION: &str = "a revision is never 0 and never reused";
const LISTED: &str = "the list has every session with its revision and message count";
const SAVED_AT: &str = "the list has the time of the last write, to the second at least";
const CONFLICT: &str = "a write on another revision is a conflict that names both revisions";

/// The expected content of the store.
#[derive(Default)]
struct Model<'s> {
    sessions: BTreeMap<&'s str, SessionRecord>,
    /// All revisions that there ever were.
    revisions: HashSet<u64>,
}

pub(super) async fn check(store: &dyn SessionStore, seed: u64) -> Result<(), Violation> {
    let (mut rng, mut model) = (Rng::with_seed(seed), Model::default());
    let started = SystemTime::now();
    for _ in 0..OPERATIONS {
        let name = rng.choice(SESSIONS).unwrap_or_default();
        match rng.u8(..10) {
            0 => {
                store.delete(name, None).await.map_err(failed(DELETED))?;
                model.sessions.remove(name);
            }
            _ => model.save(store, name, &mut rng).await?,
        }
        for name in SESSIONS {
            let record = store.load(name).await.map_err(failed(LOADED))?;
            ensure_eq(LOADED, &record.as_ref(), &model.sessions.get(name))?;
        }
    }
    model.check_list(store, started).await
}

impl<'s> Model<'s> {
    /// Saves a random write, on the current revision or on another.
    async fn save(
        &mut self,
        store: &dyn SessionStore,
        name: &'s str,
        rng: &mut Rng,
    ) -> Result<(), Violation> {
        let (current, count) =
            self.sessions.get(name).map_or((0, 0), |it| (it.revision, it.messages.len()));
        let base = match rng.u8(..8) {
            0 => 0,
            1 => rng.choice(&self.revisions).copied().unwrap_or(1),
            2 => current.saturating_add(1),
            _ => current,
        };
        let from = if rng.bool() { count } else { rng.usize(..count + 2) };
        let mut new = messages();
        rng.shuffle(&mut new);
        new.truncate(rng.usize(..4));
        let state = rng.u8(..).to_string();
        let write = SessionWrite::update(base).messages(from, &new).state(&state);
        let saved = store.save(name, write).await;
        if base != current {
            return ensure_conflict(&saved, name, base, current);
        }
        if from > count {
            let is_invalid = matches!(saved, Err(SessionError::InvalidWrite { .. }));
            return ensure(is_invalid, INVALID, "`InvalidWrite`", || format!("{saved:?}"));
        }
        let revision = saved.map_err(failed(SAVED))?;
        let is_new = revision != 0 && self.revisions.insert(revision);
        ensure(is_new, REVISION, "another revision", || format!("{revision}"))?;
        let before = self.sessions.remove(name).map(|it| it.messages).unwrap_or_default();
        let messages: Vec<Message> = before.into_iter().take(from).chain(new).collect();
        self.sessions.insert(name, SessionRecord::new(messages, state, revision));
        Ok(())
    }

    async fn check_list(
        &self,
        store: &dyn SessionStore,
        started: SystemTime,
    ) -> Result<(), Violation> {
        let listed = store.list(SessionQuery::all()).await.map_err(failed(LISTED))?;
        let actual: Vec<_> =
            listed.iter().map(|it| (it.session.as_str(), it.message_count, it.revision)).collect();
        let expected =
            self.sessions.iter().map(|(name, it)| (*name, it.messages.len(), it.revision));
        ensure_eq(LISTED, &actual, &expected.collect())?;
        let second = Duration::from_secs(1);
        let (from, to) = (started.checked_sub(second).unwrap_or(started), SystemTime::now());
        ensure(
            listed.iter().all(|it| it.saved_at >= from && it.saved_at <= to + second),
            SAVED_AT,
            "a time during the check",
            || format!("{listed:?}"),
        )
    }
}

fn ensure_conflict(
    saved: &Result<u64, SessionError>,
    name: &str,
    base: u64,
    current: u64,
) -> Result<(), Violation> {
    let is_conflict = matches!(saved, Err(SessionError::Conflict { session, expected, actual })
        if session == name && *expected == base && *actual == current);
    let expected = format!("a conflict of a write on {base}, as {name:?} is at {current}");
    ensure(is_conflict, CONFLICT, &expected, || format!("{saved:?}"))
}
