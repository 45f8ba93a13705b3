//! The tool, as a model sees it.

use tool_core::{EffectRecord, OutputFormat, ToolContext, ToolError, tool};

use super::WebSearch;
use super::engine::{Recency, SearchQuery};
use super::rerank::rerank;
use super::results::Results;

/// The number of results that are asked for if they are ordered anew.
const RERANKED_COUNT: usize = 20;

#[tool]
impl WebSearch {
    /// Searches the web. Returns the title, the URL and a snippet of each page that it finds.
    #[tool(effect = "read", idempotent, timeout = "30s")]
    async fn web_search(
        &self,
        #[arg(length(min = 1, max = 400))] query: &str,
        /// Number of results.
        #[arg(default = 8, range(min = 1, max = 20))]
        count: u8,
        /// Maximum age of the results.
        #[arg(named)]
        recency: Option<Recency>,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Results, ToolError> {
        let count = usize::from(count);
        let mut search = SearchQuery::new(query);
        search.max_results = if self.embedder.is_some() { RERANKED_COUNT } else { count };
        search.recency = recency;
        let mut results = self.engine.search(&search).await?;
        let mut note = None;
        if let Some(embedder) = &self.embedder
            && results.len() > 1
        {
            match rerank(embedder.as_ref(), query, &mut results).await {
                Some(usages) => usages.into_iter().for_each(|usage| {
                    ctx.record(EffectRecord::TokensSpent { usage, cost: None, model: None })
                }),
                None => {
                    note = Some("the results are in the order of the engine: embeddings failed")
                }
            }
        }
        results.truncate(count);
        let redact = |text: &str, part| ctx.redact_part(text, part);
        Ok(Results::new(output, self.engine.name(), results, note, &redact))
    }
}
