//! Orders results by the similarity of embeddings.

use std::pin::Pin;
use std::sync::Arc;

use tool_runtime::ToolError;

use super::engine::SearchResult;

type Vectors = Pin<Box<dyn Future<Output = Result<Vec<Vec<f32>>, ToolError>> + Send>>;

/// A function that returns a vector for each text.
pub(super) type Embed = Arc<dyn Fn(Vec<String>) -> Vectors + Send + Sync>;

/// Sorts results by their similarity to a query, the most similar first. Results that are as
/// similar keep their order.
///
/// # Errors
/// Returns the error of the function, or one if it did not return a vector for each text.
pub(super) async fn rerank(
    embed: &Embed,
    query: &str,
    results: &mut Vec<SearchResult>,
) -> Result<(), ToolError> {
    let texts = std::iter::once(query.to_owned())
        .chain(results.iter().map(|result| format!("{}\n{}", result.title, result.snippet)))
        .collect();
    let mut vectors = embed(texts).await?.into_iter();
    let (Some(query), true) = (vectors.next(), vectors.len() == results.len()) else {
        return Err(ToolError::failed("The embedding function returned too few vectors."));
    };
    let mut ranked: Vec<_> = vectors
        .zip(results.drain(..))
        .map(|(vector, result)| (cosine(&query, &vector), result))
        .collect();
    ranked.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    results.extend(ranked.into_iter().map(|(_, result)| result));
    Ok(())
}

/// Returns the cosine similarity; the lowest one if the vectors can't be compared.
fn cosine(left: &[f32], right: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let similarity = dot(left, right) / (dot(left, left) * dot(right, right)).sqrt();
    if left.len() == right.len() && similarity.is_finite() { similarity } else { -1.0 }
}
