//! The contract of session stores, in one process and in several.

use std::env;
use std::process::{Command, Stdio};

use tool_runtime::agent::session::{SessionError, SessionStore, SessionWrite, conformance};
use tool_runtime::store::Postgres;

use super::{named_schema, schema};

#[tokio::test]
async fn postgres_store_conforms() {
    let open = || async { Postgres::connect(&schema().await).await.unwrap() };
    conformance::check(open).await.unwrap();
    let config = schema().await;
    let [first, second] = [Postgres::connect(&config).await, Postgres::connect(&config).await];
    conformance::check_handles(first.unwrap(), second.unwrap()).await.unwrap();
}

const SCHEMA: &str = "TOOL_TESTS_SCHEMA";

/// The work of each child process: creates the tables, which may not exist yet, and counts up.
#[tokio::test]
#[ignore = "a process of the test below"]
async fn child_counts_in_a_shared_schema() {
    let Ok(name) = env::var(SCHEMA) else { return };
    let store = Postgres::connect(&named_schema(&name).await).await.unwrap();
    for _ in 0..25 {
        loop {
            let copy = store.load("count").await.unwrap();
            let (revision, count) =
                copy.map_or((0, 0), |it| (it.revision, it.state.parse::<u32>().unwrap()));
            let next = (count + 1).to_string();
            match store.save("count", SessionWrite::update(revision).state(&next)).await {
                Ok(_) => break,
                Err(SessionError::Conflict { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[tokio::test]
async fn processes_share_a_schema_without_losing_writes() {
    let name = format!("processes_{}", std::process::id());
    let config = named_schema(&name).await;
    let spawn = |_| {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "conformance::child_counts_in_a_shared_schema", "--ignored"])
            .env(SCHEMA, &name);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in (0..4).map(spawn).collect::<Vec<_>>() {
        assert!(child.wait().unwrap().success());
    }
    let store = Postgres::connect(&config).await.unwrap();
    assert_eq!(store.load("count").await.unwrap().unwrap().state, "100");
}
