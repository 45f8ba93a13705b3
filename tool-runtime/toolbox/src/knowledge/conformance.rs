//! Checks that every store of documents must pass.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::future::Future;

use super::store::{
    Digest, DocumentRecord, DocumentStore, DocumentStoreError, IndexedChunk, IndexedDocument,
    SearchFilter,
};

/// A rule of [`DocumentStore`] that a store violates.
///
/// ```
/// use tool_runtime::store::Sqlite;
/// use tool_toolbox::knowledge::{SqliteDocuments, conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let create = || async {
///     let store = Sqlite::in_memory().expect("there is memory");
///     SqliteDocuments::open(&store).await.expect("tables can be created")
/// };
/// let checked: Result<(), conformance::Violation> = conformance::check(create).await;
/// assert_eq!(checked, Ok(()));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("store of documents violates the contract: {rule}: {details}")]
pub struct Violation {
    rule: &'static str,
    /// The behavior of the store.
    details: String,
}

const EMBEDDER: &str = "test";

fn digest(text: &str) -> Digest {
    hmac_sha256::Hash::hash(text.as_bytes())
}

fn document(tenant: &str, source: &str, parts: &[(&str, [f32; 2])]) -> IndexedDocument {
    let text: String = parts.iter().map(|(text, _)| *text).collect();
    let mut record = DocumentRecord::new(tenant, source, digest(&text));
    EMBEDDER.clone_into(&mut record.embedder);
    record.metadata.insert("kind".into(), source.len().into());
    let chunk = |(text, vector): &(&str, [f32; 2])| {
        let mut chunk = IndexedChunk::new(0, *text, digest(text));
        chunk.vector = Some(vector.to_vec());
        chunk
    };
    IndexedDocument::new(record, parts.iter().map(chunk).collect())
}

/// The sources of chunks that were found, in order.
async fn sources(store: &impl DocumentStore, ids: &[i64]) -> Result<Vec<String>, Violation> {
    let chunks = store.chunks(ids).await.map_err(failed("found chunks can be read"))?;
    ensure_eq("found chunks can be read", &chunks.len(), &ids.len())?;
    Ok(chunks.into_iter().map(|chunk| chunk.source).collect())
}

fn failed(rule: &'static str) -> impl Fn(DocumentStoreError) -> Violation {
    move |error| Violation { rule, details: format!("it failed: {error}") }
}

fn ensure_eq<T: PartialEq + Debug>(
    rule: &'static str,
    actual: &T,
    expected: &T,
) -> Result<(), Violation> {
    if actual == expected {
        return Ok(());
    }
    Err(Violation { rule, details: format!("found {actual:?}, expected {expected:?}") })
}

/// Checks that a store keeps the contract of [`DocumentStore`]. `create` returns an empty store.
///
/// # Errors
/// Returns the first violation.
///
/// ```
/// use tool_runtime::store::Sqlite;
/// use tool_toolbox::knowledge::{SqliteDocuments, conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conformance::Violation> {
/// conformance::check(|| async {
///     let store = Sqlite::in_memory().expect("there is memory");
///     SqliteDocuments::open(&store).await.expect("tables can be created")
/// })
/// .await
/// # }
/// ```
pub async fn check<S: DocumentStore, F: Future<Output = S>>(
    create: impl Fn() -> F,
) -> Result<(), Violation> {
    records_are_unchanged(&create().await).await?;
    documents_are_replaced_and_removed(&create().await).await?;
    expected_records_decide(&create().await).await?;
    words_are_ranked(&create().await).await?;
    vectors_are_ranked(&create().await).await?;
    tenants_and_metadata_separate(&create().await).await
}

async fn records_are_unchanged(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "records are kept as they are";
    // Names that are easily taken for each other, and texts that a query language could read.
    let names = ["a", "A", "a ", "ä", "a\u{308}", "a%", "a_", "'; --", "", "a/b", "日本"];
    let documents: Vec<_> =
        names.iter().map(|name| document("t", name, &[("word \"x\"", [1.0, 0.0])])).collect();
    store.put(documents.clone()).await.map_err(failed(RULE))?;
    let expected: HashMap<_, _> =
        documents.into_iter().map(|it| (it.record.source.clone(), it.record)).collect();
    let found = store.find("t", &names).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &found, &expected)?;
    let found = store.find("t", &["b"]).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &found, &HashMap::new())?;

    let mut listed = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = store.list("t", "a", after.as_deref(), 2).await.map_err(failed(RULE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.source.clone());
        listed.extend(page.into_iter().map(|record| record.source));
    }
    let sorted: BTreeSet<&str> = names.into_iter().filter(|name| name.starts_with('a')).collect();
    ensure_eq(
        "documents are listed by prefix, in the order of their bytes",
        &listed.iter().map(String::as_str).collect::<Vec<_>>(),
        &sorted.into_iter().collect(),
    )
}

async fn documents_are_replaced_and_removed(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "a replaced or removed document is not found";
    let all = SearchFilter::tenant("t");
    let put = async |source: &str, text: &str| {
        store.put(vec![document("t", source, &[(text, [0.6, 0.8])])]).await.map_err(failed(RULE))
    };
    put("one", "apple").await?;
    put("two", "banana").await?;
    put("one", "cherry").await?;
    for (query, expected) in [("apple", vec![]), ("cherry", vec!["one"]), ("banana", vec!["two"])] {
        let found = store.search_words(query, &all, 9).await.map_err(failed(RULE))?;
        ensure_eq(
            RULE,
            &sources(store, &found).await?,
            &expected.iter().map(ToString::to_string).collect(),
        )?;
    }
    let old = store.search_vectors(EMBEDDER, &[0.6, 0.8], &all, 9).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &old.len(), &2)?;
    let known = [digest("cherry"), digest("apple")];
    let vectors = store.vectors(EMBEDDER, &known).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &vectors, &HashMap::from([(digest("cherry"), vec![0.6, 0.8])]))?;
    let vectors = store.vectors("other", &known).await.map_err(failed(RULE))?;
    ensure_eq("vectors of embedders are separate", &vectors, &HashMap::new())?;

    let removed = store.remove("t", &["one", "none", "one"]).await.map_err(failed(RULE))?;
    ensure_eq("removing returns how many documents were stored", &removed, &1)?;
    let left = store.search_vectors(EMBEDDER, &[0.6, 0.8], &all, 9).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &sources(store, &left).await?, &vec!["two".to_owned()])?;
    // Ids that a search returned before a removal.
    let read = store.chunks(&old).await.map_err(failed(RULE))?;
    ensure_eq("chunks that were removed are left out", &read.len(), &1)
}

async fn expected_records_decide(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "a document replaces the expected record only";
    let conflict = "a conflict".to_owned();
    let put = async |text: &str, expected: Option<&DocumentRecord>, most: usize| {
        let document = document("t", "one", &[(text, [0.6, 0.8])]);
        match store.put_if(document, expected, most).await {
            Ok(()) => Ok(Ok(())),
            Err(DocumentStoreError::Conflict { .. }) => Ok(Err("a conflict".to_owned())),
            Err(DocumentStoreError::TenantFull { limit }) => Ok(Err(format!("full at {limit}"))),
            Err(error) => Err(failed(RULE)(error)),
        }
    };
    let stored = async || {
        let mut found = store.find("t", &["one"]).await.map_err(failed(RULE))?;
        Ok(found.remove("one"))
    };
    let missing = document("t", "one", &[("apple", [0.6, 0.8])]).record;
    ensure_eq(RULE, &put("apple", Some(&missing), 9).await?, &Err(conflict.clone()))?;
    ensure_eq(RULE, &stored().await?, &None)?;
    ensure_eq(RULE, &put("apple", None, 9).await?, &Ok(()))?;
    ensure_eq(RULE, &put("banana", None, 9).await?, &Err(conflict.clone()))?;
    ensure_eq(RULE, &stored().await?, &Some(missing.clone()))?;
    // The digest is the same, the metadata are not.
    let mut other = missing.clone();
    other.metadata.insert("kind".into(), "other".into());
    ensure_eq(RULE, &put("banana", Some(&other), 9).await?, &Err(conflict))?;
    ensure_eq(RULE, &put("banana", Some(&missing), 9).await?, &Ok(()))?;
    let all = SearchFilter::tenant("t");
    for (query, expected) in [("apple", 0), ("banana", 1)] {
        let found = store.search_words(query, &all, 9).await.map_err(failed(RULE))?;
        ensure_eq(RULE, &found.len(), &expected)?;
    }
    let rule = "a new document needs room in its tenant";
    let replaced = put("cherry", stored().await?.as_ref(), 1).await?;
    ensure_eq(rule, &replaced, &Ok(()))?;
    let two = document("t", "two", &[("banana", [0.6, 0.8])]);
    let full = store.put_if(two.clone(), None, 1).await;
    let is_full = matches!(full, Err(DocumentStoreError::TenantFull { limit: 1 }));
    ensure_eq(rule, &is_full, &true)?;
    // Documents of other tenants do not count.
    let mut other_tenant = two.clone();
    other_tenant.record.tenant = "u".into();
    store.put_if(other_tenant, None, 1).await.map_err(failed(rule))?;
    store.put_if(two, None, 2).await.map_err(failed(rule))
}

async fn words_are_ranked(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "chunks are ranked by their words";
    let texts = ["red fox and red hen", "red house with a long roof and many rooms", "blue sky"];
    let documents = texts.iter().map(|text| document("", text, &[(text, [1.0, 0.0])])).collect();
    store.put(documents).await.map_err(failed(RULE))?;
    for (query, expected) in [
        ("red", vec![texts[0], texts[1]]),
        ("red sky", vec![texts[2], texts[0], texts[1]]),
        ("houses", vec![texts[1]]),
        ("\"red\" OR (NOT", vec![texts[0], texts[1]]),
        ("green", vec![]),
        ("!?", vec![]),
    ] {
        let all = SearchFilter::default();
        let found = store.search_words(query, &all, 9).await.map_err(failed(RULE))?;
        ensure_eq(
            RULE,
            &sources(store, &found).await?,
            &expected.iter().map(ToString::to_string).collect(),
        )?;
        let first = store.search_words(query, &all, 1).await.map_err(failed(RULE))?;
        ensure_eq("a search returns the best chunks", &first.first(), &found.first())?;
    }
    Ok(())
}

async fn vectors_are_ranked(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "chunks are ranked by the dot product of their vectors";
    // More than a store keeps together, at angles that wrap around.
    let angle = |step: u16| {
        let (sin, cos) = (f32::from(step) / 1_500.0 * std::f32::consts::PI).sin_cos();
        [cos, sin]
    };
    let documents =
        (0..1_500).map(|step| document("", &format!("{step:04}"), &[("x", angle(step))])).collect();
    store.put(documents).await.map_err(failed(RULE))?;
    let all = SearchFilter::default();
    let query = angle(700);
    let found = store.search_vectors(EMBEDDER, &query, &all, 3).await.map_err(failed(RULE))?;
    let mut found = sources(store, &found).await?;
    ensure_eq(RULE, &found.first().map(String::as_str), &Some("0700"))?;
    found.sort();
    ensure_eq(RULE, &found, &["0699", "0700", "0701"].map(str::to_owned).to_vec())?;
    let other = store.search_vectors("other", &query, &all, 3).await.map_err(failed(RULE))?;
    ensure_eq("vectors of embedders are separate", &other, &vec![])?;
    let rule = "a vector that is not a number is found by none, and finds none";
    for (name, component) in [("nan", f32::NAN), ("infinite", f32::INFINITY)] {
        let invalid = document("", name, &[("x", [component, 0.5])]);
        store.put(vec![invalid]).await.map_err(failed(rule))?;
        let query = [0.5, component];
        let found = store.search_vectors(EMBEDDER, &query, &all, 3).await.map_err(failed(rule))?;
        ensure_eq(rule, &found, &vec![])?;
    }
    let found = store.search_vectors(EMBEDDER, &query, &all, 1).await.map_err(failed(rule))?;
    ensure_eq(rule, &sources(store, &found).await?, &vec!["0700".to_owned()])?;
    let longer = [1.0, 0.0, 0.0];
    let other = store.search_vectors(EMBEDDER, &longer, &all, 3).await.map_err(failed(RULE))?;
    ensure_eq("vectors of other lengths are not compared", &other, &vec![])
}

async fn tenants_and_metadata_separate(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "a search returns what passes its filter";
    let documents = ["", "a", "b"]
        .iter()
        .flat_map(|tenant| {
            ["x", "yy"].map(|source| document(tenant, source, &[("word", [0.0, 1.0])]))
        })
        .collect();
    store.put(documents).await.map_err(failed(RULE))?;
    let kind = |kind: serde_json::Value| SearchFilter::tenant("a").metadata("kind", kind);
    for (filter, expected) in [
        (SearchFilter::default(), 2),
        (SearchFilter::tenant("a"), 2),
        (SearchFilter::tenant("c"), 0),
        (kind(1.into()), 1),
        (kind("1".into()), 0),
        (kind(1.into()).metadata("other", 1), 0),
        (SearchFilter::tenant("a").metadata("na'me\"", 1), 0),
    ] {
        let words = store.search_words("word", &filter, 9).await.map_err(failed(RULE))?;
        ensure_eq(RULE, &words.len(), &expected)?;
        let vectors = store.search_vectors(EMBEDDER, &[0.0, 1.0], &filter, 9).await;
        ensure_eq(RULE, &vectors.map_err(failed(RULE))?.len(), &expected)?;
    }
    let removed = store.remove("a", &["x"]).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &removed, &1)?;
    let left = store.find("b", &["x"]).await.map_err(failed(RULE))?;
    ensure_eq("tenants are separate", &left.len(), &1)
}
