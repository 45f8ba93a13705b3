//! The store for documents: its contract, its numbers, altered rows, and processes that are killed.

#[path = "../../tool-runtime/knowledge/tests/knowledge/kills.rs"]
mod kills;

use std::collections::BTreeMap;
use std::path::Path;

use tool_conformance::documents::{check, check_handles};
use tool_runtime::agent::session::{SessionStore, SessionWrite};
use tool_runtime::knowledge::memory::{Fact, Memory, MemoryScope};
use tool_runtime::knowledge::{
    Added, DocumentRecord, DocumentStore, DocumentStoreError, IndexedChunk, IndexedDocument,
    PostgresDocuments, SearchFilter,
};
use tool_runtime::store::Postgres;
use tool_runtime::store::deadpool_postgres::{Manager, Pool};
use tool_runtime::store::tokio_postgres::{Client, NoTls};

use super::{client, schema, schema_of_process, wait_for_server};

async fn open(config: &str) -> PostgresDocuments {
    PostgresDocuments::open(&Postgres::connect(config).await.unwrap()).await.unwrap()
}

/// Opens the store of the test that kills processes.
async fn open_store(folder: &Path) -> PostgresDocuments {
    let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
    open(&schema_of_process(&name).await).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_conform_to_the_contract() {
    assert_eq!(check(|| async { open(&schema().await).await }).await, []);
    let config = schema().await;
    assert_eq!(check_handles(open(&config).await, open(&config).await).await, []);
    let store = open(&schema().await).await;
    assert_eq!(check_handles(store.clone(), store).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_on_the_pool_of_a_program_conform_at_another_isolation_level() {
    let open = || async {
        let config = schema().await.replace(
            "-c search_path",
            "-c default_transaction_isolation=serializable -c search_path",
        );
        let manager = Manager::new(config.parse().unwrap(), NoTls);
        let pool = Pool::builder(manager).max_size(4).build().unwrap();
        PostgresDocuments::open(&Postgres::from_pool(pool).await.unwrap()).await.unwrap()
    };
    assert_eq!(check(open).await, []);
}

#[tokio::test]
async fn documents_share_a_schema_with_sessions() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    store.save("ada", SessionWrite::create()).await.unwrap();
    let documents = PostgresDocuments::open(&store).await.unwrap();
    documents.put(vec![document("t", "one", &["red fox"])]).await.unwrap();
    assert!(store.load("ada").await.unwrap().is_some());
    assert_eq!(open(&config).await.list("t", "", None, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn memory_keeps_one_fact_of_concurrent_ones() {
    let config = schema().await;
    let memories = [Memory::new(open(&config).await), Memory::new(open(&config).await)];
    let ada = MemoryScope::user("ada");
    let fact = |city: &str| Fact::new(format!("Lives in {city}.")).about("home city");
    let [first, second] = &memories;
    let (oslo, rome) =
        tokio::join!(first.remember(&ada, fact("Oslo")), second.remember(&ada, fact("Rome")));
    let mut outcomes = [oslo.unwrap(), rome.unwrap()].map(|it| format!("{it:?}"));
    outcomes.sort();
    assert_eq!(outcomes, ["New", "Replaced"]);
    assert_eq!(first.remember(&ada, Fact::new("Likes tea.")).await.unwrap(), Added::New);
    let facts = second.facts(&ada).await.unwrap();
    assert_eq!((facts.len(), facts.iter().map(|it| it.history.len()).sum::<usize>()), (2, 1));
}

fn document(tenant: &str, source: &str, texts: &[&str]) -> IndexedDocument {
    let chunk = |(place, text): (usize, &&str)| IndexedChunk::new(place, *text, [0; 32]);
    let chunks = texts.iter().enumerate().map(chunk).collect();
    IndexedDocument::new(DocumentRecord::new(tenant, source, [0; 32]), chunks)
}

/// Texts of few words, so that the words are in many of them.
fn random_texts(random: &mut fastrand::Rng) -> Vec<String> {
    const WORDS: [&str; 9] =
        ["red", "fox", "hen", "sky", "roof", "milk", "café", "parseUrl", "日本"];
    let text = |random: &mut fastrand::Rng| {
        let words = (0..random.usize(1..12)).map(|_| WORDS[random.usize(..WORDS.len())]);
        words.collect::<Vec<_>>().join(" ")
    };
    (0..random.usize(0..4)).map(|_| text(random)).collect()
}

/// Returns the texts of the chunks that a search finds, in their order.
async fn found(store: &PostgresDocuments, query: &str, tenant: &str) -> Vec<String> {
    let ids = store.search_words(query, &SearchFilter::tenant(tenant), 999).await.unwrap();
    store.chunks(&ids).await.unwrap().into_iter().map(|chunk| chunk.text).collect()
}

/// Ranks texts by BM25, in plain code.
fn ranked<'t>(texts: &[&'t str], query: &[&str]) -> Vec<(f64, &'t str)> {
    let words = |text: &str| text.to_lowercase().split(' ').map(str::to_owned).collect::<Vec<_>>();
    let count = u32::try_from(texts.len()).unwrap();
    let lengths: usize = texts.iter().map(|text| words(text).len()).sum();
    let mean = f64::from(u32::try_from(lengths).unwrap()) / f64::from(count);
    let mut scored = Vec::new();
    for text in texts {
        let words = words(text);
        let length = f64::from(u32::try_from(words.len()).unwrap());
        let mut score = 0.0;
        for term in query {
            let times = words.iter().filter(|word| word == term).count();
            let times = f64::from(u32::try_from(times).unwrap());
            let having = texts.iter().filter(|text| text.split(' ').any(|word| word == *term));
            let having = f64::from(u32::try_from(having.count()).unwrap());
            let weight = (1.0 + (f64::from(count) - having + 0.5) / (having + 0.5)).ln();
            score += weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean));
        }
        if score > 0.0 {
            scored.push((score, *text));
        }
    }
    scored.sort_by(|(score, _), (other, _)| other.total_cmp(score));
    scored
}

#[tokio::test]
async fn words_are_ranked_by_the_bm25_of_their_tenant() {
    let store = open(&schema().await).await;
    let mut random = fastrand::Rng::with_seed(7);
    let mut texts: Vec<String> = Vec::new();
    for number in 0..60_usize {
        let words = ["red", "fox", "hen", "sky", "roof"];
        let text: Vec<_> = (0..random.usize(1..9)).map(|_| words[random.usize(..5)]).collect();
        texts.push(text.join(" "));
        let document = document("a", &number.to_string(), &[texts.last().unwrap()]);
        store.put(vec![document]).await.unwrap();
        let other = ["red red red", "sky"][number % 2];
        store.put(vec![self::document("b", &number.to_string(), &[other])]).await.unwrap();
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for query in [&["red"] as &[&str], &["fox", "hen"], &["sky", "roof", "red"], &["none"]] {
        let expected = ranked(&texts, query);
        let scores: BTreeMap<&str, f64> = expected.iter().map(|(it, text)| (*text, *it)).collect();
        let found = found(&store, &query.join(" "), "a").await;
        assert_eq!(found.len(), expected.len(), "{query:?}");
        for (text, (score, _)) in found.iter().zip(&expected) {
            // Texts of equal scores may be exchanged.
            assert!((scores[text.as_str()] - score).abs() < 1e-9, "{query:?} {text}");
        }
    }
}

#[tokio::test]
async fn metadata_and_words_of_other_forms_are_found() {
    let store = open(&schema().await).await;
    let mut cafe = document("", "café", &["Les cafés de l'été"]);
    cafe.record.metadata.insert("kind".into(), serde_json::json!({ "b": [1], "a": null }));
    store.put(vec![cafe, document("", "tea", &["Green tea"])]).await.unwrap();
    for query in ["CAFE", "café", "ete"] {
        assert_eq!(found(&store, query, "").await, ["Les cafés de l'été"], "{query}");
    }
    for (kind, expected) in [
        (serde_json::json!({ "a": null, "b": [1] }), 1),
        (serde_json::json!({ "a": null, "b": ["1"] }), 0),
        (serde_json::json!({ "a": null }), 0),
    ] {
        let filter = SearchFilter::default().metadata("kind", kind.clone());
        let found = store.search_words("cafe tea", &filter, 9).await.unwrap();
        assert_eq!(found.len(), expected, "{kind}");
    }
}

/// Checks that the numbers of each tenant and stem are those of its chunks, and that no row of a
/// removed chunk is left.
async fn check_numbers(client: &Client) {
    for wrong in [
        "SELECT 1 FROM tool_knowledge_tenants AS tenant WHERE (chunks, stems) <> (
            SELECT count(*), coalesce(sum(length), 0) FROM tool_knowledge_chunks AS chunk
            JOIN tool_knowledge_documents AS document ON document.id = chunk.document
            WHERE document.tenant = tenant.id)",
        "SELECT tenant, stem, chunks FROM tool_knowledge_stems EXCEPT
            SELECT tenant, stem, count(*) FROM tool_knowledge_postings GROUP BY tenant, stem",
        "SELECT tenant, stem, count(*) FROM tool_knowledge_postings GROUP BY tenant, stem EXCEPT
            SELECT tenant, stem, chunks FROM tool_knowledge_stems",
        "SELECT chunk FROM tool_knowledge_postings EXCEPT SELECT id FROM tool_knowledge_chunks",
        "SELECT chunk FROM tool_knowledge_codes EXCEPT SELECT chunk FROM tool_knowledge_vectors",
        "SELECT chunk FROM tool_knowledge_vectors EXCEPT SELECT id FROM tool_knowledge_chunks",
    ] {
        assert_eq!(client.query(wrong, &[]).await.unwrap().len(), 0, "{wrong}");
    }
}

#[tokio::test]
async fn numbers_are_those_of_the_stored_chunks_after_any_changes() {
    let config = schema().await;
    let store = open(&config).await;
    let client = client(&config).await;
    let mut random = fastrand::Rng::with_seed(7);
    let mut expected: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for _ in 0..60 {
        let tenant = ["a", "b"][random.usize(..2)];
        let sources: Vec<&str> =
            ["one", "two", "three"].into_iter().filter(|_| random.bool()).collect();
        if random.usize(..3) == 0 {
            let stored = sources.iter().filter(|it| expected.remove(&(tenant, **it)).is_some());
            let stored = stored.count();
            assert_eq!(store.remove(tenant, &sources).await.unwrap(), stored);
        } else {
            let mut documents = Vec::new();
            for source in sources {
                let texts = random_texts(&mut random);
                let parts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let mut document = document(tenant, source, &parts);
                document.record.embedder = "test".into();
                for chunk in &mut document.chunks {
                    chunk.vector = random.bool().then(|| vec![1.0, 0.0]);
                }
                documents.push(document);
                expected.insert((tenant, source), texts);
            }
            store.put(documents).await.unwrap();
        }
        check_numbers(&client).await;
        let words = "red fox hen sky roof milk café parseUrl 日本";
        for tenant in ["a", "b"] {
            let mut stored = found(&store, words, tenant).await;
            stored.sort();
            let of_tenant = expected.iter().filter(|((it, _), _)| *it == tenant);
            let mut texts: Vec<_> = of_tenant.flat_map(|(_, texts)| texts).cloned().collect();
            texts.sort();
            assert_eq!(stored, texts);
        }
    }
}

#[tokio::test]
async fn many_chunks_of_one_document_are_stored_at_once() {
    let config = schema().await;
    let store = open(&config).await;
    // More than one statement inserts.
    let texts: Vec<String> =
        (0..2_500).map(|n| format!("{n} a{n} b{n} c{n} d{n} e{n} f{n} g{n} h{n} i{n}")).collect();
    let parts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut long = document("", "long", &parts);
    long.record.embedder = "test".into();
    for (step, chunk) in (0_u16..).zip(&mut long.chunks) {
        let (sin, cos) = (f32::from(step) / 2_500.0).sin_cos();
        chunk.vector = Some(vec![cos, sin]);
    }
    store.put(vec![long]).await.unwrap();
    check_numbers(&client(&config).await).await;
    for number in [0_usize, 999, 1_000, 2_499] {
        assert_eq!(found(&store, &format!("g{number}"), "").await, [texts[number].clone()]);
        let (sin, cos) = (f32::from(u16::try_from(number).unwrap()) / 2_500.0).sin_cos();
        let all = SearchFilter::default();
        let ids = store.search_vectors("test", &[cos, sin], &all, 1).await.unwrap();
        assert_eq!(store.chunks(&ids).await.unwrap()[0].text, texts[number]);
    }
}

#[tokio::test]
async fn frequent_words_are_left_out_unless_there_is_no_other() {
    let config = schema().await;
    let store = open(&config).await;
    store.put(vec![document("", "one", &["common", "common", "rare"])]).await.unwrap();
    assert_eq!(found(&store, "common rare", "").await.len(), 3);
    // As many as a search never reads.
    let client = client(&config).await;
    let count = "UPDATE tool_knowledge_tenants SET chunks = 300000";
    client.execute(count, &[]).await.unwrap();
    let count = "UPDATE tool_knowledge_stems SET chunks = 200000 WHERE stem = 'common'";
    assert_eq!(client.execute(count, &[]).await.unwrap(), 1);
    assert_eq!(found(&store, "common rare", "").await, ["rare"]);
    assert_eq!(found(&store, "common", "").await, ["common", "common"]);
}

#[tokio::test]
async fn altered_documents_are_errors_and_can_be_replaced() {
    let config = schema().await;
    let store = open(&config).await;
    let client = client(&config).await;
    for (damage, is_found) in [
        ("UPDATE tool_knowledge_documents SET metadata = '[]' WHERE source = 'one'", true),
        ("UPDATE tool_knowledge_documents SET metadata = '\\xff' WHERE source = 'one'", true),
        ("UPDATE tool_knowledge_documents SET digest = 'short' WHERE source = 'one'", false),
        ("UPDATE tool_knowledge_documents SET embedder = '\\xff' WHERE source = 'one'", false),
    ] {
        store.put(vec![document("", "one", &["red fox"])]).await.unwrap();
        assert_eq!(client.execute(damage, &[]).await.unwrap(), 1);
        let error = store.find("", &["one"]).await.unwrap_err();
        let reason = "record of document `one` can't be decoded";
        assert!(error.to_string().starts_with(reason), "{error}");
        let listed = store.list("", "", None, 9).await.unwrap_err();
        assert!(matches!(listed, DocumentStoreError::Corrupt { .. }), "{listed}");
        let ids = store.search_words("fox", &SearchFilter::default(), 9).await.unwrap();
        assert_eq!(store.chunks(&ids).await.is_err(), is_found, "{damage}");
        assert_eq!(store.remove("", &["one"]).await.unwrap(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_several_tenants_never_block_each_other_for_good() {
    let config = schema().await;
    let writers = (0..4_usize).map(|writer| {
        let config = config.clone();
        tokio::spawn(async move {
            let store = open(&config).await;
            for round in 0..10_usize {
                let mut tenants = ["a", "b", "c"];
                tenants.rotate_left((writer + round) % 3);
                let text = format!("word{writer}");
                let documents = tenants.map(|tenant| document(tenant, "one", &[&text]));
                store.put(documents.to_vec()).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    check_numbers(&client(&config).await).await;
}

#[tokio::test]
async fn names_have_a_limit_of_bytes() {
    let store = open(&schema().await).await;
    let mut random = fastrand::Rng::with_seed(7);
    let mut name = |len: usize| (0..len).map(|_| random.alphanumeric()).collect::<String>();
    let (tenant, source) = (name(2_600), name(2_600));
    store.put(vec![document(&tenant, &source, &["red fox"])]).await.unwrap();
    assert_eq!(found(&store, "fox", &tenant).await, ["red fox"]);
    let long = name(9_000);
    for (tenant, source) in [(&*long, "a"), ("a", &long)] {
        store.put(vec![document(tenant, source, &["red fox"])]).await.unwrap_err();
        assert!(store.list(tenant, "", None, 9).await.unwrap().is_empty());
    }
}
