use std::sync::Arc;
use std::{env, fs, process};

use tool_runtime::models::TestEmbedder;
use tool_runtime::store::Sqlite;
use tool_toolbox::knowledge::{Added, Document, Knowledge, SearchFilter, SqliteDocuments};

async fn knowledge() -> Knowledge {
    Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap())
}

fn sections(count: usize) -> String {
    (0..count).map(|n| format!("# Part {n}\n\n{}\n\n", format!("word{n} ").repeat(150))).collect()
}

#[tokio::test]
async fn only_new_chunks_are_embedded() {
    let embedder = Arc::new(TestEmbedder::new(32));
    let knowledge = knowledge().await.embedder(Arc::clone(&embedder));
    let add =
        async |text: String| knowledge.add_all([Document::markdown("a.md", text)]).await.unwrap();
    let report = add(sections(5)).await;
    assert_eq!((report.new, report.embedded_chunks), (1, 5));
    let report = add(sections(5)).await;
    assert_eq!((report.unchanged, report.embedded_chunks), (1, 0));
    let report = add(sections(6)).await;
    assert_eq!((report.replaced, report.embedded_chunks), (1, 1));
    // The same text elsewhere has the same vector.
    let report = knowledge.add_all([Document::markdown("b.md", sections(3))]).await.unwrap();
    assert_eq!((report.new, report.embedded_chunks), (1, 0));
    assert_eq!(embedder.requests().len(), 2);
}

#[tokio::test]
async fn failed_embedding_leaves_the_document_as_it_was() {
    let words_only = knowledge().await;
    words_only.add(Document::text("a", "apple")).await.unwrap();
    let failing = words_only.clone().embedder(Failing);
    failing.add(Document::text("a", "banana")).await.unwrap_err();
    let found = words_only.search("apple", &SearchFilter::default(), 5).await.unwrap();
    assert_eq!(found.len(), 1);
}

struct Failing;

#[tool_runtime::async_trait]
impl tool_runtime::models::Embedder for Failing {
    async fn embed(
        &self,
        _: tool_runtime::models::EmbedRequest<'_>,
    ) -> Result<tool_runtime::models::Embeddings, tool_runtime::ModelError> {
        Err(tool_runtime::ModelError::unavailable("no"))
    }

    fn id(&self) -> String {
        "failing".into()
    }
}

#[tokio::test]
async fn later_document_of_the_same_source_counts() {
    let knowledge = knowledge().await;
    let documents = ["apple", "banana"].map(|text| Document::text("same", text));
    let report = knowledge.add_all(documents).await.unwrap();
    assert_eq!(report.new, 1);
    let all = SearchFilter::default();
    assert!(knowledge.search("apple", &all, 5).await.unwrap().is_empty());
    assert_eq!(knowledge.search("banana", &all, 5).await.unwrap().len(), 1);
}

#[tokio::test]
async fn folder_is_added_incrementally() {
    let folder = env::temp_dir().join(format!("knowledge-folder-{}", process::id()));
    fs::create_dir_all(folder.join("below")).unwrap();
    let write = |name: &str, text: &[u8]| fs::write(folder.join(name), text).unwrap();
    write("a.md", b"# Apples\n\nRed.");
    write("below/b.txt", b"banana");
    write("ignored.txt", b"secret");
    write(".gitignore", b"ignored.txt");
    write("photo.jpg", b"cherry");
    write("broken.txt", b"\xff\xfe cherry");
    let knowledge = knowledge().await;
    // A document that is not from the folder stays.
    assert_eq!(knowledge.add(Document::text("own", "kept")).await.unwrap(), Added::New);
    let report = knowledge.add_folder(&folder, "").await.unwrap();
    assert_eq!((report.added.new, report.removed, report.skipped.len()), (2, 0, 1));
    assert!(report.skipped[0].0.ends_with("broken.txt"), "{report:?}");
    write("a.md", b"# Apples\n\nGreen.");
    fs::remove_file(folder.join("below/b.txt")).unwrap();
    let report = knowledge.add_folder(&folder, "").await.unwrap();
    assert_eq!((report.added.replaced, report.removed), (1, 1));
    let found = async |text: &str| {
        let found = knowledge.search(text, &SearchFilter::default(), 5).await.unwrap();
        found.into_iter().map(|passage| passage.source).collect::<Vec<_>>()
    };
    assert_eq!(found("green apples").await, ["a.md"]);
    assert_eq!(found("kept").await, ["own"]);
    for text in ["red", "banana", "secret", "cherry"] {
        assert!(found(text).await.is_empty(), "{text}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
