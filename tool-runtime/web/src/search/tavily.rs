//! The API of Tavily.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tool_core::{ToolError, async_trait};
use tool_http::{HttpRequest, Transport};

use super::engine::{SearchEngine, SearchQuery, SearchResult};
use super::exchange::{Endpoint, or_default};

/// The most results of a request.
const MAX_COUNT: usize = 20;

/// Client for the API of [Tavily](https://docs.tavily.com/).
///
/// ```
/// use tool_runtime::web::{Tavily, WebSearch};
///
/// let search = WebSearch::new(Tavily::new("key"));
/// # drop(search);
/// ```
#[derive(Clone)]
pub struct Tavily {
    endpoint: Endpoint,
    key: String,
}

impl Tavily {
    /// Creates a client with an API key.
    pub fn new(key: impl Into<String>) -> Self {
        Self { endpoint: Endpoint::new("https://api.tavily.com"), key: key.into() }
    }

    /// Replaces the address of the API. Default: `https://api.tavily.com`.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.endpoint.url = url.into();
        self
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
    #[serde(default)]
    url: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    content: String,
    #[serde(default)]
    published_date: Option<String>,
}

#[async_trait]
impl SearchEngine for Tavily {
    fn name(&self) -> &str {
        "Tavily"
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
        let mut body = json!({
            "query": query.text,
            "max_results": query.max_results.clamp(1, MAX_COUNT),
            "search_depth": "basic",
        });
        if let (Some(recency), Some(body)) = (query.recency, body.as_object_mut()) {
            body.insert("time_range".to_owned(), recency.as_str().into());
        }
        let url = self.endpoint.url("search", [])?;
        let request = HttpRequest::post(url, body.to_string())
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", self.key));
        let reply: Reply = self.endpoint.send(request).await?;
        let results = reply.results.into_iter().filter_map(|page| {
            let mut result = SearchResult::new(page.title, page.url?, page.content);
            result.published = page.published_date;
            Some(result)
        });
        Ok(results.collect())
    }
}

impl fmt::Debug for Tavily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tavily").field("url", &self.endpoint.url).finish_non_exhaustive()
    }
}
