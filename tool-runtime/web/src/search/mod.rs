//! The tool `web_search`, on an engine that the program chooses.
//!
//! 1. `tools.rs`: the call becomes a query.
//! 2. `engine.rs`: the trait of engines. `brave.rs`, `searxng.rs` and `tavily.rs` are clients, with
//!    `exchange.rs` for what they share.
//! 3. `rerank.rs`: orders the results by their similarity to the query.
//! 4. `results.rs`: writes them in the form that the model asked for, marked as untrusted.

mod brave;
mod engine;
mod exchange;
mod rerank;
mod results;
mod searxng;
mod tavily;
mod tools;

use std::fmt;
use std::sync::Arc;

use tool_core::models::Embedder;

pub use brave::Brave;
pub use engine::{Recency, SearchEngine, SearchQuery, SearchResult};
pub use searxng::SearXng;
pub use tavily::Tavily;

/// The tool `web_search`, which searches the web with an engine.
///
/// ```
/// use tool_runtime::web::{SearchEngine, SearchQuery, SearchResult, WebSearch};
/// use tool_runtime::{Dispatcher, Registry, ToolCall, ToolError, async_trait, tools};
///
/// /// Knows one page.
/// struct OnePage;
///
/// #[async_trait]
/// impl SearchEngine for OnePage {
///     fn name(&self) -> &str {
///         "one page"
///     }
///
///     async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
///         let title = format!("All about {}", query.text);
///         Ok(vec![SearchResult::new(title, "https://docs.example/", "Everything.")])
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![..WebSearch::new(OnePage)])?);
/// let call = ToolCall::new("1", "web_search", r#"{"query": "tea"}"#);
/// let executions = dispatcher.dispatch(vec![call]).await;
/// let row = "title: All about tea | url: https://docs.example/ | snippet: Everything.";
/// assert!(executions[0].result.text.contains(row));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WebSearch {
    engine: Arc<dyn SearchEngine>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl WebSearch {
    /// Creates the tool for an engine.
    pub fn new(engine: impl SearchEngine + 'static) -> Self {
        Self { engine: Arc::new(engine), embedder: None }
    }

    /// Orders the results by the similarity of their title and snippet to the query.
    ///
    /// The engine is asked for 20 results, of which the most similar ones are returned. If the
    /// embedder fails, the order of the engine is kept. Its usage counts toward that of the run.
    ///
    /// ```
    /// use tool_runtime::models::TestEmbedder;
    /// use tool_runtime::web::{Brave, WebSearch};
    ///
    /// let search = WebSearch::new(Brave::new("key")).rerank(TestEmbedder::new(64));
    /// # drop(search);
    /// ```
    #[must_use]
    pub fn rerank(mut self, embedder: impl Embedder + 'static) -> Self {
        self.embedder = Some(Arc::new(embedder));
        self
    }
}

impl fmt::Debug for WebSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSearch")
            .field("engine", &self.engine.name())
            .field("is_reranked", &self.embedder.is_some())
            .finish()
    }
}
