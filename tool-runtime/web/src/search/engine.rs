//! The trait of search engines, and what they receive and return.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_core::{ToolError, async_trait};

/// Returns pages of the web for a query. Implement it to connect another engine or index.
///
/// [`Brave`](crate::Brave), [`SearXng`](crate::SearXng) and [`Tavily`](crate::Tavily) implement it.
/// An implementation needs `#[async_trait]`, which `tool_runtime` re-exports.
///
/// ```
/// use tool_runtime::web::{SearchEngine, SearchQuery, SearchResult};
/// use tool_runtime::{ToolError, async_trait};
///
/// /// Searches the pages of a handbook.
/// struct Handbook(Vec<SearchResult>);
///
/// #[async_trait]
/// impl SearchEngine for Handbook {
///     fn name(&self) -> &str {
///         "handbook"
///     }
///
///     async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
///         let matches = self.0.iter().filter(|page| page.snippet.contains(&query.text));
///         Ok(matches.take(query.max_results).cloned().collect())
///     }
/// }
/// ```
#[async_trait]
pub trait SearchEngine: Send + Sync {
    /// Returns the name of the engine, which the model sees as the source of the results.
    fn name(&self) -> &str;

    /// Returns the results of a query, the best first.
    ///
    /// # Errors
    /// The text of the error is for the model. Its kind decides whether the policy retries.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError>;
}

/// The query that a search engine receives.
///
/// ```
/// use tool_runtime::web::{Recency, SearchQuery};
///
/// let query = SearchQuery::new("tea").max_results(5).recency(Recency::Month);
/// assert_eq!((query.text.as_str(), query.max_results), ("tea", 5));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// The words to search for.
    pub text: String,
    /// The maximum number of results.
    pub max_results: usize,
    /// The maximum age of the results.
    pub recency: Option<Recency>,
}

impl SearchQuery {
    /// Creates a query for 10 results of any age.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), max_results: 10, recency: None }
    }

    /// Sets the maximum number of results.
    #[must_use]
    pub fn max_results(mut self, count: usize) -> Self {
        self.max_results = count;
        self
    }

    /// Sets the maximum age of the results.
    #[must_use]
    pub fn recency(mut self, recency: Recency) -> Self {
        self.recency = Some(recency);
        self
    }
}

/// The maximum age of search results.
///
/// ```
/// use tool_runtime::web::Recency;
///
/// assert_eq!(serde_json::to_string(&Recency::Week).unwrap(), r#""week""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum Recency {
    /// Results of the last 24 hours.
    Day,
    /// Results of the last seven days.
    Week,
    /// Results of the last month.
    Month,
    /// Results of the last year.
    Year,
}

impl Recency {
    /// Returns the name that most engines use.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// One result of a search.
///
/// ```
/// use tool_runtime::web::SearchResult;
///
/// let result = SearchResult::new("Tea", "https://tea.example/", "All about tea.");
/// assert_eq!(result.published("2026-05-01").published.as_deref(), Some("2026-05-01"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SearchResult {
    /// The title of the page.
    pub title: String,
    /// The URL of the page.
    pub url: String,
    /// A part of the text of the page.
    pub snippet: String,
    /// The time at which the page was published, as the engine writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

impl SearchResult {
    /// Creates a result without a time.
    pub fn new(
        title: impl Into<String>,
        url: impl Into<String>,
        snippet: impl Into<String>,
    ) -> Self {
        let (title, url, snippet) = (title.into(), url.into(), snippet.into());
        Self { title, url, snippet, published: None }
    }

    /// Sets the time at which the page was published.
    #[must_use]
    pub fn published(mut self, time: impl Into<String>) -> Self {
        self.published = Some(time.into());
        self
    }
}
