//! Documents and facts of the fixtures: what each version writes, and every later one has to find.

use tool_runtime::knowledge::memory::{Fact, Memory, MemoryScope, Remembered};
use tool_runtime::knowledge::{Document, DocumentStore, Fusion, Knowledge, SearchFilter};
use tool_runtime::models::TestEmbedder;

const LEAVE: &str = "# Handbook\n\nHello.\n\n## Leave\n\nEveryone has 30 days.\n";
const TRAVEL: &str = "Book by train.\n\nKeep the receipts.\n";
const MEALS: &str = "<title>Meals</title><p>Lunch costs <b>7</b> coins.</p>";

fn documents() -> [Document; 3] {
    [
        Document::markdown("leave.md", LEAVE),
        Document::text("travel.txt", TRAVEL),
        Document::html("meals.html", MEALS),
    ]
}

/// Writes the documents and facts.
pub(crate) async fn fill(store: impl DocumentStore + Clone + 'static) {
    let knowledge = Knowledge::new(store.clone()).embedder(TestEmbedder::new(256));
    let code = Document::code("urls.rs", "pub fn parseHttpUrl() {}\n");
    let documents = documents().into_iter().chain([code]);
    // `check` replaces them by documents without metadata.
    let with_metadata = |document: Document| document.metadata("folder", "/tmp/handbook");
    knowledge.add_all(documents.map(with_metadata).collect::<Vec<_>>()).await.unwrap();
    let (memory, ada) = (Memory::new(store), MemoryScope::user("ada"));
    let lives_in = |city: &str| Fact::new(format!("Lives in {city}.")).about("home city");
    for fact in
        [Fact::new("Likes tea.").learned_from("session 7"), lives_in("Oslo"), lives_in("Lima")]
    {
        memory.remember(&ada, fact).await.unwrap();
    }
}

/// Finds the documents and facts, and replaces them.
pub(crate) async fn check(store: impl DocumentStore + Clone + 'static) {
    let knowledge = Knowledge::new(store.clone()).embedder(TestEmbedder::new(256));
    let best = async |fusion: Fusion, query: &str| {
        let knowledge = knowledge.clone().fusion(fusion);
        let found = knowledge.search(query, &SearchFilter::default(), 1).await.unwrap();
        (found[0].source.clone(), found[0].heading.clone())
    };
    let expected = [
        ("days of leave", "leave.md", "Handbook > Leave"),
        ("lunch", "meals.html", "Meals"),
        ("book by train", "travel.txt", ""),
    ];
    let check = async || {
        for (query, source, heading) in expected {
            for fusion in [Fusion::default().words(0.0), Fusion::default().vectors(0.0)] {
                let found = best(fusion, query).await;
                assert_eq!(found, (source.to_owned(), heading.to_owned()), "{query}");
            }
        }
    };
    check().await;
    // Their vectors are used again.
    let report = knowledge.add_all(documents()).await.unwrap();
    assert_eq!((report.new, report.embedded_chunks), (0, 0), "{report:?}");
    assert_eq!(store.list("", "", None, 99).await.unwrap().len(), 4);
    check().await;

    let memory = Memory::new(store);
    let ada = MemoryScope::user("ada");
    let facts = memory.facts(&ada).await.unwrap();
    let about: Vec<_> = facts.iter().map(|fact| fact.about.as_deref()).collect();
    assert_eq!(about, [Some("home city"), None]);
    assert_eq!(facts[0].history[0].text, "Lives in Oslo.");
    assert_eq!(facts[1].learned_from.as_deref(), Some("session 7"));
    for (fact, expected) in [
        (Fact::new("likes tea"), Remembered::Known),
        (Fact::new("Lives in Rome.").about("Home City"), Remembered::Replaced),
    ] {
        assert_eq!(memory.remember(&ada, fact).await.unwrap(), expected);
    }
    assert_eq!(memory.facts(&ada).await.unwrap()[0].history.len(), 2);
}
