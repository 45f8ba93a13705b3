//! Checks two handles of one store.

use super::samples::messages;
use crate::Violation;
use crate::violation::{ensure, ensure_eq, failed};
use tool_core::agent::session::{
    SessionError, SessionQuery, SessionRecord, SessionStore, SessionWrite,
};

const LOADED: &str = "a handle loads what another handle saved";
const CONFLICT: &str = "a write on a revision that another handle replaced is a conflict";
const LISTED: &str = "a handle lists what another handle saved";
const DELETED: &str = "a handle does not load what another handle deleted";

/// Checks that one handle sees what the other saves and deletes, even if it has read the session
/// before.
pub(super) async fn check_visibility(
    writer: &dyn SessionStore,
    reader: &dyn SessionStore,
) -> Result<(), Violation> {
    let expect = async |expected| {
        ensure_eq(LOADED, &reader.load("s").await.map_err(failed(LOADED))?, &expected)
    };
    expect(None).await?;
    let all = messages();
    let write = SessionWrite::create().messages(0, &all).state("1");
    let first = writer.save("s", write).await.map_err(failed(LOADED))?;
    expect(Some(SessionRecord::new(all.clone(), "1", first))).await?;
    let write = SessionWrite::update(first).messages(1, &[]).state("2");
    let second = writer.save("s", write).await.map_err(failed(LOADED))?;
    expect(Some(SessionRecord::new(all.into_iter().take(1).collect(), "2", second))).await?;

    let late = reader.save("s", SessionWrite::update(first)).await;
    let is_conflict =
        matches!(late, Err(SessionError::Conflict { actual, .. }) if actual == second);
    ensure(is_conflict, CONFLICT, "a conflict", || format!("{late:?}"))?;

    let listed = reader.list(SessionQuery::all()).await.map_err(failed(LISTED))?;
    let listed: Vec<_> = listed.iter().map(|it| (it.session.as_str(), it.revision)).collect();
    ensure_eq(LISTED, &listed, &vec![("s", second)])?;

    writer.delete("s", None).await.map_err(failed(DELETED))?;
    ensure_eq(DELETED, &reader.load("s").await.map_err(failed(DELETED))?, &None)
}
