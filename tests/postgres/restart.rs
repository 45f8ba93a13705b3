//! A server that crashes and restarts while a store is in use.

use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use tool_runtime::Message;
use tool_runtime::agent::session::{SessionStore, SessionWrite};
use tool_runtime::store::Postgres;

use super::owners::{begin, check, start_child};
use super::{position, schema};

/// Restarts the server by the command `TOOL_TESTS_POSTGRES_RESTART`.
fn restart_server() {
    let restart = env::var("TOOL_TESTS_POSTGRES_RESTART").expect("the command is not set");
    assert!(Command::new("sh").args(["-c", &restart]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "ends the connections of all other tests"]
async fn store_survives_restarts_of_the_server() {
    let store = Postgres::connect(&schema().await).await.unwrap();
    let (mut revision, mut saved, mut failed) = (0, 0, 0);
    for _ in 0..3 {
        let restarting = tokio::task::spawn_blocking(restart_server);
        let before = saved;
        while !restarting.is_finished() || saved < before + 20 {
            let message = [Message::user(saved.to_string())];
            let write = SessionWrite::update(revision).messages(saved, &message);
            match store.save("s", write).await {
                Ok(next) => (revision, saved) = (next, saved + 1),
                Err(error) => {
                    assert!(error.is_transient(), "{error}");
                    failed += 1;
                    // The write may have been done.
                    let acknowledged = saved;
                    (revision, saved) = position(&store).await;
                    assert!(saved >= acknowledged, "an acknowledged write is lost");
                }
            }
        }
        restarting.await.unwrap();
    }
    let messages = store.load("s").await.unwrap().unwrap().messages;
    let expected: Vec<_> = (0..saved).map(|number| Message::user(number.to_string())).collect();
    assert_eq!(messages, expected);
    println!("{saved} saves and 3 restarts, during which {failed} saves were reported as failed");
    assert!(failed > 0, "no save met a restart");
}

/// Two processes run one session. Each ends when its connection does, and is started again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "ends the connections of all other tests"]
async fn session_has_one_owner_across_restarts_of_the_server() {
    let folder = begin("owners-restart").await;
    let line_count = || fs::read_to_string(folder.join("log")).unwrap_or_default().lines().count();
    let mut children = [(); 2].map(|()| start_child(&folder, None, None));
    let started = Instant::now();
    let (mut restarts, mut ended, mut next_restart) = (0, 0, line_count() + 3);
    loop {
        assert!(started.elapsed() < Duration::from_secs(120), "the session is stuck");
        if line_count() >= next_restart && restarts < 5 {
            tokio::task::spawn_blocking(restart_server).await.unwrap();
            restarts += 1;
            next_restart = line_count() + 3;
        }
        let mut is_done = true;
        for child in &mut children {
            match child.try_wait().unwrap() {
                Some(status) if status.success() => {}
                Some(_) => {
                    *child = start_child(&folder, None, None);
                    (is_done, ended) = (false, ended + 1);
                }
                None => is_done = false,
            }
        }
        if is_done {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    check(&folder).await;
    println!("{restarts} restarts ended {ended} processes");
    assert!(restarts > 2 && ended > 0);
}
