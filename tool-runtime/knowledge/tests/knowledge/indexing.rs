use std::sync::Arc;
use std::{env, fs, process};

use tool_runtime::ModelError;
use tool_runtime::knowledge::{
    Added, Document, Knowledge, KnowledgeError, SearchFilter, SqliteDocuments,
};
use tool_runtime::models::{EmbedLimits, EmbedRequest, Embedder, Embeddings, TestEmbedder};
use tool_runtime::store::Sqlite;

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

#[tokio::test]
async fn documents_that_were_embedded_before_a_failure_stay() {
    let limits = EmbedLimits::default().max_texts(2);
    let embedder = Arc::new(TestEmbedder::new(32).with_limits(limits));
    embedder.fail_request(3, ModelError::unavailable("overloaded"));
    let knowledge = knowledge().await.embedder(Arc::clone(&embedder));
    let documents = || {
        ["a", "b", "c", "d"].map(|name| Document::markdown(name, format!("{name} {}", sections(1))))
    };
    let long = Document::markdown("long", sections(4));
    let all = || documents().into_iter().chain([long.clone()]);
    // Two documents in each request; the third one is for the rest.
    knowledge.add_all(all()).await.unwrap_err();
    let stored = knowledge.store().list("", "", None, 9).await.unwrap();
    let stored: Vec<_> = stored.into_iter().map(|record| record.source).collect();
    assert_eq!(stored, ["a", "b", "c", "d"]);
    let report = knowledge.add_all(all()).await.unwrap();
    assert_eq!((report.new, report.unchanged), (1, 4));
    let texts = embedder.requests().iter().map(|(_, texts)| texts.len()).max();
    assert_eq!(texts, Some(2));
    let before = embedder.requests().len();
    let report = knowledge.add_all(all()).await.unwrap();
    assert_eq!((report.unchanged, report.embedded_chunks), (5, 0));
    assert_eq!(embedder.requests().len(), before);
}

#[tokio::test]
async fn chunks_of_a_long_document_are_embedded_once_whatever_request_fails() {
    const CHUNKS: usize = 7;
    for failing in 1..=4 {
        let embedder =
            Arc::new(TestEmbedder::new(32).with_limits(EmbedLimits::default().max_texts(2)));
        let knowledge = knowledge().await.embedder(Arc::clone(&embedder));
        // The chunks of the earlier version are known, and stay so.
        knowledge.add(Document::markdown("long", "# Earlier\n\nKnown.\n\n")).await.unwrap();
        embedder.fail_request(failing, ModelError::unavailable("overloaded"));
        let text = sections(CHUNKS) + "# Earlier\n\nKnown.\n\n";
        let long = || Document::markdown("long", text.clone()).metadata("kind", "long");
        knowledge.add(long()).await.unwrap_err();
        // If no request succeeded, the earlier version is stored. Other chunks are found by words.
        let all = SearchFilter::default();
        let found = knowledge.store().search_words("word0 word6", &all, 9).await.unwrap();
        assert_eq!(found.len(), if failing == 1 { 0 } else { 2 });
        let report = knowledge.add_all([long()]).await.unwrap();
        assert_eq!((report.replaced, report.embedded_chunks), (1, CHUNKS - 2 * (failing - 1)));
        assert_eq!(knowledge.add(long()).await.unwrap(), Added::Unchanged);
    }
}

/// Returns the same vectors for any texts.
struct Fixed(Vec<Vec<f32>>, Option<usize>);

#[tool_runtime::async_trait]
impl Embedder for Fixed {
    async fn embed(&self, _: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        Ok(Embeddings::new(self.0.clone()))
    }

    fn id(&self) -> String {
        "fixed".into()
    }

    fn dimensions(&self) -> Option<usize> {
        self.1
    }
}

#[tokio::test]
async fn vectors_that_cannot_be_compared_are_refused() {
    let whole = || vec![0.6, 0.8];
    for (vectors, dimensions, reason) in [
        (vec![whole(), vec![0.6, f32::NAN]], None, "text 1: a component is NaN"),
        (vec![vec![f32::INFINITY, 0.0], whole()], None, "text 0: a component is inf"),
        (
            vec![whole(), vec![-70_000.0, 0.0]],
            None,
            "text 1: a component is -70000, and the largest is 65504: scale the vectors of the \
             embedder to the length 1",
        ),
        (vec![whole(), vec![1.0]], None, "text 1: 1 dimensions, expected 2"),
        (vec![whole(), whole()], Some(3), "text 0: 2 dimensions, expected 3"),
        (vec![vec![], vec![]], None, "text 0: it has no dimensions"),
        (vec![whole()], None, "1 vectors for 2 texts"),
        (vec![whole(), whole()], Some(2), ""),
    ] {
        let knowledge = knowledge().await.embedder(Fixed(vectors.clone(), dimensions));
        let added = knowledge.add_all(["a", "b"].map(|text| Document::text(text, text))).await;
        let text = added.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(text.ends_with(reason) && text.is_empty() == reason.is_empty(), "{text}");
    }
    // A query has one vector.
    for (component, fails) in [(f32::NAN, true), (0.8, false)] {
        let knowledge = knowledge().await.embedder(Fixed(vec![vec![0.6, component]], None));
        let found = knowledge.search("a", &SearchFilter::default(), 5).await;
        let is_invalid = matches!(found, Err(KnowledgeError::InvalidVector { index: 0, .. }));
        assert_eq!(is_invalid, fails);
    }
}

struct Failing;

#[tool_runtime::async_trait]
impl Embedder for Failing {
    async fn embed(&self, _: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        Err(ModelError::unavailable("no"))
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
    let search =
        async |query: &str| knowledge.search(query, &SearchFilter::default(), 1).await.unwrap();
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

#[tokio::test]
async fn long_headings_are_no_burden_for_the_chunks_below() {
    let knowledge = knowledge().await;
    let text = format!(
        "# {}\n\n{}",
        "heading ".repeat(20_000) + "zebra",
        "A paragraph.\n\n".repeat(20_000)
    );
    knowledge.add(Document::markdown("a.md", text)).await.unwrap();
    let found = knowledge.search("paragraph", &SearchFilter::default(), 9).await.unwrap();
    assert!(found.iter().all(|it| (1..=200).contains(&it.heading.len())), "{found:?}");
    // The end of the heading is found in its own chunk.
    assert_eq!(knowledge.search("zebra", &SearchFilter::default(), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn file_is_added_in_the_format_of_its_extension() {
    let folder = env::temp_dir().join(format!("knowledge-file-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let knowledge = knowledge().await;
    for (name, heading) in [("a.md", "Leave"), ("a.txt", ""), ("a", "")] {
        let path = folder.join(name);
        fs::write(&path, "# Leave\n\nEveryone has 30 days.").unwrap();
        let document = Document::from_file(&path).unwrap().tenant(name);
        knowledge.add(document).await.unwrap();
        let found = knowledge.search("days", &SearchFilter::tenant(name), 9).await.unwrap();
        assert_eq!(
            (found[0].source.as_str(), found[0].heading.as_str()),
            (path.to_str().unwrap(), heading)
        );
    }
    fs::write(folder.join("image.txt"), [0xff]).unwrap();
    let error = Document::from_file(folder.join("image.txt")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    fs::remove_dir_all(&folder).unwrap();
}
