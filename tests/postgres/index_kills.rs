//! Kills processes that create an index of `pgvector`: searches find everything at any time, and
//! the index is finished by the next call.

use std::env;
use std::process::{Command, Stdio};

use tool_runtime::knowledge::{
    DocumentRecord, DocumentStore, IndexedChunk, IndexedDocument, PostgresDocuments, SearchFilter,
};
use tool_runtime::store::Postgres;
use tool_runtime::store::tokio_postgres::Client;

use super::{client, named_schema, server, wait_for_server};

const SCHEMA: &str = "TOOL_TESTS_SCHEMA";

const VECTORS: usize = 2_000;

async fn open(schema: &str, settings: &str) -> PostgresDocuments {
    let config = named_schema(schema).await;
    let options = format!("options='-c maintenance_work_mem=64MB {settings} -c search_path");
    let config = config.replace("options='-c search_path", &options);
    let config = format!("{config} application_name=process_{}", std::process::id());
    PostgresDocuments::open(&Postgres::connect(&config).await.unwrap()).await.unwrap()
}

/// The child process. The server notices at once that it was killed.
#[tokio::test]
#[ignore = "the process that the test below kills"]
async fn child_creates_an_index_until_it_is_killed() {
    let Ok(schema) = env::var(SCHEMA) else { return };
    let store = open(&schema, "-c client_connection_check_interval=5").await;
    store.index_vectors("", "test").await.unwrap();
}

/// Returns the numbers of finished and unfinished indexes of a schema.
async fn indexes(admin: &Client, schema: &str) -> (i64, i64) {
    let count = "SELECT count(*) FILTER (WHERE indisvalid), count(*) FILTER (WHERE NOT indisvalid) \
                 FROM pg_index JOIN pg_class AS it ON it.oid = indexrelid \
                 WHERE relname ~ '^tool_knowledge_vectors_[0-9]+$' \
                 AND relnamespace = $1::text::regnamespace";
    let row = admin.query_one(count, &[&schema]).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn index_survives_kills_of_its_creators() {
    let kills = env::var("KILLS").map_or(8, |kills| kills.parse().unwrap());
    let schema = format!("index_kills_{}", std::process::id());
    let store = open(&schema, "").await;
    let mut random = fastrand::Rng::with_seed(7);
    let document = |number| {
        let mut record = DocumentRecord::new("", format!("{number}"), [0; 32]);
        record.embedder = "test".into();
        let mut chunk = IndexedChunk::new(0, "text", [0; 32]);
        chunk.vector = Some((0..64).map(|_| random.f32() - 0.5).collect());
        IndexedDocument::new(record, vec![chunk])
    };
    store.put((0..VECTORS).map(document).collect()).await.unwrap();
    let admin = client(&server()).await;
    let (mut unfinished, mut is_indexed) = (0, false);
    for _ in 0..kills {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "index_kills::child_creates_an_index_until_it_is_killed"])
            .arg("--ignored")
            .env(SCHEMA, &schema)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Until the server builds the index, or the process has ended without one.
        let building = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 \
                        AND query LIKE 'CREATE INDEX%' AND state = 'active'";
        let name = format!("process_{}", child.id());
        while admin.query_one(building, &[&name]).await.unwrap().get::<_, i64>(0) == 0
            && child.try_wait().unwrap().is_none()
        {
            tokio::task::yield_now().await;
        }
        for _ in 0..fastrand::u32(0..2_000_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        wait_for_server(child.id()).await;
        unfinished += indexes(&admin, &schema).await.1;

        let query = vec![0.125; 64];
        let found = store.search_vectors("test", &query, &SearchFilter::default(), VECTORS).await;
        assert_eq!(found.unwrap().len(), VECTORS);
        // Replaces the unfinished index.
        is_indexed = store.index_vectors("", "test").await.unwrap();
        assert_eq!(indexes(&admin, &schema).await, (i64::from(is_indexed), 0));
        // The next process creates it again.
        let space = format!("SELECT id FROM {schema}.tool_knowledge_spaces");
        let space: i64 = admin.query_one(&space, &[]).await.unwrap().get(0);
        let drop = format!("DROP INDEX IF EXISTS {schema}.tool_knowledge_vectors_{space}");
        admin.batch_execute(&drop).await.unwrap();
    }
    assert_eq!(is_indexed, env::var("TOOL_TESTS_PGVECTOR").is_ok());
    println!("{kills} kills, {unfinished} unfinished indexes");
    assert_eq!(unfinished > 0, is_indexed, "no kill hit a server that builds an index");
}
