//! Tables that earlier versions have written are read and continued.
//!
//! `tests/golden/postgres` has a dump of the tables of all stores for each version.

#[path = "../../tool-runtime/dynamic/tests/catalog/contents.rs"]
mod contents;
#[path = "../../tool-runtime/knowledge/tests/knowledge/fixture_documents.rs"]
mod fixture_documents;
#[path = "../registry/override_records.rs"]
pub(crate) mod override_records;
#[path = "../../tool-runtime/schedule/tests/schedule/records.rs"]
mod records;

use serde_json::Value;
use tool_runtime::Message;
use tool_runtime::agent::session::{SessionQuery, SessionStore, SessionWrite};
use tool_runtime::dynamic::catalog::PostgresCatalog;
use tool_runtime::knowledge::PostgresDocuments;
use tool_runtime::mcp::{PinStore, PinnedDefinition, Pins, PostgresPins};
use tool_runtime::schedule::PostgresSchedules;
use tool_runtime::store::Postgres;

use super::{client, exchanged_records, named_schema, schema};

const DUMPS: [&str; 2] = [
    include_str!("../golden/postgres/stores_1.sql"),
    // With checksums of messages that are bound to the sessions.
    include_str!("../golden/postgres/stores_2.sql"),
];

/// Dumps of the tables of documents, from the schema `golden_documents`.
const DOCUMENTS: [&str; 1] = ["documents_1.sql"];

/// Returns the names, messages and states of the sessions.
fn sessions() -> Vec<(String, Vec<Message>, String)> {
    let records: Vec<Value> =
        serde_json::from_str(include_str!("../golden/sessions/records.json")).unwrap();
    let session = |record: &Value| {
        let [name, state] = ["session", "state"].map(|key| record[key].as_str().unwrap().into());
        (name, serde_json::from_value(record["messages"].clone()).unwrap(), state)
    };
    records.iter().map(session).collect()
}

fn pins() -> Pins {
    let definition = serde_json::json!({ "description": "Adds.\0 🦀", "inputSchema": {} });
    Pins::from([("add".to_owned(), PinnedDefinition::new("add", definition))])
}

#[tokio::test]
async fn tables_of_an_earlier_version_are_continued() {
    for dump in DUMPS {
        let config = schema().await;
        client(&config).await.batch_execute(dump).await.unwrap();
        let store = Postgres::connect(&config).await.unwrap();
        let other = client(&config).await;
        let run = async |statements: &str| other.batch_execute(statements).await.unwrap();
        let names = ["answered", "paused", "windowed"];
        exchanged_records::check(&store, &names, "tool_", run).await;
        for (name, messages, state) in sessions() {
            let record = store.load(&name).await.unwrap().unwrap();
            assert_eq!((&record.messages, &record.state), (&messages, &state), "{name}");
            let more = [Message::user("And now?")];
            let write = SessionWrite::update(record.revision).messages(messages.len(), &more);
            store.save(&name, write).await.unwrap();
        }
        let count = store.list(SessionQuery::all()).await.unwrap().len();
        assert_eq!(count, sessions().len());
        override_records::check(&store.overrides().await.unwrap()).await;
        records::check(&PostgresSchedules::open(&store).await.unwrap()).await;
        contents::check(PostgresCatalog::open(&store).await.unwrap()).await;
        let stored = PostgresPins::open(&store).await.unwrap().load("docs").await.unwrap();
        assert_eq!(stored, Some(pins()));
    }
}

#[tokio::test]
async fn documents_of_an_earlier_version_are_continued() {
    for name in DOCUMENTS {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/postgres");
        let dump = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
        let config = schema().await;
        client(&config).await.batch_execute(&dump).await.unwrap();
        let store = Postgres::connect(&config).await.unwrap();
        fixture_documents::check(PostgresDocuments::open(&store).await.unwrap()).await;
    }
}

/// Run it when tables or contents change, keep the earlier dumps, and write the next one:
/// `pg_dump --schema=golden --no-owner --inserts | grep -v '^\\\|^--\|^SET\|search_path\|SCHEMA' |
/// sed 's/golden\.//g'`
#[tokio::test]
#[ignore = "fills the schemas `golden` and `golden_documents`, whose dumps are the fixtures"]
async fn write_tables_of_this_version() {
    let store = Postgres::connect(&named_schema("golden").await).await.unwrap();
    for (name, messages, state) in sessions() {
        let write = SessionWrite::create().messages(0, &messages).state(&state);
        store.save(&name, write).await.unwrap();
    }
    override_records::fill(&store.overrides().await.unwrap()).await;
    records::fill(&PostgresSchedules::open(&store).await.unwrap()).await;
    contents::fill(PostgresCatalog::open(&store).await.unwrap()).await;
    PostgresPins::open(&store).await.unwrap().save("docs", &pins()).await.unwrap();
    let store = Postgres::connect(&named_schema("golden_documents").await).await.unwrap();
    fixture_documents::fill(PostgresDocuments::open(&store).await.unwrap()).await;
}
