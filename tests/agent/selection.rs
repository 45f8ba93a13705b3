//! Selectors: the tools that a run offers, and their order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_runtime::agent::{OfferedTools, Prompt, Turn};
use tool_runtime::registry::{ByWeight, Selector, SelectorInput, definition_bytes};
use tool_runtime::{
    Agent, Arguments, CancellationToken, ChatModel, ChatReply, ChatRequest, EffectRecord, Message,
    ModelError, Registry, ScriptedModel, ScriptedTurn, StopReason, Tool, ToolContext,
    ToolDefinition, ToolError, ToolOutput, ToolPreference, Tools, async_trait,
};

/// Tool that reports the names in its argument as found.
struct Named(ToolDefinition);

#[async_trait]
impl Tool for Named {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = serde_json::from_str::<Value>(&args.to_text()).unwrap_or_default();
        let names = args["find"].as_str().unwrap_or_default().split(' ').map(str::to_owned);
        Ok(ToolOutput::text("Done.")
            .with_effect(EffectRecord::ToolsFound { names: names.collect() }))
    }
}

fn definition(name: &str, weight: f64) -> ToolDefinition {
    ToolDefinition::new(name, format!("Is {name}."), json!({ "type": "object" }))
        .preference(ToolPreference::default().weight(weight))
}

/// Returns the tools a to e with increasing weights.
fn five() -> Registry {
    let tools = ["a", "b", "c", "d", "e"].into_iter().zip([1.0, 2.0, 3.0, 4.0, 5.0]);
    let tools = tools.map(|(name, weight)| Named(definition(name, weight)));
    Registry::try_from(Tools::new().with_all(tools)).unwrap()
}

/// Returns a call of a tool that finds others.
fn find(names: &str) -> ChatReply {
    ChatReply::default().call("e", format!(r#"{{"find": "{names}"}}"#))
}

/// Selector that calls a function.
struct Choice<F>(F);

impl<F> Selector for Choice<F>
where
    F: for<'a> Fn(SelectorInput<'a>) -> Vec<&'a ToolDefinition> + Send + Sync,
{
    fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition> {
        (self.0)(selection)
    }
}

fn choice<F>(choose: F) -> Choice<F>
where
    F: for<'a> Fn(SelectorInput<'a>) -> Vec<&'a ToolDefinition> + Send + Sync,
{
    Choice(choose)
}

async fn offers<const N: usize>(selector: impl Selector + 'static, names: [&str; N]) {
    let model =
        ScriptedModel::new([ScriptedTurn::new(ChatReply::text("Done.")).expect_tools(names)]);
    Agent::new(model, five()).selector(selector).run("Go").await.unwrap();
}

#[tokio::test]
async fn offered_tools_are_known_and_in_order_with_any_selector() {
    offers(choice(|_| Vec::new()), []).await;
    offers(choice(|_| panic!("on purpose")), ["a", "b", "c", "d", "e"]).await;
    offers(choice(|selection| selection.tools.iter().rev().take(2).copied().collect()), ["d", "e"])
        .await;
    // The selector returns a duplicate and two foreign definitions, one with a known name.
    offers(
        choice(|selection| {
            let foreign = |name| &*Box::leak(Box::new(definition(name, 9.0)));
            let known = selection.tools.first().copied();
            known.into_iter().chain(known).chain([foreign("x"), foreign("b")]).collect()
        }),
        ["a", "b"],
    )
    .await;
    let two = 2 * definition_bytes(&definition("a", 1.0));
    offers(ByWeight::new(two), ["d", "e"]).await;
    offers(ByWeight::new(0), []).await;
}

#[tokio::test]
async fn blocking_selector_runs_on_another_thread() {
    struct Slow(std::thread::ThreadId);

    impl Selector for Slow {
        fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition> {
            assert_ne!(
                std::thread::current().id(),
                self.0,
                "the selector runs on the thread of the test"
            );
            selection.tools.iter().take(1).copied().collect()
        }

        fn blocking(&self) -> bool {
            true
        }
    }

    offers(Slow(std::thread::current().id()), ["a"]).await;
}

/// Selector that panics in every method, or that blocks.
struct Broken(bool);

impl Selector for Broken {
    fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition> {
        assert!(self.0, "on purpose");
        // The wait is bounded, so that a failing test ends.
        for _ in 0..5_000 {
            if STOPPED.load(Ordering::SeqCst) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        selection.tools.to_vec()
    }

    fn blocking(&self) -> bool {
        assert!(self.0, "on purpose");
        true
    }
}

static STOPPED: AtomicBool = AtomicBool::new(false);

#[tokio::test]
async fn panicking_selector_offers_all_tools() {
    offers(Broken(false), ["a", "b", "c", "d", "e"]).await;
}

#[tokio::test]
async fn run_is_cancelled_while_its_selector_blocks() {
    let stop = CancellationToken::new();
    let model = ScriptedModel::new([ChatReply::text("Never requested.")]);
    let agent = Agent::new(model, five()).selector(Broken(true)).cancellation(stop.clone());
    let (stopped, ()) = tokio::join!(agent.run("Go"), async { stop.cancel() });
    assert!(matches!(stopped.unwrap_err().reason, StopReason::Cancelled));
    STOPPED.store(true, Ordering::SeqCst);
}

#[tokio::test]
async fn discovered_tools_follow_heavier_tools() {
    let bytes = definition_bytes(&definition("a", 1.0));
    for (room, after) in [
        (bytes * 9, vec!["d", "e", "b", "a"]),
        (bytes * 2, vec!["d", "e", "b", "a"]),
        (bytes, vec!["d", "e", "a"]),
        (bytes - 1, vec!["d", "e"]),
    ] {
        let first = if room < bytes { vec!["d", "e"] } else { vec!["d", "e", "b"] };
        let model = ScriptedModel::new([
            ScriptedTurn::new(find("b e")).expect_tools(["d", "e"]),
            ScriptedTurn::new(find("a")).expect_tools(first),
            // A tool that is not offered can still be called.
            ScriptedTurn::new(ChatReply::default().call("b", "{}")).expect_tools(after.clone()),
            ScriptedTurn::new(ChatReply::text("Done.")).expect_tools(after).expect_last("Done."),
        ]);
        let selector = ByWeight::new(bytes * 2).max_found_bytes(room);
        Agent::new(model, five()).selector(selector).run("Go").await.unwrap();
    }
}

#[test]
fn always_offered_tools_precede_heavier_tools() {
    let pinned = definition("a", 1.0);
    let pinned = pinned.preference(ToolPreference::default().always());
    let heavy = definition("b", 9.0);
    let disabled = definition("c", 9.0);
    let disabled = disabled.preference(ToolPreference::default().always().disabled());
    let hidden = definition("d", 9.0);
    let hidden = hidden.preference(ToolPreference::default().always().hidden());
    let tools = [&pinned, &heavy, &disabled, &hidden];
    let selector = ByWeight::new(definition_bytes(&pinned));
    assert_eq!(selector.select(SelectorInput::new(&tools)), [&pinned]);
}

/// Serialized definitions of each request.
#[derive(Default)]
struct SentDefinitions(Mutex<Vec<String>>);

/// Model that records the definitions of its requests.
struct RecordingModel(Arc<SentDefinitions>, ScriptedModel);

#[async_trait]
impl ChatModel for RecordingModel {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.0.0.lock().unwrap().push(serde_json::to_string(request.tools).unwrap());
        self.1.reply(request).await
    }
}

#[tokio::test]
async fn definitions_are_byte_identical_while_the_set_is_unchanged() {
    let half = 2 * definition_bytes(&definition("a", 1.0));
    let selectors: Vec<Box<dyn Fn(Agent) -> Agent>> = vec![
        Box::new(|agent| agent),
        Box::new(move |agent| agent.selector(ByWeight::new(half))),
        #[cfg(feature = "search")]
        Box::new(|agent| agent.selector(tool_runtime::registry::BySearch::new().always(["c"]))),
        #[cfg(feature = "search")]
        Box::new(|agent| agent.selector(tool_runtime::registry::BySearch::new().max_matches(2))),
        Box::new(|agent| agent.selector(choice(|all| all.tools.iter().rev().copied().collect()))),
        Box::new(|agent| agent.selector(choice(|_| panic!("on purpose")))),
    ];
    for selected in selectors {
        let sent_definitions = Arc::new(SentDefinitions::default());
        let call = || ChatReply::default().call("a", "{}");
        let script = [call(), find("a"), call(), call(), ChatReply::text("Done.")];
        let model = RecordingModel(Arc::clone(&sent_definitions), ScriptedModel::new(script));
        let registry = five();
        let agent = selected(Agent::new(model, registry.clone()));
        // An equal tool replaces the old one, so the set is unchanged.
        registry.register(Arc::new(Named(definition("c", 3.0)))).unwrap();
        agent.run("Is a or c there?").await.unwrap();
        let definitions = sent_definitions.0.lock().unwrap().clone();
        assert_eq!(definitions.len(), 5);
        assert_eq!(definitions[0], definitions[1]);
        // Discovered tools follow.
        assert!(
            definitions[2].starts_with(definitions[0].trim_end_matches(']')),
            "{definitions:?}"
        );
        assert_eq!((&definitions[2], &definitions[2]), (&definitions[3], &definitions[4]));
    }
}

#[tokio::test]
async fn conversation_keeps_its_offered_tools() {
    let bytes = definition_bytes(&definition("a", 1.0));
    let expect = |tools: [&str; 3], reply| ScriptedTurn::new(reply).expect_tools(tools);
    let model = ScriptedModel::new([
        ScriptedTurn::new(find("b")).expect_tools(["e"]),
        ScriptedTurn::new(find("a")).expect_tools(["e", "b"]),
        expect(["e", "b", "a"], ChatReply::text("Done.")),
        expect(["e", "b", "a"], ChatReply::text("Still there.")),
        expect(["e", "b", "a"], ChatReply::text("And on another day.")),
        expect(["e", "b", "a"], ChatReply::text("And for a turn.")),
        expect(["e", "b", "a"], ChatReply::default()),
        expect(["e", "b", "a"], ChatReply::text("And after a stop.")),
    ]);
    let agent = Agent::new(model, five()).selector(ByWeight::new(bytes));
    let answer = agent.run("Go").await.unwrap();
    let answer = agent.run(answer.then("And now?")).await.unwrap();
    assert_eq!(answer.text, "Still there.");

    let saved = serde_json::to_string(&answer.offered_tools).unwrap();
    let offered: OfferedTools = serde_json::from_str(&saved).unwrap();
    assert_eq!(offered.discovered(), ["b", "a"]);
    let prompt = Prompt::from("Another day").offered_tools(offered.clone());
    assert_eq!(agent.run(prompt).await.unwrap().text, "And on another day.");

    let turn = Turn::new(vec![Message::user("Go")], 9).with_offered_tools(offered.clone());
    let turn: Turn = serde_json::from_str(&serde_json::to_string(&turn).unwrap()).unwrap();
    assert_eq!(agent.run(turn).await.unwrap().text, "And for a turn.");

    let stopped = agent.run(Prompt::from("Hm").offered_tools(offered)).await.unwrap_err();
    let prompt = Prompt::from(stopped.transcript).offered_tools(stopped.offered_tools);
    assert_eq!(agent.run(prompt).await.unwrap().text, "And after a stop.");
}

/// Registers tools that each mention their own name in the description, under optional providers.
fn of_providers(tools: &[(Option<&str>, &str)]) -> Registry {
    let registry = Registry::new();
    for (provider, name) in tools {
        let tool = Arc::new(Named(definition(name, 1.0)));
        match provider {
            Some(provider) => registry.register_from(provider, tool).unwrap(),
            None => registry.register(tool).unwrap(),
        };
    }
    registry
}

async fn expect_offer(registry: &Registry, selector: impl Selector + 'static, names: &[&str]) {
    expect_offer_of(|agent| agent.selector(selector), registry, names).await;
}

async fn expect_offer_of(
    set_selector: impl FnOnce(Agent) -> Agent,
    registry: &Registry,
    names: &[&str],
) {
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::text("Done.")).expect_tools(names.iter().copied())
    ]);
    let agent = set_selector(Agent::new(model, registry.clone()));
    agent.run("beta").await.unwrap_or_else(|stopped| panic!("{names:?}: {stopped}"));
}

#[tokio::test]
async fn selectors_offer_tools_of_providers_by_the_names_of_models() {
    let [a, b] = [Some("a"), Some("b")];
    // Tools, the names by which models call them, the names that match the prompt.
    let cases: [(&[_], &[&str], &[&str]); 4] = [
        (&[(None, "alpha"), (None, "beta")], &["alpha", "beta"], &["beta"]),
        (&[(a, "alpha"), (a, "beta")], &["alpha", "beta"], &["beta"]),
        (
            &[(a, "alpha"), (a, "beta"), (b, "beta")],
            &["a__beta", "alpha", "b__beta"],
            &["a__beta", "b__beta"],
        ),
        (
            &[(None, "alpha"), (None, "beta"), (a, "beta"), (b, "alpha")],
            &["a__beta", "alpha", "b__alpha", "beta"],
            &["a__beta", "beta"],
        ),
    ];
    for (tools, all, matching) in cases {
        let registry = of_providers(tools);
        expect_offer_of(|agent| agent, &registry, all).await;
        expect_offer(&registry, ByWeight::new(usize::MAX), all).await;
        let is_beta = |tool: &&ToolDefinition| tool.has_name("beta");
        let by_name = choice(move |all| all.tools.iter().copied().filter(is_beta).collect());
        expect_offer(&registry, by_name, matching).await;
        #[cfg(feature = "search")]
        {
            use tool_runtime::registry::{BySearch, SearchTools};

            // Without a search tool, all tools are offered.
            expect_offer(&registry, BySearch::new(), all).await;
            expect_offer(&registry, BySearch::new().max_matches(9), matching).await;
            expect_offer(&registry, BySearch::new().always(["alpha"]).max_matches(9), all).await;

            registry.register(Arc::new(SearchTools::new())).unwrap();
            let with_search = |names: &[&'static str]| {
                let mut names = names.to_vec();
                names.push("search_tools");
                names.sort_unstable();
                names
            };
            expect_offer(&registry, BySearch::new(), &with_search(&[])).await;
            let always = BySearch::new().always(["beta"]);
            expect_offer(&registry, always, &with_search(matching)).await;
            let max_matches = BySearch::new().max_matches(9);
            expect_offer(&registry, max_matches, &with_search(matching)).await;
        }
    }
}
