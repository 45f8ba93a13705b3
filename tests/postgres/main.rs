//! Tests of the PostgreSQL store against a server, which `.ci/steps/run/postgres` starts.
//!
//! `TOOL_TESTS_POSTGRES` is the connection string of a database in which the user may create
//! schemas. Each test has its own schema.

mod altered_rows;
mod catalog;
mod conformance;
mod connections;
mod documents;
#[path = "../agent/session/exchanged_records.rs"]
mod exchanged_records;
mod index_kills;
#[path = "../agent/session/kills.rs"]
mod kills;
mod limits;
mod notifications;
mod opening;
mod overrides;
#[path = "../agent/session/owners.rs"]
mod owners;
mod pins;
mod proxy;
mod random_kills;
mod restart;
mod schedules;
mod setting_kills;
mod tables;
mod vectors;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, process};

use tool_runtime::Message;
use tool_runtime::agent::session::SessionStore;
use tool_runtime::store::Postgres;
use tool_runtime::store::tokio_postgres::{Client, NoTls};

/// Returns the connection string of the server.
fn server() -> String {
    env::var("TOOL_TESTS_POSTGRES")
        .expect("TOOL_TESTS_POSTGRES names no server; `.ci/steps/run/postgres` starts one")
}

/// Returns the connection string of a schema, which is created if it does not exist.
async fn named_schema(name: &str) -> String {
    let create = format!("CREATE SCHEMA IF NOT EXISTS {name}");
    client(&server()).await.batch_execute(&create).await.unwrap();
    format!("{} options='-c search_path={name}'", server())
}

/// Returns the connection string of a new schema.
async fn schema() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    named_schema(&format!("test_{}_{number}", process::id())).await
}

/// Connects without the store.
async fn client(config: &str) -> Client {
    let (client, connection) =
        tool_runtime::store::tokio_postgres::connect(config, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Returns the connection string of a schema for a process that may be killed.
async fn schema_of_process(name: &str) -> String {
    format!("{} application_name=process_{}", named_schema(name).await, process::id())
}

/// Waits until the server has finished the work of a process that was killed.
async fn wait_for_server(process: u32) {
    let admin = client(&server()).await;
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
    let name = format!("process_{process}");
    while admin.query_one(count, &[&name]).await.unwrap().get::<_, i64>(0) > 0 {
        tokio::task::yield_now().await;
    }
}

/// Returns the revision and the number of messages of the session `s`, as soon as the server can be
/// reached.
async fn position(store: &Postgres) -> (u64, usize) {
    loop {
        match store.load("s").await {
            Ok(record) => return record.map_or((0, 0), |it| (it.revision, it.messages.len())),
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    }
}

/// The lifetime of leases in tests that kill processes, after which another one continues.
const LEASE_LIFETIME: Duration = Duration::from_millis(700);

/// Opens the store of a test that kills processes.
async fn open_store(folder: &Path) -> Postgres {
    let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
    Postgres::connect(&named_schema(&name).await).await.unwrap()
}

fn user_messages(texts: &[&str]) -> Vec<Message> {
    texts.iter().map(|text| Message::user(*text)).collect()
}
