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

use tool_runtime::ToolError;

pub use brave::Brave;
pub use engine::{Recency, SearchEngine, SearchQuery, SearchResult};
pub use searxng::SearXng;
pub use tavily::Tavily;

use rerank::Embed;

/// The tool `web_search`, which searches the web with an engine.
///
/// ```
/// use tool_runtime::{Dispatcher, Registry, ToolCall, ToolError, async_trait, tools};
/// use tool_toolbox::{SearchEngine, SearchQuery, SearchResult, WebSearch};
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
    embed: Option<Embed>,
}

impl WebSearch {
    /// Creates the tool for an engine.
    pub fn new(engine: impl SearchEngine + 'static) -> Self {
        Self { engine: Arc::new(engine), embed: None }
    }

    /// Orders the results by the cosine similarity of their title and snippet to the query.
    ///
    /// `embed` receives the query and then the results, and returns a vector for each. The engine
    /// is asked for 20 results, of which the most similar ones are returned. If `embed` fails, the
    /// order of the engine is kept.
    ///
    /// ```
    /// use tool_toolbox::{Brave, WebSearch};
    ///
    /// // Counts vowels. A real one asks a model.
    /// fn vector(text: &String) -> Vec<f32> {
    ///     ["a", "e", "i"].map(|vowel| text.matches(vowel).count() as f32).to_vec()
    /// }
    ///
    /// let embed = |texts: Vec<String>| async move { Ok(texts.iter().map(vector).collect()) };
    /// let search = WebSearch::new(Brave::new("key")).rerank(embed);
    /// # drop(search);
    /// ```
    #[must_use]
    pub fn rerank<F, Output>(mut self, embed: F) -> Self
    where
        F: Fn(Vec<String>) -> Output + Send + Sync + 'static,
        Output: Future<Output = Result<Vec<Vec<f32>>, ToolError>> + Send + 'static,
    {
        self.embed = Some(Arc::new(move |texts| Box::pin(embed(texts))));
        self
    }
}

impl fmt::Debug for WebSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSearch")
            .field("engine", &self.engine.name())
            .field("is_reranked", &self.embed.is_some())
            .finish()
    }
}
