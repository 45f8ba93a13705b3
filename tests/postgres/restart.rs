//! A server that crashes and restarts while a store is in use.

use std::env;
use std::process::Command;

use tool_runtime::Message;
use tool_runtime::agent::session::{SessionStore, SessionWrite};
use tool_runtime::store::Postgres;

use super::{position, schema};

/// `TOOL_TESTS_POSTGRES_RESTART` is the command that restarts the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "ends the connections of all other tests"]
async fn store_survives_restarts_of_the_server() {
    let restart = env::var("TOOL_TESTS_POSTGRES_RESTART").expect("the command is not set");
    let store = Postgres::connect(&schema().await).await.unwrap();
    let (mut revision, mut saved, mut failed) = (0, 0, 0);
    for _ in 0..3 {
        let command = restart.clone();
        let restarting = tokio::task::spawn_blocking(move || {
            Command::new("sh").args(["-c", &command]).status().unwrap()
        });
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
        assert!(restarting.await.unwrap().success());
    }
    let messages = store.load("s").await.unwrap().unwrap().messages;
    let expected: Vec<_> = (0..saved).map(|number| Message::user(number.to_string())).collect();
    assert_eq!(messages, expected);
    println!("{saved} saves and 3 restarts, during which {failed} saves were reported as failed");
    assert!(failed > 0, "no save met a restart");
}
