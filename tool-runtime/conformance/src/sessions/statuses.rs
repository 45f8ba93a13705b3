//! Checks the statuses of sessions: those that were saved, and those that the leases decide.

use std::time::Duration;

use crate::Violation;
use crate::violation::{ensure_eq, failed};
use tool_core::Message;
use tool_core::agent::session::{
    SessionInfo, SessionOwner, SessionQuery, SessionStatus, SessionStore, SessionWrite,
};

const LISTED: &str = "a session is listed with the status and the failure of its last write";
const SELECTED: &str = "a query for a status selects the sessions that have it now";
const FORKED: &str = "a fork has the status of its write";
const LEASED: &str = "a saved run is in progress with a live lease, and interrupted without";
const PAGES: &str = "a page of one status is as long as its limit";

use SessionStatus::{Failed, Idle, Interrupted, Paused, Running};

/// Checks what is listed for each saved status, with a live lease, with an expired one, and with
/// none.
pub(super) async fn check(store: &dyn SessionStore) -> Result<(), Violation> {
    let lifetimes = [None, Some(Duration::ZERO), Some(Duration::from_secs(3600))];
    let mut expected = Vec::new();
    for (index, lifetime) in lifetimes.into_iter().enumerate() {
        for (saved, failure) in [
            (Failed, Some("MODEL_TIMEOUT")),
            (Idle, None),
            (Interrupted, None),
            (Paused, None),
            (Running, None),
        ] {
            let name = format!("s/{index}/{saved}");
            let write = SessionWrite::create().status(Paused, None);
            let revision = store.save(&name, write).await.map_err(failed(LISTED))?;
            let write = SessionWrite::update(revision).status(saved, failure);
            store.save(&name, write).await.map_err(failed(LISTED))?;
            if let Some(lifetime) = lifetime {
                let owner = SessionOwner::random();
                store.acquire(&name, &owner, lifetime).await.map_err(failed(LEASED))?;
            }
            let listed = match (saved, index) {
                (Running, 0 | 1) => Interrupted,
                _ => saved,
            };
            expected.push((name, listed, failure.map(str::to_owned)));
        }
    }
    let all = store.list(SessionQuery::all()).await.map_err(failed(LISTED))?;
    ensure_eq(LISTED, &all.into_iter().map(fields).collect::<Vec<_>>(), &expected)?;
    let messages = [Message::user("Hello")];
    let write = SessionWrite::create().messages(0, &messages);
    let revision = store.save("source", write).await.map_err(failed(FORKED))?;
    let fork = SessionWrite::update(revision).messages(1, &[]).status(Interrupted, None);
    store.fork("source", "t", fork).await.map_err(failed(FORKED))?;
    let forked = store.list(SessionQuery::all().prefix("t")).await.map_err(failed(FORKED))?;
    let forked = forked.into_iter().map(|info| info.status).collect();
    ensure_eq(FORKED, &forked, &vec![Interrupted])?;
    for status in [Failed, Idle, Interrupted, Paused, Running] {
        let of_status =
            |(_, listed, _): &&(String, SessionStatus, Option<String>)| *listed == status;
        let expected: Vec<_> = expected.iter().filter(of_status).cloned().collect();
        let query = SessionQuery::all().prefix("s/").status(status);
        let found = store.list(query).await.map_err(failed(SELECTED))?;
        ensure_eq(SELECTED, &found.into_iter().map(fields).collect(), &expected)?;
        let Some(((name, ..), rest)) = expected.split_first() else { continue };
        let first = store.list(query.limit(1)).await.map_err(failed(PAGES))?;
        ensure_eq(PAGES, &first.into_iter().map(|it| it.session).collect(), &vec![name.clone()])?;
        let after = store.list(query.after(name)).await.map_err(failed(PAGES))?;
        ensure_eq(PAGES, &after.into_iter().map(fields).collect(), &rest.to_vec())?;
    }
    Ok(())
}

fn fields(info: SessionInfo) -> (String, SessionStatus, Option<String>) {
    (info.session, info.status, info.failure)
}
