use std::sync::Arc;

use proptest::prelude::*;
use tool_runtime::knowledge::{
    Document, DocumentStore, Fusion, Knowledge, SearchFilter, SqliteDocuments,
};
use tool_runtime::models::TestEmbedder;
use tool_runtime::store::Sqlite;

async fn documents() -> SqliteDocuments {
    SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap()
}

#[tokio::test]
async fn passage_says_where_it_is_from() {
    let knowledge = Knowledge::new(documents().await);
    let text = "# Handbook\n\nHello.\n\n## Leave\n\nEveryone has 30 days.\n";
    let page = Document::markdown("handbook.md", text).metadata("year", 2026);
    knowledge.add(page).await.unwrap();
    let found = knowledge.search("How many days?", &SearchFilter::default(), 1).await.unwrap();
    assert_eq!(found[0].heading, "Handbook > Leave");
    assert_eq!(text.get(found[0].start..), Some("## Leave\n\nEveryone has 30 days.\n"));
    assert_eq!(found[0].metadata["year"], 2026);
    assert!(found[0].snippet.contains("30 days"), "{}", found[0].snippet);
    assert!(found[0].score > 0.0);
}

#[tokio::test]
async fn vectors_find_what_words_do_not() {
    let embedder = || TestEmbedder::new(64);
    let store = documents().await;
    let hybrid = Knowledge::new(store.clone()).embedder(embedder());
    for text in ["connect the printer", "water the plants"] {
        hybrid.add(Document::text(text, text)).await.unwrap();
    }
    let all = SearchFilter::default();
    // No word occurs, but a vector always has a closest one.
    let words = Knowledge::new(store.clone());
    assert!(words.search("zebra", &all, 5).await.unwrap().is_empty());
    assert_eq!(hybrid.search("zebra", &all, 5).await.unwrap().len(), 2);
    let without = hybrid.clone().fusion(Fusion::default().vectors(0.0));
    assert!(without.search("zebra", &all, 5).await.unwrap().is_empty());
    let found = hybrid.search("plants water", &all, 1).await.unwrap();
    assert_eq!(found[0].source, "water the plants");
}

#[tokio::test]
async fn texts_without_spaces_are_found_by_their_words() {
    let knowledge = Knowledge::new(documents().await);
    let texts = [
        ("ja", "東京の図書館は月曜日に休みです。インターネットで本を予約できます。"),
        ("zh", "每位员工每年有三十天的带薪年假,需要提前两周向部门经理提交书面申请才能获得批准。"),
        ("th", "พนักงานทุกคนมีวันลาพักร้อนสามสิบวันต่อปี"),
        ("ko", "도서관에서는 월요일마다 쉽니다."),
        ("en", "The library is closed on Mondays."),
    ];
    for (source, text) in texts {
        knowledge.add(Document::text(source, text)).await.unwrap();
    }
    for (query, source) in [
        ("図書館", "ja"),
        ("ネットで予約", "ja"),
        ("年假", "zh"),
        ("经理", "zh"),
        ("假", "zh"),
        ("วันลา", "th"),
        ("도서관", "ko"),
        ("libraries", "en"),
    ] {
        let found = knowledge.search(query, &SearchFilter::default(), 5).await.unwrap();
        assert_eq!(found.first().map(|it| it.source.as_str()), Some(source), "{query}");
    }
    assert!(knowledge.search("銀行", &SearchFilter::default(), 5).await.unwrap().is_empty());
}

#[tokio::test]
async fn long_query_is_searched_by_its_beginning() {
    let embedder = Arc::new(TestEmbedder::new(64));
    let knowledge = Knowledge::new(documents().await).embedder(Arc::clone(&embedder));
    for text in ["water the plants", "connect the printer"] {
        knowledge.add(Document::text(text, text)).await.unwrap();
    }
    let filler: String = (0..100_000).map(|number| format!("wörter{number} ")).collect();
    let query = format!("plants {filler}");
    let found = knowledge.search(&query, &SearchFilter::default(), 1).await.unwrap();
    assert_eq!(found[0].source, "water the plants");
    let embedded = embedder.requests().pop().unwrap().1.remove(0);
    assert!(embedded.len() <= 1_500 && query.starts_with(&embedded), "{}", embedded.len());
    assert!(embedded.len() > 1_490);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_can_be_added_and_asked(texts in prop::collection::vec("\\PC{0,60}", 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = documents().await;
            let knowledge = Knowledge::new(store.clone());
            for text in &texts {
                knowledge.add(Document::text(text.clone(), text.clone())).await.unwrap();
            }
            for text in &texts {
                let all = SearchFilter::default();
                knowledge.search(text, &all, 9).await.unwrap();
                let filter = SearchFilter::default().metadata(text.clone(), text.clone());
                assert!(knowledge.search(text, &filter, 9).await.unwrap().is_empty());
                let found = store.find("", &[text]).await.unwrap();
                assert_eq!(found.len(), 1);
            }
        });
    }
}
