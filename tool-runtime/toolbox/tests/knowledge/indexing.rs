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

#[tokio::test]
async fn folder_replaces_no_document_of_another_origin() {
    let temporary = fs::canonicalize(env::temp_dir()).unwrap();
    let parent = temporary.join(format!("knowledge-origins-{}", process::id()));
    let [first, second, moved] = ["first", "second", "moved"].map(|name| parent.join(name));
    for (folder, text) in [(&first, "apple"), (&second, "banana")] {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("README.md"), text).unwrap();
    }
    fs::write(second.join("own.txt"), "cherry").unwrap();
    let knowledge = knowledge().await;
    knowledge.add(Document::text("own.txt", "papaya")).await.unwrap();
    assert_eq!(knowledge.add_folder(&first, "").await.unwrap().added.new, 1);
    let report = knowledge.add_folder(&second, "").await.unwrap();
    assert_eq!((report.added.new, report.added.replaced, report.removed), (0, 0, 0));
    let skipped: Vec<_> = report.skipped.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(skipped, ["README.md", "own.txt"].map(|name| second.join(name)));
    assert!(report.skipped[0].1.contains("first"), "{report:?}");
    let found = async |text: &str| {
        !knowledge.search(text, &SearchFilter::default(), 5).await.unwrap().is_empty()
    };
    assert!(found("apple").await && found("papaya").await);
    assert!(!found("banana").await && !found("cherry").await);
    // Another tenant has room for it, and a folder that was moved is the same one.
    assert_eq!(knowledge.add_folder(&second, "other").await.unwrap().added.new, 2);
    fs::rename(&first, &moved).unwrap();
    let report = knowledge.add_folder(&moved, "").await.unwrap();
    assert_eq!((report.added.replaced, report.skipped.len()), (1, 0));
    fs::remove_dir_all(&parent).unwrap();
}

const PAGE: &str = "<html><head><title>Leave</title><style>.x { color: red }</style></head><body>\
    <script>let hidden = 'pineapple';</script><p hidden>secret papaya</p>\
    <h2>Days</h2><p>Everyone has <b>30</b> days of <a href='/leave'>leave</a>.</p>\
    <h2>Travel</h2><p>Book by train.</p></body></html>";

#[tokio::test]
async fn pages_are_divided_by_their_headings() {
    let knowledge = knowledge().await;
    let page = Document::html("https://intranet.example/handbook", PAGE);
    assert_eq!(knowledge.add(page.clone()).await.unwrap(), Added::New);
    assert_eq!(knowledge.add(page).await.unwrap(), Added::Unchanged);
    let search = async |question: &str| {
        knowledge.search(question, &SearchFilter::default(), 1).await.unwrap()
    };
    let found = search("days of leave").await;
    assert_eq!(found[0].heading, "Leave > Days");
    let expected = "## Days\n\nEveryone has **30** days of \
                    [leave](https://intranet.example/leave).";
    assert_eq!(found[0].text, expected);
    assert_eq!(search("train").await[0].heading, "Leave > Travel");
    for hidden in ["pineapple", "papaya", "color"] {
        assert!(search(hidden).await.is_empty(), "{hidden}");
    }
}

#[tokio::test]
async fn hostile_pages_are_reduced_to_their_text() {
    let knowledge = knowledge().await;
    let nested = format!("{}banana{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
    knowledge.add(Document::html("nested.html", nested)).await.unwrap();
    let unclosed = format!("<p>cherry</p>{}", "<table><tr><td>".repeat(50_000));
    knowledge.add(Document::html("unclosed.html", unclosed)).await.unwrap();
    for (word, source) in [("banana", "nested.html"), ("cherry", "unclosed.html")] {
        let found = knowledge.search(word, &SearchFilter::default(), 5).await.unwrap();
        assert_eq!(found[0].source, source);
    }
}
