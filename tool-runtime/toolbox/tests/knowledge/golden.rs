//! Documents and facts that earlier versions have written are found and replaced.

use std::{env, fs, process};

use tool_runtime::models::TestEmbedder;
use tool_runtime::store::Sqlite;
use tool_toolbox::knowledge::{
    Document, DocumentStore, Fusion, Knowledge, SearchFilter, SqliteDocuments,
};
use tool_toolbox::memory::{Fact, Memory, MemoryScope, Remembered};

/// Files of each version of the tables, with the documents and facts below.
const FILES: [(u32, &[u8]); 1] =
    [(1, include_bytes!("../../../../tests/golden/knowledge_1.db").as_slice())];

const LEAVE: &str = "# Handbook\n\nHello.\n\n## Leave\n\nEveryone has 30 days.\n";
const TRAVEL: &str = "Book by train.\n\nKeep the receipts.\n";
const MEALS: &str = "<title>Meals</title><p>Lunch costs <b>7</b> coins.</p>";

#[tokio::test]
async fn documents_of_an_earlier_version_are_found_and_replaced() {
    for (version, bytes) in FILES {
        let path = env::temp_dir().join(format!("knowledge-{version}-{}.db", process::id()));
        fs::write(&path, bytes).unwrap();
        let file = Sqlite::open(&path).await.unwrap();
        let store = SqliteDocuments::open(&file).await.unwrap();
        let knowledge = Knowledge::new(store.clone()).embedder(TestEmbedder::new(256));
        let best = async |fusion: Fusion, question: &str| {
            let knowledge = knowledge.clone().fusion(fusion);
            let found = knowledge.search(question, &SearchFilter::default(), 1).await.unwrap();
            (found[0].source.clone(), found[0].heading.clone())
        };
        let expected = [
            ("days of leave", "leave.md", "Handbook > Leave"),
            ("lunch", "meals.html", "Meals"),
            ("book by train", "travel.txt", ""),
        ];
        let check = async || {
            for (question, source, heading) in expected {
                for fusion in [Fusion::default().words(0.0), Fusion::default().vectors(0.0)] {
                    let found = best(fusion, question).await;
                    assert_eq!(found, (source.to_owned(), heading.to_owned()), "{question}");
                }
            }
        };
        check().await;
        // Their vectors are used again.
        let documents = [
            Document::markdown("leave.md", LEAVE),
            Document::text("travel.txt", TRAVEL),
            Document::html("meals.html", MEALS),
        ];
        let report = knowledge.add_all(documents).await.unwrap();
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
        fs::remove_file(&path).unwrap();
    }
}
