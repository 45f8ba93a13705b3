//! Checks of documents: they are stored unchanged, replaced and removed.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use tool_knowledge::{
    DocumentRecord, DocumentStore, DocumentStoreError, SearchFilter, StoredChunk,
};

use super::samples::{EMBEDDER, digest, document, sources};
use crate::Violation;
use crate::violation::{ensure_eq, failed};

pub(super) async fn records_are_unchanged(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "records are kept as they are";
    // Names that are easily taken for each other, and texts that a query language could read.
    let names = ["a", "A", "a ", "ä", "a\u{308}", "a%", "a_", "'; --", "", "a/b", "日本"];
    let names: Vec<&str> = names.into_iter().chain(["\0", "a\0", "a\0b", "a\u{10ffff}"]).collect();
    let text = "word \"x\" \0 after";
    let sample = |(start, name): (usize, &&str)| {
        let mut sample = document("t", name, &[(text, [1.0, 0.0])]);
        for value in [Value::Null, 0.5.into(), "\0'\"\\".into(), vec![name.len()].into()] {
            sample.record.metadata.insert(format!("{name}{value}"), value);
        }
        for chunk in &mut sample.chunks {
            (chunk.heading, chunk.start) = (format!("{name} > \0"), start);
        }
        sample
    };
    let documents: Vec<_> = names.iter().enumerate().map(sample).collect();
    store.put(documents.clone()).await.map_err(failed(RULE))?;
    let expected: HashMap<_, _> =
        documents.into_iter().map(|it| (it.record.source.clone(), it.record)).collect();
    let found = store.find("t", &names).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &found, &expected)?;
    let missing = store.find("t", &["b"]).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &missing, &HashMap::new())?;

    let filter = SearchFilter::tenant("t");
    let ids = store.search_words("after", &filter, names.len()).await.map_err(failed(RULE))?;
    let chunks = store.chunks(&ids).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &chunks.len(), &names.len())?;
    for (id, chunk) in ids.into_iter().zip(chunks) {
        let position = names.iter().position(|name| *name == chunk.source).unwrap_or_default();
        let mut expected = StoredChunk::new(id, &chunk.source, position, text);
        expected.heading = format!("{} > \0", chunk.source);
        let record = found.get(&chunk.source);
        expected.metadata = record.map(|record| record.metadata.clone()).unwrap_or_default();
        ensure_eq(RULE, &chunk, &expected)?;
        // Metadata are found by their names and values.
        for (name, value) in &expected.metadata {
            let filter = SearchFilter::tenant("t").metadata(name, value.clone());
            let found = store.search_words("word", &filter, 99).await.map_err(failed(RULE))?;
            ensure_eq("metadata are compared as a whole", &found.contains(&id), &true)?;
        }
    }

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

pub(super) async fn documents_are_replaced_and_removed(
    store: &impl DocumentStore,
) -> Result<(), Violation> {
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

pub(super) async fn last_of_one_source_is_stored(
    store: &impl DocumentStore,
) -> Result<(), Violation> {
    const RULE: &str = "of several documents of one source in a call, the last one is stored";
    let all = SearchFilter::tenant("t");
    let same = |text| document("t", "one", &[(text, [0.6, 0.8])]);
    let two = document("t", "two", &[("banana", [0.8, 0.6])]);
    let other_tenant = document("u", "one", &[("apple", [0.6, 0.8])]);
    let documents = vec![same("apple"), two, other_tenant, same("banana"), same("cherry")];
    store.put(documents).await.map_err(failed(RULE))?;
    let found = store.search_vectors(EMBEDDER, &[0.6, 0.8], &all, 9).await.map_err(failed(RULE))?;
    let expected = ["one", "two"].map(str::to_owned).to_vec();
    ensure_eq(RULE, &sources(store, &found).await?, &expected)?;
    for (query, expected) in [("apple", vec![]), ("cherry", vec!["one"]), ("banana", vec!["two"])] {
        let found = store.search_words(query, &all, 9).await.map_err(failed(RULE))?;
        let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
        ensure_eq(RULE, &sources(store, &found).await?, &expected)?;
    }
    let stored = store.find("t", &["one"]).await.map_err(failed(RULE))?.remove("one");
    ensure_eq(RULE, &stored, &Some(same("cherry").record))
}

pub(super) async fn invalid_vectors_are_refused(
    store: &impl DocumentStore,
) -> Result<(), Violation> {
    const RULE: &str = "a document with an invalid vector is refused, and nothing is changed";
    let is_refused = |result| matches!(result, Err(DocumentStoreError::InvalidVector { .. }));
    for component in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 65_505.0, -65_505.0] {
        let invalid = document("t", "invalid", &[("x", [0.5, 0.5]), ("y", [0.5, component])]);
        let valid = document("t", "valid", &[("x", [0.6, 0.8])]);
        let put = store.put(vec![valid, invalid.clone()]).await;
        ensure_eq(RULE, &is_refused(put), &true)?;
        ensure_eq(RULE, &is_refused(store.put_if(invalid, None, 9).await), &true)?;
        let listed = store.list("t", "", None, 9).await.map_err(failed(RULE))?;
        ensure_eq(RULE, &listed, &vec![])?;
    }
    let largest = document("t", "largest", &[("x", [-65_504.0, 65_504.0])]);
    store.put(vec![largest]).await.map_err(failed("the largest components can be stored"))
}

pub(super) async fn expected_records_decide(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "a document replaces the expected record only";
    let conflict = "a conflict".to_owned();
    let put = async |text: &str, expected: Option<&DocumentRecord>, most: usize| {
        let document = document("t", "one", &[(text, [0.6, 0.8])]);
        match store.put_if(document, expected, most).await {
            Ok(()) => Ok(Ok(())),
            Err(DocumentStoreError::Conflict { .. }) => Ok(Err("a conflict".to_owned())),
            Err(DocumentStoreError::TenantFull { max_documents }) => {
                Ok(Err(format!("full at {max_documents}")))
            }
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
    let is_full = matches!(full, Err(DocumentStoreError::TenantFull { max_documents: 1 }));
    ensure_eq(rule, &is_full, &true)?;
    // Documents of other tenants do not count.
    let mut other_tenant = two.clone();
    other_tenant.record.tenant = "u".into();
    store.put_if(other_tenant, None, 1).await.map_err(failed(rule))?;
    store.put_if(two, None, 2).await.map_err(failed(rule))
}

/// Checks that a reader sees each change of a writer at once.
pub(super) async fn changes_are_seen(
    writer: &impl DocumentStore,
    reader: &impl DocumentStore,
) -> Result<(), Violation> {
    const RULE: &str = "a handle sees at once what another one writes";
    let all = SearchFilter::tenant("seen");
    for text in ["apple", "banana", ""] {
        let mut expected = None;
        if text.is_empty() {
            writer.remove("seen", &["one"]).await.map_err(failed(RULE))?;
        } else {
            let document = document("seen", "one", &[(text, [0.6, 0.8])]);
            expected = Some(document.record.clone());
            writer.put(vec![document]).await.map_err(failed(RULE))?;
        }
        let stored = reader.find("seen", &["one"]).await.map_err(failed(RULE))?.remove("one");
        ensure_eq(RULE, &stored, &expected)?;
        for word in ["apple", "banana"] {
            let found = reader.search_words(word, &all, 9).await.map_err(failed(RULE))?;
            ensure_eq(RULE, &found.len(), &usize::from(word == text))?;
        }
        let found = reader.search_vectors(EMBEDDER, &[0.6, 0.8], &all, 9).await;
        let count = usize::from(!text.is_empty());
        ensure_eq(RULE, &found.map_err(failed(RULE))?.len(), &count)?;
    }
    Ok(())
}
