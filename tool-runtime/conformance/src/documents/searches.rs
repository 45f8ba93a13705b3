//! Checks of searches: rankings by words and by vectors, and filters.

use tool_knowledge::{DocumentStore, SearchFilter};

use super::samples::{EMBEDDER, document, sources};
use crate::Violation;
use crate::violation::{ensure_eq, failed};

pub(super) async fn words_are_ranked(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "chunks are ranked by their words";
    let texts = ["red fox and red hen", "red house with a long roof and many rooms", "blue sky"];
    let [hen, house, sky] = texts;
    let documents = texts.iter().map(|text| document("", text, &[(text, [1.0, 0.0])])).collect();
    store.put(documents).await.map_err(failed(RULE))?;
    for (query, expected) in [
        ("red", vec![hen, house]),
        ("red sky", vec![sky, hen, house]),
        ("houses", vec![house]),
        ("\"red\" OR (NOT", vec![hen, house]),
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

pub(super) async fn vectors_are_ranked(store: &impl DocumentStore) -> Result<(), Violation> {
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
    let rule = "a vector with infinite or NaN components matches nothing";
    for component in [f32::NAN, f32::INFINITY] {
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

pub(super) async fn tenants_and_metadata_separate(
    store: &impl DocumentStore,
) -> Result<(), Violation> {
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
