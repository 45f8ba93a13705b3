//! Checks the principals and the titles of sessions.

use crate::Violation;
use crate::violation::{ensure, ensure_eq, failed};
use tool_core::Message;
use tool_core::agent::session::{
    SessionError, SessionInfo, SessionOwner, SessionQuery, SessionStatus, SessionStore,
    SessionWrite,
};

const PRINCIPAL: &str = "a session has the principal of the write that created it";
const TITLE: &str = "a session has the title of the write that created it, or the one set last";
const SELECTED: &str = "a query for a principal selects its sessions";
const SET_APART: &str = "a title is set without a lease, and changes nothing else";
const MISSING: &str = "a session that does not exist gets no title";
const FORKED: &str = "a fork has the principal and the title of its session";
const RENAMED: &str = "a renamed session keeps its principal and its title";

/// Texts that are hard to store, and hard to tell apart.
const TEXTS: [Option<&str>; 9] = [
    None,
    Some(""),
    Some("ada"),
    Some("Ada"),
    Some("ada "),
    Some("ada\0"),
    Some("ad%"),
    Some("\u{e9}"),
    Some("e\u{301}"),
];

/// Checks what is listed, and which sessions each query for a principal selects.
pub(super) async fn check_principals(store: &dyn SessionStore) -> Result<(), Violation> {
    let mut expected = Vec::new();
    for (index, principal) in TEXTS.into_iter().enumerate() {
        let title = TEXTS.into_iter().rev().nth(index).flatten();
        for (letter, status) in [("a", SessionStatus::Idle), ("b", SessionStatus::Paused)] {
            let name = format!("{letter}/{index}");
            let write = SessionWrite::create().principal(principal).title(title);
            let revision = store.save(&name, write).await.map_err(failed(PRINCIPAL))?;
            // Neither a run that names no principal, nor one that names another, changes it.
            let write = SessionWrite::update(revision).status(status, None);
            let revision = store.save(&name, write).await.map_err(failed(PRINCIPAL))?;
            let write = SessionWrite::update(revision).status(status, None);
            let write = write.principal("grace").title("another");
            store.save(&name, write).await.map_err(failed(PRINCIPAL))?;
            expected.push((name, principal.map(str::to_owned), title.map(str::to_owned), status));
        }
    }
    expected.sort_by(|left, right| left.0.cmp(&right.0));
    let all = store.list(SessionQuery::all()).await.map_err(failed(PRINCIPAL))?;
    let principals = |all: &[SessionInfo]| -> Vec<_> {
        all.iter().map(|info| (info.session.clone(), info.principal.clone())).collect()
    };
    let all_principals =
        expected.iter().map(|(name, principal, ..)| (name.clone(), principal.clone()));
    ensure_eq(PRINCIPAL, &principals(&all), &all_principals.collect())?;
    let titles: Vec<_> = all.iter().map(|info| info.title.clone()).collect();
    ensure_eq(TITLE, &titles, &expected.iter().map(|(_, _, title, _)| title.clone()).collect())?;

    for principal in TEXTS.into_iter().flatten().chain(["grace", "ad"]) {
        let of_principal = SessionQuery::all().principal(principal);
        for query in [
            of_principal,
            of_principal.status(SessionStatus::Paused),
            of_principal.prefix("b/"),
            of_principal.after("a/3"),
            of_principal.limit(1),
        ] {
            let found = store.list(query).await.map_err(failed(SELECTED))?;
            let selected = expected.iter().filter(|(name, of_session, _, status)| {
                of_session.as_deref() == Some(principal)
                    && name.starts_with(query.prefix)
                    && query.after.is_none_or(|after| name.as_str() > after)
                    && query.status.is_none_or(|selected| selected == *status)
            });
            let selected = selected.take(query.limit.unwrap_or(usize::MAX));
            let selected = selected.map(|(name, principal, ..)| (name.clone(), principal.clone()));
            ensure_eq(SELECTED, &principals(&found), &selected.collect())?;
        }
    }
    Ok(())
}

/// Checks that a title is set and removed at any time, and that copies and new names keep it.
pub(super) async fn check_titles(store: &dyn SessionStore) -> Result<(), Violation> {
    let messages = [Message::user("Hello")];
    let write = SessionWrite::create().messages(0, &messages).state("state").principal("ada");
    let revision = store.save("s", write).await.map_err(failed(TITLE))?;
    let before = listed(store, "s", SET_APART).await?;
    let record = store.load("s").await.map_err(failed(SET_APART))?;
    let owner = SessionOwner::random();
    let lifetime = std::time::Duration::from_secs(3600);
    let epoch = store.acquire("s", &owner, lifetime).await.map_err(failed(SET_APART))?;
    for title in TEXTS.into_iter().chain([Some("A coat for Oslo")]) {
        store.set_title("s", title).await.map_err(failed(SET_APART))?;
        let expected = before.clone().map(|info| info.title(title.map(str::to_owned)));
        ensure_eq(SET_APART, &listed(store, "s", SET_APART).await?, &expected)?;
    }
    ensure_eq(SET_APART, &store.load("s").await.map_err(failed(SET_APART))?, &record)?;
    // A run that loaded the session before writes to it.
    let write = SessionWrite::update(revision).epoch(epoch);
    let revision = store.save("s", write).await.map_err(failed(SET_APART))?;
    ensure_eq(TITLE, &labels(store, "s", TITLE).await?, &ada_and_oslo())?;
    store.release("s", epoch).await.map_err(failed(SET_APART))?;

    let missing = store.set_title("missing", Some("A coat")).await;
    let is_refused =
        matches!(&missing, Err(SessionError::NotFound { session }) if session == "missing");
    ensure(is_refused, MISSING, "`NotFound`", || format!("{missing:?}"))?;
    ensure_eq(MISSING, &listed(store, "missing", MISSING).await?, &None)?;

    let write = SessionWrite::update(revision);
    store.fork("s", "copy", write).await.map_err(failed(FORKED))?;
    ensure_eq(FORKED, &labels(store, "copy", FORKED).await?, &ada_and_oslo())?;
    store.set_title("copy", None).await.map_err(failed(FORKED))?;
    ensure_eq(FORKED, &labels(store, "s", FORKED).await?, &ada_and_oslo())?;
    store.rename("s", "t", None).await.map_err(failed(RENAMED))?;
    ensure_eq(RENAMED, &labels(store, "t", RENAMED).await?, &ada_and_oslo())
}

type Labels = Option<(Option<String>, Option<String>)>;

fn ada_and_oslo() -> Labels {
    Some((Some("ada".to_owned()), Some("A coat for Oslo".to_owned())))
}

async fn listed(
    store: &dyn SessionStore,
    session: &str,
    law: &'static str,
) -> Result<Option<SessionInfo>, Violation> {
    let listed = store.list(SessionQuery::all().prefix(session)).await.map_err(failed(law))?;
    Ok(listed.into_iter().find(|info| info.session == session))
}

async fn labels(
    store: &dyn SessionStore,
    session: &str,
    law: &'static str,
) -> Result<Labels, Violation> {
    Ok(listed(store, session, law).await?.map(|info| (info.principal, info.title)))
}
