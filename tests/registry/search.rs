//! Tool search: a thousand tools, a few hundred queries, and runs that discover tools.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tool_runtime::agent::Turn;
use tool_runtime::dispatch::Permissions;
use tool_runtime::registry::{
    BySearch, SearchTools, Selector, SelectorInput, ToolIndex, definition_bytes,
};
use tool_runtime::{
    Agent, Arguments, Availability, ChatReply, Dispatcher, EffectRecord, Message, Permission,
    Policy, Registry, ScriptedModel, ScriptedTurn, Tool, ToolCall, ToolContext, ToolDefinition,
    ToolError, ToolErrorKind, ToolOutput, ToolPreference, Tools, async_trait, tools,
};

/// Tool that returns its name.
struct Named {
    definition: ToolDefinition,
    available: bool,
}

impl Named {
    fn new(definition: ToolDefinition) -> Self {
        Self { definition, available: true }
    }

    /// Creates a tool whose description is its name.
    fn plain(name: &str) -> Self {
        Self::new(definition(name, name))
    }
}

#[async_trait]
impl Tool for Named {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn availability(&self) -> Availability {
        if self.available {
            Availability::Available
        } else {
            Availability::Unavailable("broken".into())
        }
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("{} was called", self.definition.name)))
    }
}

fn definition(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::new(name, description, json!({ "type": "object", "properties": {} }))
}

/// Returns a registry of these tools and the search tool.
fn searchable(tools: Tools) -> Registry {
    Registry::try_from(tools.with(SearchTools::new())).unwrap()
}

/// Calls the search tool of a registry. Returns its text and the names that it found.
async fn search(registry: &Registry, arguments: Value) -> (String, Vec<String>) {
    search_by(&Dispatcher::new(registry.clone()), arguments).await
}

async fn search_by(dispatcher: &Dispatcher, arguments: Value) -> (String, Vec<String>) {
    let snapshot = dispatcher.registry().snapshot();
    let tools = snapshot.all_definitions();
    let search = tools.iter().find(|tool| tool.name.contains(SearchTools::NAME)).unwrap();
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", &search.name, arguments)]).await;
    let [execution] = executions.as_slice() else { panic!("{executions:?}") };
    let names = execution.effects.iter().flat_map(|effect| match effect {
        EffectRecord::ToolsFound { names } => names.clone(),
        other => panic!("{other:?}"),
    });
    (execution.result.text.clone(), names.collect())
}

#[derive(Deserialize)]
struct ToolRecord {
    name: String,
    description: String,
    parameters: Value,
}

#[derive(Deserialize)]
struct QueryRecord {
    query: String,
    tools: Vec<String>,
}

fn lines<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/tools").join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn thousand() -> Vec<ToolDefinition> {
    let records = lines::<ToolRecord>("tools.jsonl").into_iter();
    records.map(|tool| ToolDefinition::new(tool.name, tool.description, tool.parameters)).collect()
}

/// Returns the average share of wanted tools among the first five results of the queries of a file.
fn recall(index: &ToolIndex, tools: &[ToolDefinition], file: &str) -> f64 {
    let names: HashSet<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let queries = lines::<QueryRecord>(file);
    let mut recall = 0.0;
    for QueryRecord { query, tools: expected } in &queries {
        assert!(expected.iter().all(|name| names.contains(name.as_str())), "{expected:?} exist");
        let found = index.search(query, 5);
        let hits = expected.iter().filter(|name| found.iter().any(|(found, _)| found == name));
        let hits = hits.count();
        recall += hits as f64 / expected.len() as f64;
        if hits < expected.len() {
            println!("{query:?}: wanted {expected:?}, found {found:?}");
        }
    }
    let recall = recall / queries.len() as f64;
    println!(
        "{file}: recall@5 of {} queries over {} tools: {recall:.4}",
        queries.len(),
        tools.len()
    );
    recall
}

#[test]
fn wanted_tools_are_among_the_first_five() {
    let tools = thousand();
    let names: HashSet<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.len(), 1_000, "names are unique");
    assert!(lines::<QueryRecord>("queries.jsonl").len() >= 220);
    let index = ToolIndex::new(&tools);
    assert!(recall(&index, &tools, "queries.jsonl") >= 0.95);
    // These queries were not used for tuning. The first are phrased as by a model. The second use
    // everyday words, which often differ from those of the tools.
    assert!(recall(&index, &tools, "worded.jsonl") >= 0.95);
    assert!(recall(&index, &tools, "spoken.jsonl") >= 0.57);
}

fn bytes(tools: &[&ToolDefinition]) -> usize {
    tools.iter().map(|tool| definition_bytes(tool)).sum()
}

/// Runs one query per conversation over a thousand tools, and measures the offered definitions.
#[tokio::test]
async fn turns_offer_a_tenth_of_the_bytes_in_stable_order() {
    let registry = searchable(thousand().into_iter().map(as_tool).collect());
    let snapshot = registry.snapshot();
    let tools = snapshot.definitions();
    let all = bytes(&tools);
    let selector = BySearch::new().always(["get_current_weather"]).max_matches(5);
    let mut largest = 0;
    for QueryRecord { query, .. } in lines::<QueryRecord>("queries.jsonl").into_iter().step_by(10) {
        let mut turn = Turn::new(vec![Message::user(query.as_str())], 9);
        let mut before = String::new();
        let (_, found) = search(&registry, json!({ "query": query, "limit": 10 })).await;
        for name in found {
            let known = turn.offered_tools().clone();
            let selection = SelectorInput::new(&tools)
                .user_text(&query)
                .discovered(known.discovered())
                .offered(known.names());
            let chosen = selector.select(selection);
            let offered = turn.offer_tools(chosen);
            let definitions = serde_json::to_string(&offered).unwrap();
            let prefix = before.trim_end_matches(']');
            assert!(definitions.starts_with(prefix), "the earlier definitions changed");
            largest = largest.max(bytes(&offered));
            before = definitions;
            turn.add_discovered_tools([name]);
        }
    }
    let fewer = 100.0 - 100.0 * largest as f64 / all as f64;
    println!("{all} bytes of definitions in all, at most {largest} on a turn: {fewer:.1} % fewer");
    assert!(fewer >= 90.0);
}

fn as_tool(definition: ToolDefinition) -> Arc<dyn Tool> {
    Arc::new(Named::new(definition))
}

#[tokio::test]
async fn discovered_tools_are_offered_and_called() {
    let tools = Tools::new()
        .with(Named::plain("create_event"))
        .with(Named::plain("bake_bread"))
        .with(Named::plain("now"))
        .with(Named::new(definition("a_calendar_export", "Exports all calendar events")));
    let query = ChatReply::default().call("search_tools", r#"{"query": "calendar events"}"#);
    let found = ["now", "search_tools", "a_calendar_export", "create_event"];
    let model = ScriptedModel::new([
        ScriptedTurn::new(query).expect_tools(["now", "search_tools"]),
        ScriptedTurn::new(ChatReply::default().call("create_event", "{}"))
            .expect_tools(found)
            .expect_last("create_event"),
        ScriptedTurn::new(ChatReply::text("Done."))
            .expect_tools(found)
            .expect_last("create_event was called"),
    ]);
    let agent = Agent::new(model, searchable(tools)).selector(BySearch::new().always(["now"]));
    assert_eq!(agent.run("Meet Ada at ten.").await.unwrap().text, "Done.");
}

#[test]
fn discovered_tools_follow_those_offered_before() {
    let [a, b, z] = ["a", "b", "z"].map(|name| definition(name, "…"));
    let search = SearchTools::new();
    let tools = [&a, &b, search.definition(), &z];
    let selector = BySearch::new().always(["z"]);
    let mut turn = Turn::new(vec![Message::user("Go")], 9);
    let mut offer = |pulled: Option<&str>| -> Vec<String> {
        turn.add_discovered_tools(pulled.map(str::to_owned));
        let known = turn.offered_tools().clone();
        let chosen = selector.select(SelectorInput::new(&tools).discovered(known.discovered()));
        turn.offer_tools(chosen).into_iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(offer(None), ["search_tools", "z"]);
    assert_eq!(offer(Some("b")), ["search_tools", "z", "b"]);
    assert_eq!(offer(Some("a")), ["search_tools", "z", "b", "a"]);
    assert_eq!(offer(Some("gone")), ["search_tools", "z", "b", "a"]);
}

#[test]
fn offered_tools_stay_within_the_byte_budget() {
    let schema = || json!({ "type": "object", "properties": {} });
    let padded = |name: &str| ToolDefinition::new(name, "x".repeat(100), schema());
    let pinned = padded("always").preference(ToolPreference::default().always());
    let more = ["a", "b", "c"].map(padded);
    let size = definition_bytes(&more[0]);
    let tools: Vec<_> = [&more[0], &pinned, &more[1], &more[2]].to_vec();
    let mut turn = Turn::new(vec![Message::user("Go")], 9);
    let selector = BySearch::new().max_bytes(2 * size);
    let mut offer = |pulled: &str| -> Vec<String> {
        turn.add_discovered_tools([pulled.to_owned()]);
        let known = turn.offered_tools().clone();
        let selection =
            SelectorInput::new(&tools).discovered(known.discovered()).offered(known.names());
        let chosen = selector.select(selection);
        assert!(chosen.iter().map(|tool| definition_bytes(tool)).sum::<usize>() <= 3 * size + 9);
        turn.offer_tools(chosen).into_iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(offer("c"), ["always", "c"]);
    assert_eq!(offer("b"), ["always", "c", "b"]);
    assert_eq!(offer("a"), ["always", "b", "a"], "the budget holds the last two");
    assert_eq!(offer("b"), ["always", "b", "a"], "a repeated discovery counts as the latest");
    assert_eq!(offer("c"), ["always", "c", "b"], "the latest discovery outlasts earlier ones");
}

#[test]
fn matches_of_earlier_messages_stay_offered() {
    let tools = thousand();
    let tools: Vec<_> = tools.iter().collect();
    let selector = BySearch::new().max_matches(3);
    let mut turn = Turn::new(vec![Message::user("Go")], 9);
    let mut before = String::new();
    for text in ["play some music", "book a flight", "", "play some music"] {
        let known = turn.offered_tools().clone();
        let selection = SelectorInput::new(&tools).user_text(text).offered(known.names());
        let definitions =
            serde_json::to_string(&turn.offer_tools(selector.select(selection))).unwrap();
        assert!(definitions.starts_with(before.trim_end_matches(']')), "{text}");
        before = definitions;
    }
    assert_eq!(turn.offered_tools().names().len(), 6);
}

#[tokio::test]
async fn search_finds_only_callable_tools() {
    let tool_with = |name, change: fn(&mut ToolDefinition)| {
        let mut definition = definition(name, "Sends mail");
        change(&mut definition);
        definition
    };
    let tools = [
        tool_with("allowed", |_| ()),
        tool_with("asks", |tool| tool.permission = Permission::Ask),
        tool_with("denied", |tool| tool.permission = Permission::Deny),
        tool_with("disabled", |tool| tool.preference = ToolPreference::default().disabled()),
        tool_with("hidden", |tool| tool.preference = ToolPreference::default().hidden()),
        tool_with("needy", |tool| tool.requires = vec!["network".into()]),
    ];
    let broken = Named { available: false, ..Named::new(definition("broken", "Sends mail")) };
    let registry = searchable(tools.into_iter().map(as_tool).collect());
    registry.register(Arc::new(broken)).unwrap();

    let (_, names) = search(&registry, json!({ "query": "send mail tools" })).await;
    assert_eq!(names, ["allowed"], "the search tool itself is not found");

    let granted = Dispatcher::new(registry.clone()).policy(Policy::new().grant(["network"]));
    let (_, names) = search_by(&granted, json!({ "query": "send mail" })).await;
    assert_eq!(names, ["allowed", "needy"]);

    let permissions = Permissions::default().tool("allowed", Permission::Deny);
    let strict = Dispatcher::new(registry.clone()).policy(Policy::new().permissions(permissions));
    assert!(search_by(&strict, json!({ "query": "send mail" })).await.1.is_empty());
}

#[tokio::test]
async fn search_is_limited_to_the_view_of_its_agent() {
    let tools = ["send_mail", "send_money"].map(|name| as_tool(definition(name, "Sends.")));
    let all = searchable(tools.into_iter().collect());
    let ask = || ChatReply::default().call("search_tools", r#"{"query": "send"}"#);
    let model = ScriptedModel::new([
        ScriptedTurn::new(ask()).expect_tools(["search_tools"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_tools(["search_tools", "send_mail"]),
    ]);
    let view = all.without(["send_money"]);
    let answer = Agent::new(model, view).selector(BySearch::new()).run("Go").await.unwrap();
    let transcript = format!("{:?}", answer.transcript);
    assert!(transcript.contains("send_mail") && !transcript.contains("send_money"), "{transcript}");

    let without_matches = SearchTools::new();
    let error =
        without_matches.call(json!({ "query": "send" }).into(), &ToolContext::default()).await;
    assert_eq!(error.unwrap_err().kind(), ToolErrorKind::ExecutionFailed);
}

/// The definition marks the search tool, whatever its name.
#[tokio::test]
async fn renamed_search_tools_are_offered() {
    let registry = Registry::try_from(tools![].with(Named::plain("send_mail"))).unwrap();
    for provider in ["a", "b"] {
        registry.register_all_from(provider, tools![].with(SearchTools::new())).unwrap();
    }
    let mut definition = SearchTools::new().definition().clone();
    definition.name = "find_more".into();
    registry.register(as_tool(definition)).unwrap();

    // A search finds no search tool, whatever its name.
    let (_, names) = search(&registry, json!({ "query": "finds more tools" })).await;
    assert!(names.is_empty(), "{names:?}");

    let searches = ["a__search_tools", "b__search_tools", "find_more"];
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call(searches[1], r#"{"query": "send"}"#))
            .expect_tools(searches),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_tools([
            "a__search_tools",
            "b__search_tools",
            "find_more",
            "send_mail",
        ]),
    ]);
    let agent = Agent::new(model, registry).selector(BySearch::new());
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
}

#[tokio::test]
async fn search_follows_registry_changes_and_views() {
    let registry = searchable(Tools::new().with(Named::plain("send_mail")));
    let find = json!({ "query": "play chess" });
    let (text, names) = search(&registry, find.clone()).await;
    assert!(text.contains("No tool fits") && text.contains("other words"), "{text}");
    assert!(names.is_empty());

    registry.register(Arc::new(Named::plain("play_chess"))).unwrap();
    let (text, names) = search(&registry, find.clone()).await;
    assert_eq!(names, ["play_chess"]);
    assert!(text.contains("play_chess(): play_chess"), "{text}");

    assert!(search(&registry.without(["play_chess"]), find.clone()).await.1.is_empty());

    registry.unregister("play_chess");
    assert!(search(&registry, find).await.1.is_empty());
}

#[tokio::test]
async fn search_respects_limits_and_reports_wrong_arguments() {
    let names: Vec<_> = (0..40).map(|n| format!("send_{n:02}")).collect();
    let tools = names.iter().map(|name| as_tool(definition(name, "Sends mail")));
    let registry = searchable(tools.collect());
    for (limit, count) in [(json!(null), 5), (json!(1), 1), (json!("7"), 7), (json!(20), 20)] {
        let (_, found) = search(&registry, json!({ "query": "send", "limit": limit })).await;
        assert_eq!(found, names[..count], "ties are sorted by name");
    }
    for (arguments, message) in [
        (json!({}), "`query` is missing"),
        (json!({ "query": "" }), "`query`"),
        (json!({ "query": " \n" }), "`query` is empty"),
        (json!({ "query": "send", "limit": 0 }), "`limit`: expected an integer from 1 to 20"),
        (json!({ "query": "send", "limit": 21 }), "`limit`: expected an integer from 1 to 20"),
        (json!({ "query": "send", "limit": 256 }), "`limit`: expected an integer from 1 to 20"),
        (json!({ "query": "send", "where": "here" }), "`where`"),
    ] {
        let (error, found) = search(&registry, arguments).await;
        assert!(error.contains(message) && found.is_empty(), "{error}");
    }
}

/// Pins the exact schema, because the model receives it.
#[test]
fn search_schema_is_pinned() {
    let search = SearchTools::new();
    let expected = json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What you want to do, in a few plain words, such as \"send an \
                    invoice to a customer\".",
                "minLength": 1
            },
            "limit": {
                "type": ["integer", "null"],
                "description": "How many tools to find: 5 unless given.",
                "minimum": 1,
                "maximum": 20
            }
        },
        "required": ["query"],
        "additionalProperties": false
    });
    assert_eq!(search.definition().parameters.as_value(), &expected);
    assert!(search.definition().validate().is_ok() && search.definition().finds_tools);
}

/// Without a search tool, `BySearch` offers tools up to its byte budget.
#[tokio::test]
async fn all_tools_are_offered_without_a_search_tool() {
    let tools = ["a", "b", "c"].map(|name| {
        let weight = if name == "b" { 2.0 } else { 1.0 };
        definition(name, "It.").preference(ToolPreference::default().weight(weight))
    });
    let size = definition_bytes(&tools[0]);
    let registry = Registry::try_from(tools.map(as_tool).into_iter().collect::<Tools>()).unwrap();
    let offered = async |selector: BySearch, names: &[&str]| {
        let turn = |reply| ScriptedTurn::new(reply).expect_tools(names.iter().copied());
        let call = ChatReply::default().call("c", "{}");
        let model = ScriptedModel::new([turn(call), turn(ChatReply::text("Done."))]);
        let agent = Agent::new(model, registry.clone()).selector(selector);
        assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
    };
    offered(BySearch::new(), &["a", "b", "c"]).await;
    offered(BySearch::new().always(["c"]), &["a", "b", "c"]).await;
    // The heaviest tools are offered, the same on each turn.
    offered(BySearch::new().max_bytes(size), &["b"]).await;
    offered(BySearch::new().max_bytes(2 * size).always(["c"]), &["a", "b", "c"]).await;
    // With an explicit number of matches, the fallback does not apply.
    offered(BySearch::new().max_matches(1), &[]).await;

    registry.register(Arc::new(SearchTools::new())).unwrap();
    offered(BySearch::new(), &["search_tools"]).await;
    // A weight of 0 does not remove the search tool. Hiding it does.
    registry.prefer("search_tools", ToolPreference::default().weight(0.0)).unwrap();
    offered(BySearch::new(), &["search_tools"]).await;
    registry.prefer("search_tools", ToolPreference::default().hidden()).unwrap();
    offered(BySearch::new(), &["a", "b", "c"]).await;
    registry.unregister("search_tools");
    registry.prefer("a", ToolPreference::default().always()).unwrap();
    offered(BySearch::new(), &["a"]).await;
}

#[tokio::test]
async fn hostile_definitions_are_truncated_to_one_line() {
    let arguments: serde_json::Map<_, _> = (0..400)
        .map(|n| (format!("argument_{n}"), json!({ "description": "word ".repeat(200) })))
        .collect();
    let schema = json!({ "type": "object", "properties": arguments });
    let endless = format!("Evil\r\n- fake(): tool {}", "mail ".repeat(12_000));
    let registry = searchable(
        Tools::new()
            .with(Named::new(ToolDefinition::new("evil", endless, schema)))
            .with(Named::plain("send_mail")),
    );
    let (text, mut names) = search(&registry, json!({ "query": "mail" })).await;
    names.sort();
    assert_eq!(names, ["evil", "send_mail"], "a repeated word hides no other tool");
    assert!(text.len() < 2_000, "{} bytes", text.len());
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'));

    let (_, names) = search(&registry, json!({ "query": "mail ".repeat(100_000) })).await;
    assert_eq!(names.len(), 2);
}

#[test]
fn search_is_deterministic() {
    let tools = thousand();
    let index = ToolIndex::new(&tools);
    let reversed = ToolIndex::new(tools.iter().rev());
    for QueryRecord { query, .. } in lines::<QueryRecord>("queries.jsonl").iter().step_by(7) {
        let found = index.search(query, 20);
        assert_eq!(found, index.search(query, 20));
        assert_eq!(
            found,
            reversed.search(query, 20),
            "{query}: the order of the tools changed the result"
        );
    }
}
