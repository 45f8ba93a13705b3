//! The API of SearXNG.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use tool_core::{ToolError, async_trait};
use tool_http::{HttpRequest, Transport};

use super::engine::{SearchEngine, SearchQuery, SearchResult};
use super::exchange::{Endpoint, or_default};

/// Client for an instance of [SearXNG](https://docs.searxng.org/).
///
/// The instance must have `json` among the formats of its settings. Without it, it refuses all
/// requests with the status 403.
///
/// ```
/// use tool_runtime::web::{SearXng, WebSearch};
///
/// let search = WebSearch::new(SearXng::new("http://127.0.0.1:8888"));
/// # drop(search);
/// ```
#[derive(Clone)]
pub struct SearXng {
    endpoint: Endpoint,
}

impl SearXng {
    /// Creates a client for an instance at this address, which may be a private one.
    pub fn new(url: impl Into<String>) -> Self {
        Self { endpoint: Endpoint::new(url) }
    }

    /// Replaces the HTTP transport by which requests are sent.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.endpoint.transport = Arc::new(transport);
        self
    }
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default, deserialize_with = "or_default")]
    results: Vec<Page>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    /// Missing in answers that are not pages.
    #[serde(default)]
    url: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    content: String,
    #[serde(default, rename = "publishedDate")]
    published: Option<String>,
}

#[async_trait]
impl SearchEngine for SearXng {
    fn name(&self) -> &str {
        "SearXNG"
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
        let mut parameters = vec![("q", query.text.as_str()), ("format", "json")];
        if let Some(recency) = query.recency {
            parameters.push(("time_range", recency.as_str()));
        }
        let url = self.endpoint.url("search", parameters)?;
        let reply: Reply = self.endpoint.send(HttpRequest::get(url)).await?;
        let results = reply.results.into_iter().filter_map(|page| {
            let mut result = SearchResult::new(page.title, page.url?, page.content);
            result.published = page.published;
            Some(result)
        });
        // The number of results can't be asked for.
        Ok(results.take(query.max_results).collect())
    }
}

impl fmt::Debug for SearXng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearXng").field("url", &self.endpoint.url).finish_non_exhaustive()
    }
}
