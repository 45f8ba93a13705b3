//! Indexes of `pgvector`, which `.ci/steps/run/postgres` has in its second server.

use std::env;
use std::time::Instant;

use tool_conformance::documents;
use tool_runtime::knowledge::{
    DocumentRecord, DocumentStore, IndexedChunk, IndexedDocument, PostgresDocuments, SearchFilter,
};
use tool_runtime::store::Postgres;
use tool_runtime::store::tokio_postgres::Client;

use super::{client, schema, server};

const DIMENSIONS: usize = 64;

/// Returns whether the server has the extension, as `TOOL_TESTS_PGVECTOR` says.
fn has_extension() -> bool {
    env::var("TOOL_TESTS_PGVECTOR").is_ok()
}

async fn open(config: &str) -> PostgresDocuments {
    PostgresDocuments::open(&Postgres::connect(config).await.unwrap()).await.unwrap()
}

/// A random vector of length 1 around one of a few directions, as those of texts are.
fn vector(random: &mut fastrand::Rng) -> Vec<f32> {
    let direction = random.usize(..16);
    let noise = (0..DIMENSIONS)
        .map(|place| random.f32() - 0.5 + if place % 16 == direction { 1.0 } else { 0.0 });
    let vector: Vec<f32> = noise.collect();
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    vector.into_iter().map(|component| component / length).collect()
}

fn document(tenant: &str, number: usize, vector: Vec<f32>) -> IndexedDocument {
    let mut record = DocumentRecord::new(tenant, format!("{number:05}"), [0; 32]);
    record.embedder = "test".into();
    record.metadata.insert("hundred".into(), (number / 100).into());
    let mut chunk = IndexedChunk::new(0, "text", [0; 32]);
    chunk.vector = Some(vector);
    IndexedDocument::new(record, vec![chunk])
}

/// Returns how often the server has used indexes for vectors.
async fn uses(client: &Client) -> i64 {
    let count = "SELECT coalesce(sum(idx_scan), 0)::bigint FROM pg_stat_user_indexes \
                 WHERE schemaname = current_schema() \
                 AND indexrelname ~ '^tool_knowledge_vectors_[0-9]+$'";
    client.batch_execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
    client.query_one(count, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn index_finds_the_closest_vectors() {
    let config = schema().await;
    // The server would compare all of so few vectors.
    let settings = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off";
    let store = open(&with_settings(&config, settings)).await;
    assert!(!store.index_vectors("", "test").await.unwrap(), "there are no vectors yet");
    let mut random = fastrand::Rng::with_seed(7);
    let vectors: Vec<_> = (0..3_000).map(|_| vector(&mut random)).collect();
    let all = vectors.iter().enumerate();
    store.put(all.map(|(number, it)| document("", number, it.clone())).collect()).await.unwrap();
    store.put(vec![document("other", 0, vector(&mut random))]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(store.index_vectors("", "test").await.unwrap(), has_extension());
    }
    let queries: Vec<_> = (0..20).map(|_| vector(&mut random)).collect();
    let mut missed = 0;
    let found = async |query: &[f32], filter: &SearchFilter| {
        let ids = store.search_vectors("test", query, filter, 10).await.unwrap();
        let chunks = store.chunks(&ids).await.unwrap().into_iter();
        chunks.map(|chunk| chunk.source.parse::<usize>().unwrap()).collect::<Vec<_>>()
    };
    for query in &queries {
        let product = |number: &usize| {
            vectors[*number].iter().zip(query).map(|(left, right)| left * right).sum::<f32>()
        };
        let mut closest: Vec<usize> = (0..vectors.len()).collect();
        closest.sort_by(|left, right| product(right).total_cmp(&product(left)));
        let found_here = found(query, &SearchFilter::default()).await;
        assert!(found_here.is_sorted_by(|left, right| product(left) >= product(right)));
        missed += closest[..10].iter().filter(|it| !found_here.contains(it)).count();
        let filter = SearchFilter::default().metadata("hundred", 7);
        closest.retain(|number| number / 100 == 7);
        let found_here = found(query, &filter).await;
        assert!(found_here.iter().all(|number| number / 100 == 7), "{found_here:?}");
        assert_eq!(found_here.len(), 10);
        missed += closest[..10].iter().filter(|it| !found_here.contains(it)).count();
        let none = SearchFilter::default().metadata("hundred", 99);
        assert_eq!(found(query, &none).await, [0; 0]);
    }
    assert!(missed <= 20, "{missed} of 400 were missed");
    let other = SearchFilter::tenant("other");
    let of_other = store.search_vectors("test", &queries[0], &other, 10).await.unwrap();
    assert_eq!(of_other.len(), 1);
    // A document that is added, replaced or removed later.
    let query = &queries[0];
    store.put(vec![document("", 3_000, query.clone())]).await.unwrap();
    assert_eq!(found(query, &SearchFilter::default()).await[0], 3_000);
    store.put(vec![document("", 3_000, query.iter().map(|it| -it).collect())]).await.unwrap();
    assert!(!found(query, &SearchFilter::default()).await.contains(&3_000));
    store.put(vec![document("", 3_000, query.clone())]).await.unwrap();
    assert_eq!(store.remove("", &["03000"]).await.unwrap(), 1);
    assert!(!found(query, &SearchFilter::default()).await.contains(&3_000));
    let mut invalid = document("", 3_001, query.clone());
    // The index keeps half precision, which ends at 65,504.
    invalid.chunks[0].vector = Some(vec![70_000.0; DIMENSIONS]);
    let refused = store.put(vec![invalid]).await.unwrap_err().to_string();
    assert!(refused.ends_with("scale its vectors to the length 1"), "{refused}");
    drop(store);
    // The server reports the uses of a connection at its end.
    if has_extension() {
        let client = client(&config).await;
        while uses(&client).await == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// Returns the connection string with settings of the server.
fn with_settings(config: &str, settings: &str) -> String {
    config.replace("-c search_path", &format!("{settings} -c search_path"))
}

#[tokio::test]
async fn filter_that_few_vectors_pass_is_answered_in_full() {
    let config = schema().await;
    // The index gives up early, and no other plan takes its place.
    let hasty = "-c hnsw.max_scan_tuples=1 -c enable_seqscan=off -c enable_bitmapscan=off \
                 -c enable_sort=off -c enable_hashjoin=off -c enable_mergejoin=off";
    let store = open(&with_settings(&config, hasty)).await;
    let mut random = fastrand::Rng::with_seed(7);
    let mut all: Vec<_> = (0..2_000).map(|_| vector(&mut random)).collect();
    let query = vector(&mut random);
    let product = |vector: &[f32]| -> f32 {
        vector.iter().zip(&query).map(|(left, right)| left * right).sum()
    };
    // The first hundred are the farthest.
    all.sort_by(|left, right| product(left).total_cmp(&product(right)));
    let documents = all.into_iter().enumerate();
    store.put(documents.map(|(number, it)| document("", number, it)).collect()).await.unwrap();
    assert_eq!(store.index_vectors("", "test").await.unwrap(), has_extension());
    let narrow = SearchFilter::default().metadata("hundred", 0);
    let ids = store.search_vectors("test", &query, &narrow, 10).await.unwrap();
    let found = store.chunks(&ids).await.unwrap();
    let sources: Vec<_> = found.into_iter().map(|chunk| chunk.source).collect();
    let expected: Vec<_> = (90..100).rev().map(|number| format!("{number:05}")).collect();
    assert_eq!(sources, expected);
}

#[tokio::test]
async fn unfinished_index_is_replaced() {
    let config = schema().await;
    let store = open(&config).await;
    store.put(vec![document("", 1, vec![1.0, 0.0])]).await.unwrap();
    assert_eq!(store.index_vectors("", "test").await.unwrap(), has_extension());
    let client = client(&config).await;
    // As a process that was killed leaves it.
    let damage = "UPDATE pg_index SET indisvalid = false WHERE indexrelid IN ( \
                  SELECT to_regclass('tool_knowledge_vectors_' || id) FROM tool_knowledge_spaces)";
    client.execute(damage, &[]).await.unwrap();
    let all = SearchFilter::default();
    let found = store.search_vectors("test", &[1.0, 0.0], &all, 9).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(store.index_vectors("", "test").await.unwrap(), has_extension());
    let invalid = "SELECT count(*) FROM pg_index AS index JOIN pg_class ON oid = indexrelid \
                   WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace";
    assert_eq!(client.query_one(invalid, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn extension_that_may_not_be_created_is_no_error() {
    // The extension belongs to a database. A role without rights can't create it.
    let (database, admin) = (format!("vectors_{}", std::process::id()), client(&server()).await);
    admin.batch_execute(&format!("CREATE DATABASE {database}")).await.unwrap();
    let config = server().replace("dbname=postgres", &format!("dbname={database}"));
    let owner = client(&config).await;
    let create = format!("CREATE ROLE {database}; CREATE SCHEMA own AUTHORIZATION {database}");
    owner.batch_execute(&create).await.unwrap();
    let limited = format!("{config} options='-c role={database} -c search_path=own,public'");
    let store = open(&limited).await;
    store.put(vec![document("", 1, vec![1.0, 0.0])]).await.unwrap();
    assert!(!store.index_vectors("", "test").await.unwrap());
    let all = SearchFilter::default();
    assert_eq!(store.search_vectors("test", &[1.0, 0.0], &all, 9).await.unwrap().len(), 1);
    // A superuser creates it.
    if has_extension() {
        owner.batch_execute("CREATE EXTENSION vector").await.unwrap();
        assert!(store.index_vectors("", "test").await.unwrap());
        assert_eq!(store.search_vectors("test", &[1.0, 0.0], &all, 9).await.unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_with_an_index_conform_to_the_contract() {
    let open = || async {
        let config = schema().await;
        let store = open(&config).await;
        for tenant in ["", "a", "t"] {
            // The first vector creates its space.
            for vector in [vec![1.0, 0.0], vec![1.0, 0.0, 0.0]] {
                let mut first = document(tenant, 0, vector);
                first.chunks[0].text.clear();
                store.put(vec![first]).await.unwrap();
                assert_eq!(store.remove(tenant, &["00000"]).await.unwrap(), 1);
            }
            assert_eq!(store.index_vectors(tenant, "test").await.unwrap(), has_extension());
        }
        store
    };
    assert_eq!(documents::check(open).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn index_is_created_once_by_concurrent_processes() {
    let config = schema().await;
    let store = open(&config).await;
    store
        .put(vec![document("", 1, vec![1.0, 0.0]), document("", 2, vec![1.0; 5_000])])
        .await
        .unwrap();
    let creating = (0..4).map(|_| {
        let config = config.clone();
        tokio::spawn(async move { open(&config).await.index_vectors("", "test").await.unwrap() })
    });
    for created in creating.collect::<Vec<_>>() {
        // The extension has no index for as many dimensions.
        assert!(!created.await.unwrap());
    }
    let count = "SELECT count(*) FROM pg_indexes WHERE schemaname = current_schema() \
                 AND indexname ~ '^tool_knowledge_vectors_[0-9]+$'";
    let count: i64 = client(&config).await.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(count, i64::from(has_extension()));
    let all = SearchFilter::default();
    for vector in [vec![1.0, 0.0], vec![1.0; 5_000]] {
        assert_eq!(store.search_vectors("test", &vector, &all, 9).await.unwrap().len(), 1);
    }
}

/// A random vector of length 1 around a center.
fn around(random: &mut fastrand::Rng, center: &[f32]) -> Vec<f32> {
    let noise = center.iter().map(|it| it + random.f32() - 0.5);
    let vector: Vec<f32> = noise.collect();
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    vector.into_iter().map(|component| component / length).collect()
}

/// Prints how many of the ten closest vectors searches find, and how long they take.
async fn print_searches(
    name: &str,
    store: &PostgresDocuments,
    queries: &[(Vec<f32>, Vec<usize>)],
    filter: &SearchFilter,
) {
    let (mut found, mut times) = (0, Vec::new());
    for (query, closest) in queries {
        let start = Instant::now();
        let ids = store.search_vectors("test", query, filter, 10).await.unwrap();
        times.push(start.elapsed().as_secs_f64() * 1_000.0);
        for chunk in store.chunks(&ids).await.unwrap() {
            found += usize::from(closest.contains(&chunk.source.parse().unwrap()));
        }
    }
    times.sort_by(f64::total_cmp);
    let (p50, p95) = (times[times.len() / 2], times[times.len() * 95 / 100]);
    let count = queries.len() * 10;
    println!("{name}: {found} of {count} found, p50 {p50:.1} ms, p95 {p95:.1} ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints the figures of the benches"]
async fn measure_searches_with_and_without_an_index() {
    let config = schema().await;
    let (store, client) = (open(&config).await, client(&config).await);
    let mut random = fastrand::Rng::with_seed(7);
    let centers: Vec<_> = (0..500).map(|_| around(&mut random, &[0.0; 384])).collect();
    let near = |random: &mut fastrand::Rng| {
        let center: Vec<f32> =
            centers[random.usize(..centers.len())].iter().map(|it| it * 4.0).collect();
        around(random, &center)
    };
    let vectors: Vec<_> = (0..50_000).map(|_| near(&mut random)).collect();
    let start = Instant::now();
    for (part, vectors) in vectors.chunks(1_000).enumerate() {
        let documents = (part * 1_000..).zip(vectors);
        let documents = documents.map(|(number, it)| document("", number, it.clone())).collect();
        store.put(documents).await.unwrap();
    }
    println!("{} vectors added in {:.1?}", vectors.len(), start.elapsed());
    client.batch_execute("VACUUM ANALYZE").await.unwrap();
    let mut of_all = Vec::new();
    let mut of_few = Vec::new();
    for _ in 0..100 {
        let query = near(&mut random);
        let product = |number: &usize| -> f32 {
            vectors[*number].iter().zip(&query).map(|(left, right)| left * right).sum()
        };
        let mut products: Vec<_> =
            (0..vectors.len()).map(|number| (product(&number), number)).collect();
        products.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        let closest = products.iter().map(|(_, number)| *number);
        of_all.push((query.clone(), closest.clone().take(10).collect()));
        of_few.push((query, closest.filter(|it| it / 100 == 7).take(10).collect()));
    }
    let (all, narrow) = (SearchFilter::default(), SearchFilter::default().metadata("hundred", 7));
    print_searches("codes", &store, &of_all, &all).await;
    print_searches("codes, 100 pass the filter", &store, &of_few, &narrow).await;
    let start = Instant::now();
    if !store.index_vectors("", "test").await.unwrap() {
        return;
    }
    let size = "SELECT pg_size_pretty(pg_relation_size('tool_knowledge_vectors_1'))";
    let size: String = client.query_one(size, &[]).await.unwrap().get(0);
    println!("index created in {:.1?}, {size}", start.elapsed());
    print_searches("index", &store, &of_all, &all).await;
    print_searches("index, 100 pass the filter", &store, &of_few, &narrow).await;
    let start = Instant::now();
    let documents = (50_000..51_000).map(|number| document("", number, near(&mut random)));
    store.put(documents.collect()).await.unwrap();
    println!("1000 vectors added to the index in {:.1?}", start.elapsed());
}
