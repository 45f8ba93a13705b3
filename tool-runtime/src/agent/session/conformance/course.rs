//! Any course of saves, loads and deletions comes to what a plain list would come to.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

use fastrand::Rng;

use super::samples::messages;
use super::{Violation, ensure, refused, same};
use crate::agent::session::{SessionError, SessionRecord, SessionStore, SessionWrite};
use crate::message::Message;

/// How many courses are run.
pub(super) const HOW_MANY: u64 = 24;
/// How long each is.
const ACTS: usize = 24;
const SESSIONS: [&str; 3] = ["a", "", "B \u{e9}\0'\""];

/// What a plain list would have come to.
#[derive(Default)]
struct Expected<'s> {
    sessions: BTreeMap<&'s str, SessionRecord>,
    /// All that there ever were.
    revisions: HashSet<u64>,
}

pub(super) async fn is_run(store: &dyn SessionStore, seed: u64) -> Result<(), Violation> {
    const LOADED: &str = "what is loaded is what was saved last";
    let (mut chance, mut expected) = (Rng::with_seed(seed), Expected::default());
    let began = SystemTime::now();
    for _ in 0..ACTS {
        let name = chance.choice(SESSIONS).unwrap_or_default();
        match chance.u8(..10) {
            0 => {
                store
                    .delete(name)
                    .await
                    .map_err(refused("a session can be deleted, be it there or not"))?;
                expected.sessions.remove(name);
            }
            _ => expected.save(store, name, &mut chance).await?,
        }
        for name in SESSIONS {
            let kept = store.load(name).await.map_err(refused(LOADED))?;
            same(LOADED, &kept.as_ref(), &expected.sessions.get(name))?;
        }
    }
    expected.are_listed(store, began).await
}

impl<'s> Expected<'s> {
    /// Saves something, on top of what is there or of something else.
    async fn save(
        &mut self,
        store: &dyn SessionStore,
        name: &'s str,
        chance: &mut Rng,
    ) -> Result<(), Violation> {
        let (found, kept) =
            self.sessions.get(name).map_or((0, 0), |it| (it.revision, it.messages.len()));
        let builds_on = match chance.u8(..8) {
            0 => 0,
            1 => chance.choice(&self.revisions).copied().unwrap_or(1),
            2 => found.saturating_add(1),
            _ => found,
        };
        let from = if chance.bool() { kept } else { chance.usize(..kept + 2) };
        let mut said = messages();
        chance.shuffle(&mut said);
        said.truncate(chance.usize(..4));
        let state = chance.u8(..).to_string();
        let saved =
            store.save(name, SessionWrite::on(builds_on).messages(from, &said).state(&state)).await;
        if builds_on != found {
            return is_conflict(&saved, name, (builds_on, found));
        }
        if from > kept {
            const LAW: &str = "a write that begins behind what is kept is unfit";
            let is_unfit = matches!(saved, Err(SessionError::InvalidWrite { .. }));
            return ensure(is_unfit, LAW, || format!("{saved:?}"));
        }
        let revision = saved.map_err(refused("a write that fits is kept"))?;
        const NEW: &str = "no revision is 0 or comes again";
        ensure(revision != 0 && self.revisions.insert(revision), NEW, || format!("{revision}"))?;
        let before = self.sessions.remove(name).map(|it| it.messages).unwrap_or_default();
        let messages: Vec<Message> = before.into_iter().take(from).chain(said).collect();
        self.sessions.insert(name, SessionRecord::new(messages, state, revision));
        Ok(())
    }

    async fn are_listed(
        &self,
        store: &dyn SessionStore,
        began: SystemTime,
    ) -> Result<(), Violation> {
        const LAW: &str = "what is listed is what is there";
        let listed = store.list().await.map_err(refused(LAW))?;
        let is: Vec<_> =
            listed.iter().map(|it| (it.session.as_str(), it.messages, it.revision)).collect();
        let should_be =
            self.sessions.iter().map(|(name, it)| (*name, it.messages.len(), it.revision));
        same(LAW, &is, &should_be.collect())?;
        const SAVED_AT: &str = "what is listed says when it was last saved, to the second at least";
        let second = Duration::from_secs(1);
        let (from, to) = (began.checked_sub(second).unwrap_or(began), SystemTime::now());
        ensure(
            listed.iter().all(|it| it.saved_at >= from && it.saved_at <= to + second),
            SAVED_AT,
            || format!("{listed:?}"),
        )
    }
}

/// Whoever builds on something else is told what is there.
fn is_conflict(
    saved: &Result<u64, SessionError>,
    name: &str,
    (builds_on, is_at): (u64, u64),
) -> Result<(), Violation> {
    const LAW: &str = "a write that builds on another revision is a conflict, which names both";
    let is_told = matches!(saved, Err(SessionError::Conflict { session, expected, found })
        if session == name && *expected == builds_on && *found == is_at);
    ensure(is_told, LAW, || format!("on {builds_on} of {name:?}, at {is_at}: {saved:?}"))
}
