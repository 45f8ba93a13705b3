//! Orders results by the similarity of embeddings.

use tool_core::Usage;
use tool_core::models::{EmbedRequest, Embedder};

use super::engine::SearchResult;

/// Sorts results by their similarity to a query, the most similar first. Results that are as
/// similar keep their order.
///
/// Returns the usage of the embedder; `None` if it failed, or did not return a vector for each
/// text. The order stays the same then.
pub(super) async fn rerank(
    embedder: &dyn Embedder,
    query: &str,
    results: &mut Vec<SearchResult>,
) -> Option<Vec<Usage>> {
    let texts: Vec<_> =
        results.iter().map(|result| format!("{}\n{}", result.title, result.snippet)).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let of_query = embedder.embed(EmbedRequest::queries(&[query])).await.ok()?;
    let of_results = embedder.embed(EmbedRequest::documents(&texts)).await.ok()?;
    let query_vector = of_query.vectors.first()?;
    if of_results.vectors.len() != results.len() {
        return None;
    }
    let mut ranked: Vec<_> = of_results
        .vectors
        .iter()
        .map(|vector| dot_product(query_vector, vector))
        .zip(results.drain(..))
        .collect();
    ranked.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    results.extend(ranked.into_iter().map(|(_, result)| result));
    Some(of_query.usage.into_iter().chain(of_results.usage).collect())
}

/// Returns the cosine of the angle between vectors of length 1; the lowest one if they can't be
/// compared.
fn dot_product(left: &[f32], right: &[f32]) -> f32 {
    let product: f32 = left.iter().zip(right).map(|(a, b)| a * b).sum();
    if left.len() == right.len() && product.is_finite() { product } else { -1.0 }
}
