//! Checks that one owner at a time may change a session.

use std::time::Duration;

use crate::Violation;
use crate::violation::{ensure, ensure_eq, failed};
use tool_core::agent::session::{SessionError, SessionOwner, SessionStore, SessionWrite};

const ONE_OWNER: &str = "a live lease is refused to another owner, whom the error names";
const SAME_OWNER: &str = "an owner gets its lease again at once";
const EPOCHS: &str = "a later epoch of a session is higher, also after everything was deleted";
const EXPIRED: &str = "an expired lease is free, and valid until another owner has acquired it";
const RENEWED: &str = "a lease that is renewed in time does not expire";
const RELEASED: &str = "a released lease is free, and only its own epoch releases it";
const FENCED: &str = "a change under an epoch that was replaced or released is refused";
const LEASED: &str = "a change without an epoch is refused while the session is leased";
const ALLOWED: &str = "a change under the epoch of the lease is allowed";
const FORKED: &str = "a leased session can be forked, but not to a leased name";

const LONG: Duration = Duration::from_secs(3600);

/// Checks acquisitions, renewals and releases.
pub(super) async fn check_owners(store: &dyn SessionStore) -> Result<(), Violation> {
    let [ada, grace] = owners(store);
    let first = store.acquire("s", &ada, LONG).await.map_err(failed(ONE_OWNER))?;
    let refused = store.acquire("s", &grace, LONG).await;
    let is_refused = matches!(&refused, Err(SessionError::Busy { session, owner })
        if session == "s" && *owner == ada.label);
    ensure(is_refused, ONE_OWNER, "`Busy`", || format!("{refused:?}"))?;
    store.acquire("other", &grace, LONG).await.map_err(failed(ONE_OWNER))?;

    let second = store.acquire("s", &ada, LONG).await.map_err(failed(SAME_OWNER))?;
    ensure_higher(first, second)?;
    let late = store.renew("s", first, LONG).await;
    ensure(is_lost(&late), FENCED, "`LeaseLost`", || format!("{late:?}"))?;
    store.release("s", first).await.map_err(failed(RELEASED))?;
    let refused = store.acquire("s", &grace, LONG).await;
    ensure(is_busy(&refused), RELEASED, "`Busy`", || format!("{refused:?}"))?;

    store.save("s", SessionWrite::create().epoch(second)).await.map_err(failed(ALLOWED))?;
    store.delete("s", Some(second)).await.map_err(failed(ALLOWED))?;
    store.release("s", second).await.map_err(failed(RELEASED))?;
    let late = store.renew("s", second, LONG).await;
    ensure(is_lost(&late), FENCED, "`LeaseLost`", || format!("{late:?}"))?;
    let third = store.acquire("s", &grace, Duration::ZERO).await.map_err(failed(RELEASED))?;
    ensure_higher(second, third)?;

    // It has expired, and no other owner has acquired it.
    store.save("s", SessionWrite::create().epoch(third)).await.map_err(failed(EXPIRED))?;
    store.renew("s", third, LONG).await.map_err(failed(RENEWED))?;
    let refused = store.acquire("s", &ada, LONG).await;
    ensure(is_busy(&refused), RENEWED, "`Busy`", || format!("{refused:?}"))?;
    store.renew("s", third, Duration::ZERO).await.map_err(failed(RENEWED))?;
    let fourth = store.acquire("s", &ada, LONG).await.map_err(failed(EXPIRED))?;
    ensure_higher(third, fourth)
}

/// Checks each change under the epoch of the lease, under another one, and under none.
pub(super) async fn check_changes(store: &dyn SessionStore) -> Result<(), Violation> {
    let [ada, grace] = owners(store);
    let revision = store.save("s", SessionWrite::create()).await.map_err(failed(ALLOWED))?;
    let old = store.acquire("s", &ada, Duration::ZERO).await.map_err(failed(EXPIRED))?;
    let epoch = store.acquire("s", &grace, LONG).await.map_err(failed(EXPIRED))?;
    let write = SessionWrite::update(revision);
    for (named, law, is_refused) in [
        (Some(old), FENCED, is_lost as fn(&Result<u64, SessionError>) -> bool),
        (Some(epoch + 1), FENCED, is_lost),
        (None, LEASED, is_busy),
    ] {
        let changes = [
            store.save("s", write.epoch(named)).await,
            store.rename("s", "t", named).await.map(|()| 0),
            store.rename("s", "s", named).await.map(|()| 0),
            store.delete("s", named).await.map(|()| 0),
        ];
        for change in changes {
            ensure(is_refused(&change), law, "a refusal", || format!("{change:?}"))?;
        }
    }
    let record = store.load("s").await.map_err(failed(FENCED))?;
    ensure_eq(FENCED, &record.map(|record| record.revision), &Some(revision))?;

    store.fork("s", "fork", write).await.map_err(failed(FORKED))?;
    store.acquire("leased", &ada, LONG).await.map_err(failed(FORKED))?;
    let forked = store.fork("s", "leased", write).await;
    ensure(is_busy(&forked), FORKED, "`Busy`", || format!("{forked:?}"))?;
    let renamed = store.rename("s", "leased", Some(epoch)).await.map(|()| 0);
    ensure(is_busy(&renamed), LEASED, "`Busy`", || format!("{renamed:?}"))?;

    store.save("s", write.epoch(epoch)).await.map_err(failed(ALLOWED))?;
    store.rename("s", "t", Some(epoch)).await.map_err(failed(ALLOWED))?;
    store.release("s", epoch).await.map_err(failed(RELEASED))?;
    let late = store.save("s", SessionWrite::create().epoch(epoch)).await;
    ensure(is_lost(&late), FENCED, "`LeaseLost`", || format!("{late:?}"))?;
    // The lease of the old name is no lease of the new one.
    store.delete("t", None).await.map_err(failed(RELEASED))
}

/// Returns the owner of the store, and another one, as another process has it.
fn owners(store: &dyn SessionStore) -> [SessionOwner; 2] {
    let other = SessionOwner::new(SessionOwner::random().id, "another process");
    [store.locks().owner().clone(), other]
}

fn ensure_higher(earlier: u64, later: u64) -> Result<(), Violation> {
    ensure(later > earlier, EPOCHS, "a higher epoch", || format!("{earlier}, then {later}"))
}

fn is_lost<T>(result: &Result<T, SessionError>) -> bool {
    matches!(result, Err(SessionError::LeaseLost { .. }))
}

fn is_busy<T>(result: &Result<T, SessionError>) -> bool {
    matches!(result, Err(SessionError::Busy { .. }))
}
