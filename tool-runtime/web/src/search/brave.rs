//! The API of Brave Search.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use tool_core::{ToolError, async_trait};
use tool_http::{HttpRequest, Transport};

use super::engine::{Recency, SearchEngine, SearchQuery, SearchResult};
use super::exchange::{Endpoint, or_default};

/// The most results of a request.
const MAX_COUNT: usize = 20;

/// Client for the API of [Brave Search](https://brave.com/search/api/).
///
/// ```
/// use tool_runtime::web::{Brave, WebSearch};
///
/// let search = WebSearch::new(Brave::new("key"));
/// # drop(search);
/// ```
#[derive(Clone)]
pub struct Brave {
    endpoint: Endpoint,
    key: String,
}

impl Brave {
    /// Creates a client with a subscription token.
    pub fn new(key: impl Into<String>) -> Self {
        Self { endpoint: Endpoint::new("https://api.search.brave.com"), key: key.into() }
    }

    /// Replaces the address of the API. Default: `https://api.search.brave.com`.
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
    /// Missing if nothing was found.
    #[serde(default, deserialize_with = "or_default")]
    web: Pages,
}

#[derive(Default, Deserialize)]
struct Pages {
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
    description: String,
    #[serde(default)]
    page_age: Option<String>,
}

#[async_trait]
impl SearchEngine for Brave {
    fn name(&self) -> &str {
        "Brave Search"
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
        let count = query.max_results.clamp(1, MAX_COUNT).to_string();
        let mut parameters = vec![
            ("q", query.text.as_str()),
            ("count", &count),
            ("result_filter", "web"),
            ("text_decorations", "false"),
        ];
        if let Some(recency) = query.recency {
            let freshness = match recency {
                Recency::Day => "pd",
                Recency::Week => "pw",
                Recency::Month => "pm",
                Recency::Year => "py",
            };
            parameters.push(("freshness", freshness));
        }
        let url = self.endpoint.url("res/v1/web/search", parameters)?;
        let request = HttpRequest::get(url).header("x-subscription-token", &self.key);
        let reply: Reply = self.endpoint.send(request).await?;
        let pages = reply.web.results.into_iter();
        let results = pages.filter_map(|page| {
            let (title, snippet) = (plain(&page.title), plain(&page.description));
            Some(SearchResult { title, url: page.url?, snippet, published: page.page_age })
        });
        Ok(results.collect())
    }
}

/// Returns a text without marks of matches and references to characters.
fn plain(text: &str) -> String {
    let marks = [
        ("<strong>", ""),
        ("</strong>", ""),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    marks.into_iter().fold(text.to_owned(), |text, (mark, c)| text.replace(mark, c))
}

impl fmt::Debug for Brave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brave").field("url", &self.endpoint.url).finish_non_exhaustive()
    }
}
