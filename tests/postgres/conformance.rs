//! The contracts of stores of sessions and records, in one process and in several.

use std::env;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use tool_conformance::{records, sessions};
use tool_runtime::agent::session::{SessionError, SessionStore, SessionWrite};
use tool_runtime::store::tokio_postgres::types::ToSql;
use tool_runtime::store::{Postgres, PostgresRecords};

use super::{client, named_schema, schema};

#[tokio::test]
async fn postgres_store_conforms() {
    let open = || async { Postgres::connect(&schema().await).await.unwrap() };
    assert_eq!(sessions::check(open).await, []);
    let config = schema().await;
    let [first, second] = [Postgres::connect(&config).await, Postgres::connect(&config).await];
    assert_eq!(sessions::check_handles(first.unwrap(), second.unwrap()).await, []);
}

async fn open_records(config: &str) -> PostgresRecords {
    Postgres::connect(config).await.unwrap().records().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_records_conform() {
    assert_eq!(records::check(|| async { open_records(&schema().await).await }).await, []);
    let config = schema().await;
    let [first, second] = [open_records(&config).await, open_records(&config).await];
    assert_eq!(records::check_handles(first, second).await, []);
    let store = open_records(&schema().await).await;
    assert_eq!(records::check_handles(store.clone(), store).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_postgres_records_conform() {
    let config = Mutex::new(String::new());
    let open = || async {
        let next = schema().await;
        config.lock().unwrap().clone_from(&next);
        open_records(&next).await
    };
    let damage = async |_: &PostgresRecords, collection: &str, key: &str| {
        let config = config.lock().unwrap().clone();
        let update = r"UPDATE tool_records SET value = '\xff' WHERE collection = $1 AND key = $2";
        let names: [&(dyn ToSql + Sync); 2] = [&collection.as_bytes(), &key.as_bytes()];
        assert_eq!(client(&config).await.execute(update, &names).await.unwrap(), 1);
    };
    assert_eq!(records::check_corrupt(open, damage).await, []);
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
