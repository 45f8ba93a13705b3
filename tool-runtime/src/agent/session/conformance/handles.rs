//! Two handles of one store.

use super::samples::messages;
use super::{Violation, ensure, refused, same};
use crate::agent::session::{SessionError, SessionRecord, SessionStore, SessionWrite};

const SAVED: &str = "what one handle has saved, another loads";

/// What one does the other sees, though it may have looked before.
pub(super) async fn are_of_one_store(
    one: &dyn SessionStore,
    other: &dyn SessionStore,
) -> Result<(), Violation> {
    let is_seen =
        async |expected| same(SAVED, &other.load("s").await.map_err(refused(SAVED))?, &expected);
    is_seen(None).await?;
    let all = messages();
    let write = SessionWrite::first().messages(0, &all).state("1");
    let first = one.save("s", write).await.map_err(refused(SAVED))?;
    is_seen(Some(SessionRecord::new(all.clone(), "1", first))).await?;
    let write = SessionWrite::on(first).messages(1, &[]).state("2");
    let second = one.save("s", write).await.map_err(refused(SAVED))?;
    is_seen(Some(SessionRecord::new(all.into_iter().take(1).collect(), "2", second))).await?;

    const LATE: &str = "a write of one handle on what another has replaced is a conflict";
    let late = other.save("s", SessionWrite::on(first)).await;
    let is_told = matches!(late, Err(SessionError::Conflict { found, .. }) if found == second);
    ensure(is_told, LATE, || format!("{late:?}"))?;

    const LISTED: &str = "what one handle has saved, another lists";
    let listed = other.list().await.map_err(refused(LISTED))?;
    let listed: Vec<_> = listed.iter().map(|it| (it.session.as_str(), it.revision)).collect();
    same(LISTED, &listed, &vec![("s", second)])?;

    const GONE: &str = "what one handle has deleted is gone for another";
    one.delete("s").await.map_err(refused(GONE))?;
    same(GONE, &other.load("s").await.map_err(refused(GONE))?, &None)
}
