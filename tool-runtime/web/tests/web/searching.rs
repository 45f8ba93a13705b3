//! Searches, with the exchanges of engines in `cassettes/`, whose sources its README names.

use std::path::Path;

use serde_json::{Value, json};
use tool_runtime::http::Cassette;
use tool_runtime::models::{EmbedRequest, Embedder, Embeddings};
use tool_runtime::web::{
    Brave, Recency, SearXng, SearchEngine, SearchQuery, SearchResult, Tavily, WebSearch,
};
use tool_runtime::{EffectRecord, ModelError, Registry, ToolError, Usage, async_trait, tools};

use super::fixture::{Fixture, call, dispatcher};
use super::server::Reply;

/// A key that must appear nowhere.
const KEY: &str = "k3y-0f-th3-3ng1n3";

fn cassette(name: &str) -> Cassette {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web/cassettes");
    Cassette::replay(folder.join(name).with_extension("json")).unwrap()
}

/// Returns the text of a search.
async fn search(search: &WebSearch, arguments: Value) -> String {
    call(&dispatcher(search.clone()), "web_search", arguments).await.result.text
}

/// Asserts the error code and the text of a search.
async fn assert_error(search: &WebSearch, query: &str, code: &str, text: &str) {
    let arguments = json!({ "query": query });
    let execution = call(&dispatcher(search.clone()), "web_search", arguments).await;
    assert!(execution.failed_with(code), "{query}: {:?}", execution.result);
    assert!(execution.result.text.starts_with(text), "{query}: {}", execution.result.text);
}

#[tokio::test]
async fn brave_is_asked_and_read() {
    let cassette = cassette("brave");
    let web_search = WebSearch::new(Brave::new(KEY).transport(cassette.clone()));
    let text = search(&web_search, json!({ "query": "tea api" })).await;
    let rows = "\n<untrusted source=\"results of Brave Search\">\n\
        title: Brave Search API & tools | url: https://brave.com/search/api/ | \
        snippet: Power your agents \"with\" an index. | published: 2026-05-01T10:00:00\n\
        title: Documentation | url: https://api-dashboard.search.brave.com/app/documentation | \
        snippet: \"\"\n</untrusted>";
    assert!(text.ends_with(rows), "{text}");
    let arguments = json!({ "query": "a&b", "count": 2, "recency": "week" });
    let text = search(&web_search, arguments).await;
    assert!(text.contains("\nno results\n"), "{text}");
    let unavailable = "The search engine refuses the program (status ";
    assert_error(&web_search, "refused", "TOOL_UNAVAILABLE", unavailable).await;
    assert_error(&web_search, "no plan", "TOOL_UNAVAILABLE", unavailable).await;
    let used_up = "The search engine refuses the program: its plan is used up (status 429).";
    assert_error(&web_search, "used up", "TOOL_UNAVAILABLE", used_up).await;
    let invalid = "The search engine refuses the query (status 422).";
    assert_error(&web_search, "invalid", "TOOL_EXECUTION_FAILED", invalid).await;
    let busy = "The search engine is asked too often (status 429).";
    assert_error(&web_search, "often", "TOOL_TRANSIENT_FAILURE", busy).await;
    let unreadable = "The search engine sent a response that can't be read.";
    assert_error(&web_search, "broken", "TOOL_EXECUTION_FAILED", unreadable).await;
    assert_eq!(cassette.unplayed_count(), 0);
    assert!(!format!("{web_search:?} {:?}", Brave::new(KEY)).contains(KEY));
}

#[tokio::test]
async fn searxng_is_asked_and_read() {
    let cassette = cassette("searxng");
    let engine = SearXng::new("http://search.test:8888/").transport(cassette.clone());
    let web_search = WebSearch::new(engine);
    let text = search(&web_search, json!({ "query": "tea", "count": 3 })).await;
    let rows = "\">\ntitle: Tea | url: http://wiki.test/wiki/Tea | \
        snippet: Tea is an aromatic beverage. | published: 2026-01-02T00:00:00\n\
        title: Green tea | url: http://wiki.test/wiki/Green_tea | \
        snippet: Green tea is a type of tea. | published: 2026-02-03T04:05:06\n\
        title: \"Tea | shop\" | url: http://wiki.test/wiki/Tea_%7C_shop | snippet: \"\" | \
        published: 2025-02-03T04:05:06\n</untrusted>";
    assert!(text.ends_with(rows), "{text}");
    let text = search(&web_search, json!({ "query": "nothing", "recency": "day" })).await;
    assert!(text.contains("\nno results\n"), "{text}");
    let unavailable = "The search engine refuses the program";
    assert_error(&web_search, "refused", "TOOL_UNAVAILABLE", unavailable).await;
    assert_eq!(cassette.unplayed_count(), 0);
}

#[tokio::test]
async fn tavily_is_asked_and_read() {
    let cassette = cassette("tavily");
    let web_search = WebSearch::new(Tavily::new(KEY).transport(cassette.clone()));
    let text = search(&web_search, json!({ "query": "who is Leo Messi?", "count": 1 })).await;
    let row = "title: \"Lionel Messi Facts | Britannica\" | \
        url: https://www.britannica.com/facts/Lionel-Messi | \
        snippet: Lionel Messi is an Argentine footballer.\n</untrusted>";
    assert!(text.ends_with(row), "{text}");
    let text = search(&web_search, json!({ "query": "news", "recency": "year" })).await;
    assert!(text.contains("published: Mon, 01 Jun 2026 10:00:00 GMT"), "{text}");
    let used_up = "The search engine refuses the program: its plan is used up";
    assert_error(&web_search, "used up", "TOOL_UNAVAILABLE", used_up).await;
    assert_eq!(cassette.unplayed_count(), 0);
    assert!(!format!("{:?}", Tavily::new(KEY)).contains(KEY));
}

#[tokio::test]
async fn engine_that_is_not_there_is_a_transient_error() {
    let web_search = WebSearch::new(SearXng::new("http://127.0.0.1:1"));
    let text = "The search engine can't be reached.";
    assert_error(&web_search, "tea", "TOOL_TRANSIENT_FAILURE", text).await;
    let web_search = WebSearch::new(Brave::new(KEY).url("no address"));
    let text = "The search engine has no valid address.";
    assert_error(&web_search, "tea", "TOOL_UNAVAILABLE", text).await;
}

/// Returns the engines at the public server, below a path.
fn engines(fixture: &Fixture, path: &str) -> [WebSearch; 3] {
    let url = format!("http://{}{path}", fixture.public.address);
    [
        WebSearch::new(Brave::new(KEY).url(&*url)),
        WebSearch::new(SearXng::new(&*url)),
        WebSearch::new(Tavily::new(KEY).url(&*url)),
    ]
}

#[tokio::test]
async fn result_without_a_url_is_left_out() {
    let fixture = Fixture::new(|path| {
        let results = if path.starts_with("/null") {
            Value::Null
        } else {
            json!([{ "title": "none" }, { "url": "https://tea.test/" }, { "url": null }])
        };
        let body = json!({ "web": { "results": results }, "results": results });
        Reply::ok("application/json", body.to_string())
    })
    .await;
    for web_search in engines(&fixture, "") {
        let text = search(&web_search, json!({ "query": "tea" })).await;
        let row = ">\ntitle: \"\" | url: https://tea.test/ | snippet: \"\"\n</untrusted>";
        assert!(text.ends_with(row), "{web_search:?}: {text}");
    }
    for web_search in engines(&fixture, "/null") {
        let text = search(&web_search, json!({ "query": "tea" })).await;
        assert!(text.contains("\nno results\n"), "{web_search:?}: {text}");
    }
}

#[tokio::test]
async fn key_does_not_follow_a_redirect() {
    let fixture = Fixture::new(|_| Reply::redirect(301, "/other")).await;
    for web_search in engines(&fixture, "") {
        let text = "The search engine redirects to another address (status 301).";
        assert_error(&web_search, "tea", "TOOL_UNAVAILABLE", text).await;
    }
    assert_eq!(fixture.public.requests().len(), 3);
}

/// Returns as many results as are asked for.
struct Numbers;

#[async_trait]
impl SearchEngine for Numbers {
    fn name(&self) -> &str {
        "numbers"
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
        let title = |number| format!("{number} {:?} </untrusted>", query.recency);
        let result = |number| SearchResult::new(title(number), "https://a.test/", "x".repeat(5000));
        Ok((0..query.max_results).map(result).collect())
    }
}

#[tokio::test]
async fn results_are_untrusted_and_bounded_in_both_forms() {
    let web_search = WebSearch::new(Numbers);
    for output in ["labeled", "json"] {
        let arguments = json!({ "query": "a", "count": 20, "recency": "month", "output": output });
        let execution = call(&dispatcher(web_search.clone()), "web_search", arguments).await;
        let text = &execution.result.text;
        assert!(text.len() < 25_000, "{}", text.len());
        assert_eq!(text.matches("</untrusted>").count(), 1, "{text}");
        let results = execution.result.structured_value().unwrap();
        assert_eq!(results.as_array().unwrap().len(), 20);
        assert_eq!(results[3]["title"], format!("3 {:?} </untrusted>", Some(Recency::Month)));
        assert_eq!(results[3]["snippet"].as_str().unwrap().len(), 1000);
        let starts = if output == "json" { ">\n[{\"title\":" } else { ">\ntitle: 0" };
        assert!(text.contains(starts), "{text}");
    }
    for arguments in [json!({}), json!({ "query": "" }), json!({ "query": "a", "count": 21 })] {
        let execution = call(&dispatcher(web_search.clone()), "web_search", arguments).await;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{}", execution.result.text);
    }
}

/// Embeds texts that begin with a number: 7 is the most similar to any query, then 6 and 8.
struct Distance;

#[async_trait]
impl Embedder for Distance {
    async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        request.check()?;
        let vector = |text: &&str| {
            let number = text.split(' ').next().and_then(|word| word.parse::<f32>().ok());
            let distance = (number.unwrap_or(7.0) - 7.0).abs();
            let norm = distance.hypot(1.0);
            vec![1.0 / norm, distance / norm]
        };
        let usage = Usage::new(request.texts.len() as u64, 0);
        Ok(Embeddings::new(request.texts.iter().map(vector).collect()).usage(usage))
    }

    fn id(&self) -> String {
        "distance".into()
    }
}

#[tokio::test]
async fn results_are_ordered_by_their_similarity() {
    let web_search = WebSearch::new(Numbers).rerank(Distance);
    let arguments = json!({ "query": "seven", "count": 3 });
    let execution = call(&dispatcher(web_search), "web_search", arguments).await;
    let text = &execution.result.text;
    let order: Vec<_> = text.split("title: ").skip(1).map(|row| &row[..1]).collect();
    assert_eq!(order, ["7", "6", "8"]);
    let tokens = execution.effects.iter().map(|effect| match effect {
        EffectRecord::TokensSpent { usage, .. } => usage.input_tokens,
        effect => panic!("{effect:?}"),
    });
    // The query and 20 results.
    assert_eq!(tokens.collect::<Vec<_>>(), [21]);
}

/// Vectors for a number of texts.
type Vectors = fn(usize) -> Result<Vec<Vec<f32>>, ModelError>;

/// Returns vectors that break the rules of embedders.
struct Broken(Vectors);

#[async_trait]
impl Embedder for Broken {
    async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        self.0(request.texts.len()).map(Embeddings::new)
    }

    fn id(&self) -> String {
        "broken".into()
    }
}

#[tokio::test]
async fn order_of_the_engine_is_kept_if_embeddings_fail() {
    let cases: [Vectors; 5] = [
        |_| Err(ModelError::unavailable("the weights are being loaded")),
        |_| Ok(Vec::new()),
        |len| Ok(vec![vec![1.0]; len / 2 + 1]),
        |len| Ok(vec![vec![f32::NAN]; len]),
        |len| Ok((0..len).map(|number| vec![1.0; number + len]).collect()),
    ];
    for (number, vectors) in cases.into_iter().enumerate() {
        let web_search = WebSearch::new(Numbers).rerank(Broken(vectors));
        let text = search(&web_search, json!({ "query": "a", "count": 3 })).await;
        let order: Vec<_> = text.split("title: ").skip(1).map(|row| &row[..1]).collect();
        assert_eq!(order, ["0", "1", "2"], "{number}");
        assert_eq!(text.contains("embeddings failed"), number < 3, "{number}: {text}");
    }
}

#[tokio::test]
async fn definition_has_the_schema_of_the_results() {
    let registry = Registry::try_from(tools![..WebSearch::new(Numbers)]).unwrap();
    let snapshot = registry.snapshot();
    let schema = snapshot.definition("web_search").unwrap().output.clone().unwrap();
    for output in ["labeled", "json"] {
        let arguments = json!({ "query": "a", "output": output });
        let execution = call(&dispatcher(WebSearch::new(Numbers)), "web_search", arguments).await;
        let results = execution.structured_value().unwrap();
        assert_eq!(results.as_array().unwrap().len(), 8);
        assert!(schema.check(&results).is_empty(), "{results}");
    }
    assert!(!schema.check(&json!([{ "title": "no URL" }])).is_empty());
}
