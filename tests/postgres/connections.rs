//! Connections that are lost within a transaction: writes are done once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tool_runtime::Message;
use tool_runtime::agent::session::{SessionQuery, SessionStore, SessionWrite};
use tool_runtime::store::Postgres;
use tool_runtime::store::tokio_postgres::NoTls;

use super::proxy::{Cut, Proxy};
use super::{client, position, schema, server, user_messages};

#[tokio::test]
async fn write_whose_commit_is_lost_is_done_once() {
    let all = user_messages(&["a", "b", "c"]);
    for cut in [Cut::BeforeCommit, Cut::AfterCommit] {
        let proxy = Proxy::start(&server(), cut).await;
        let store = Postgres::connect_with(proxy.config(&schema().await), NoTls).await.unwrap();
        proxy.cut(1);
        let write = SessionWrite::create().messages(0, &all[..1]);
        let first = store.save("s", write).await.unwrap();
        assert_eq!(proxy.cuts_left(), 0, "{cut:?}");
        proxy.cut(2);
        let write = SessionWrite::update(first).messages(1, &all[1..]).state("state");
        let second = store.save("s", write).await.unwrap();
        assert_eq!(
            (second, proxy.cuts_left()),
            (first + 1, 1 - usize::from(cut == Cut::BeforeCommit))
        );
        proxy.cut(1);
        let write = SessionWrite::update(second).messages(2, &[]);
        let fork = store.fork("s", "fork", write).await.unwrap();
        proxy.cut(1);
        store.rename("fork", "renamed", None).await.unwrap();
        assert_eq!(proxy.cuts_left(), 0, "{cut:?}");

        let record = store.load("s").await.unwrap().unwrap();
        assert_eq!((record.messages, record.revision), (all.clone(), second));
        let record = store.load("renamed").await.unwrap().unwrap();
        assert_eq!((record.messages, record.revision), (all[..2].to_vec(), fork));
        proxy.cut(1);
        store.delete("renamed", None).await.unwrap();
        assert_eq!(proxy.cuts_left(), 0, "{cut:?}");
        assert_eq!(store.list(SessionQuery::all()).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn connection_that_is_lost_again_and_again_is_reported() {
    let proxy = Proxy::start(&server(), Cut::BeforeCommit).await;
    let store = Postgres::connect_with(proxy.config(&schema().await), NoTls).await.unwrap();
    proxy.cut(usize::MAX);
    let error = store.save("s", SessionWrite::create()).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    proxy.cut(0);
    assert_eq!(store.load("s").await.unwrap(), None);
    store.save("s", SessionWrite::create()).await.unwrap();
}

/// Terminates the connections of the store again and again: each save returns, no acknowledged
/// message is lost, and none is there twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminated_connections_lose_and_repeat_no_write() {
    /// The smallest numbers of saves and of connections terminated.
    const SAVES: usize = 200;
    const TERMINATED: usize = 10;
    /// The most connections that are terminated for each save that has returned. On a slow machine,
    /// each connection would be terminated before it is of use.
    const TERMINATED_EACH: usize = 8;
    let config = format!("{} application_name=terminated", schema().await);
    let store = Postgres::connect(&config).await.unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let [returned, terminated] = [0, 0].map(|count| Arc::new(AtomicUsize::new(count)));
    let terminating = tokio::spawn({
        let (is_done, returned) = (Arc::clone(&is_done), Arc::clone(&returned));
        let terminated = Arc::clone(&terminated);
        async move {
            let admin = client(&server()).await;
            let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                             WHERE application_name = 'terminated'";
            while !is_done.load(Ordering::SeqCst) {
                let most = TERMINATED_EACH * (returned.load(Ordering::SeqCst) + 1);
                if terminated.load(Ordering::SeqCst) < most {
                    let count = admin.query(terminate, &[]).await.unwrap().len();
                    terminated.fetch_add(count, Ordering::SeqCst);
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        }
    });
    let (mut revision, mut saved, mut failed) = (0, 0, 0);
    while saved < SAVES || terminated.load(Ordering::SeqCst) < TERMINATED {
        let message = [Message::user(saved.to_string())];
        let write = SessionWrite::update(revision).messages(saved, &message);
        let result = store.save("s", write).await;
        returned.fetch_add(1, Ordering::SeqCst);
        match result {
            Ok(next) => (revision, saved) = (next, saved + 1),
            Err(error) => {
                assert!(error.is_transient(), "{error}");
                failed += 1;
                // The write may have been done.
                (revision, saved) = position(&store).await;
            }
        }
    }
    is_done.store(true, Ordering::SeqCst);
    terminating.await.unwrap();
    assert_eq!(position(&store).await, (revision, saved));
    let messages = store.load("s").await.unwrap().unwrap().messages;
    let expected: Vec<_> = (0..saved).map(|number| Message::user(number.to_string())).collect();
    assert_eq!(messages, expected);
    let terminated = terminated.load(Ordering::SeqCst);
    println!("{saved} saves, {terminated} connections terminated, {failed} saves reported");
}
