use tool_runtime::store::Sqlite;
use tool_toolbox::knowledge::{SqliteDocuments, conformance};

#[tokio::test]
async fn sqlite_documents_conform() {
    conformance::check(|| async {
        SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap()
    })
    .await
    .unwrap();
}
