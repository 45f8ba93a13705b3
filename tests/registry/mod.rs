//! The registry: registration, views, preferences, descriptions and changes during a run.

mod changes;
mod concurrent_changes;
mod labels;
mod naming;
mod overrides;
mod preferences;
mod reentrancy;
mod reference_model;
#[cfg(feature = "search")]
mod search;
mod valid_tools;
mod wire_names;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use tool_runtime::registry::{DescriptionStore, MemoryDescriptions};
use tool_runtime::{
    Agent, Arguments, Availability, ChatReply, Dispatcher, EffectRecord, Message, Registry,
    RegistryError, ScriptedModel, ScriptedTurn, Snapshot, Tool, ToolCall, ToolContext,
    ToolDefinition, ToolError, ToolKind, ToolOutput, ToolPreference, Tools, async_trait, tool,
    tools,
};

/// A tool whose output is its description, which distinguishes tools of the same name.
struct Named(ToolDefinition);

#[async_trait]
impl Tool for Named {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self.0.description.as_str()))
    }
}

fn named(name: &str, description: &str) -> Arc<dyn Tool> {
    with_schema(name, description, json!({ "type": "object" }))
}

fn with_schema(name: &str, description: &str, schema: Value) -> Arc<dyn Tool> {
    Arc::new(Named(ToolDefinition::new(name, description, schema)))
}

fn wrapping(program: &str) -> Arc<dyn Tool> {
    of_kind(ToolKind::Program(program.to_owned()))
}

fn of_kind(kind: ToolKind) -> Arc<dyn Tool> {
    let mut definition = ToolDefinition::new("wraps", "It.", json!({ "type": "object" }));
    definition.kind = kind;
    Arc::new(Named(definition))
}

fn names(registry: &Registry) -> Vec<String> {
    registry.snapshot().entries().map(|entry| entry.name().to_owned()).collect()
}

fn description(registry: &Registry, name: &str) -> Option<String> {
    registry.snapshot().definition(name).map(|definition| definition.description.clone())
}

#[test]
fn same_named_tools_of_two_providers_are_both_visible() {
    let registry = Registry::new();
    registry.register_from("a", named("find", "A's.")).unwrap();
    assert_eq!(names(&registry), ["find"]);
    registry.register_from("b", named("find", "B's.")).unwrap();
    assert_eq!(names(&registry), ["a__find", "b__find"]);
    registry.register(named("find", "Ours.")).unwrap();
    assert_eq!(names(&registry), ["a__find", "b__find", "find"]);
    assert_eq!(description(&registry, "find").unwrap(), "Ours.");
    assert_eq!(names(&registry.only(["find"])), ["a__find", "b__find", "find"]);
    assert_eq!(names(&registry.only_from(["b"])), ["b__find"]);
    assert_eq!(registry.snapshot().providers(), ["a", "b"]);

    // The replacement only affects the provider itself.
    let old = registry.register_from("a", named("find", "A's new.")).unwrap().unwrap();
    assert_eq!(old.definition().description, "A's.");
    assert_eq!(description(&registry, "a__find").unwrap(), "A's new.");

    let b = registry.unregister_provider("b");
    assert_eq!((b.len(), names(&registry)), (1, vec!["a__find".into(), "find".into()]));
    registry.unregister("find");
    assert_eq!(names(&registry), ["find"]);
    registry.restore(b).unwrap();
    assert_eq!(names(&registry), ["a__find", "b__find"]);
}

#[test]
fn view_contains_tools_that_are_registered_later() {
    let registry = Registry::new();
    let view = registry.without(["secret"]).filter(|entry| entry.name().len() < 8);
    registry
        .register_all(
            ["plain", "secret", "much_too_long"]
                .map(|name| named(name, "It."))
                .into_iter()
                .collect(),
        )
        .unwrap();
    assert_eq!(names(&view), ["plain"]);
    assert!(view.snapshot().get("secret").is_none());
    // A view can only remove the tools that it contains.
    assert!(view.unregister("secret").is_none());
    assert!(registry.snapshot().get("secret").is_some());
    assert!(view.snapshot().nearest("secre").is_empty());
}

/// Is there by day.
#[tool(available = is_day)]
async fn sunbathe() {}

static DAY: AtomicBool = AtomicBool::new(false);

fn is_day() -> Availability {
    if DAY.load(Ordering::Relaxed) {
        Availability::Available
    } else {
        Availability::Unavailable("it is dark".into())
    }
}

/// Wraps what isn't there.
#[tool(cli = "no-program-of-this-name")]
async fn wrapped() {}

/// Is there.
#[tool]
async fn always() {}

#[test]
fn availability_is_queried_for_each_snapshot() {
    let registry = Registry::try_from(tools![sunbathe, wrapped, always]).unwrap();
    let snapshot = registry.snapshot();
    let offered =
        || -> Vec<_> { snapshot.definitions().iter().map(|tool| tool.name.clone()).collect() };
    assert_eq!(offered(), ["always"]);
    assert_eq!(snapshot.all_definitions().len(), 3);
    let states = snapshot.check_availability();
    let available: Vec<_> = states
        .iter()
        .map(|(entry, availability)| (entry.name(), availability.is_available()))
        .collect();
    assert_eq!(available, [("always", true), ("sunbathe", false), ("wrapped", false)]);
    assert_eq!(states[1].1, Availability::Unavailable("it is dark".into()));
    assert_eq!(states[1].0.definition().description, "Is there by day.");
    DAY.store(true, Ordering::Relaxed);
    assert_eq!(offered(), ["always", "sunbathe"]);
}

#[test]
fn changed_description_appears_in_the_next_snapshot() {
    let store = MemoryDescriptions::default();
    let registry = Registry::new().descriptions(store.clone());
    registry.register(named("find", "Finds.")).unwrap();
    let before = registry.snapshot();
    assert_eq!(store.set("find", "Finds places."), 1);
    assert_eq!(description(&registry, "find").unwrap(), "Finds places.");
    assert_eq!(before.definition("find").unwrap().description, "Finds.");

    // An invalid description is ignored.
    store.set("find", " ");
    assert_eq!(description(&registry, "find").unwrap(), "Finds.");
    store.set("find", "\u{7}".to_owned());
    assert_eq!(description(&registry, "find").unwrap(), "Finds.");
    store.clear();
    assert_eq!((store.version(), description(&registry, "find").unwrap()), (4, "Finds.".into()));
}

#[tokio::test]
async fn disabled_tool_is_refused_like_a_tool_outside_the_view() {
    let registry = Registry::new();
    registry.register_all([named("a", "A."), named("b", "B.")].into_iter().collect()).unwrap();
    let call = || vec![ToolCall::new("1", "a", "{}")];
    let view = Dispatcher::new(registry.without(["a"]));
    let refusal = view.dispatch(call()).await.remove(0).result;
    assert_eq!(refusal.text, "There is no tool named `a`. The tools are `b`.");

    assert!(registry.prefer("a", ToolPreference::default().disabled()).unwrap());
    let dispatcher = Dispatcher::new(registry.clone());
    assert_eq!(dispatcher.dispatch(call()).await.remove(0).result, refusal);
    let snapshot = registry.snapshot();
    assert_eq!(names(&registry), ["b"]);
    assert!(snapshot.entry("a").is_none() && snapshot.definitions().len() == 1);
    let disabled: Vec<_> = snapshot.disabled_entries().map(|entry| entry.name()).collect();
    assert_eq!(disabled, ["a"]);
    assert_eq!(registry.without(["a"]).snapshot().disabled_entries().count(), 0);

    // It can be enabled again, and a disabled tool can be unregistered.
    assert!(registry.prefer("a", ToolPreference::default()).unwrap());
    assert_eq!(dispatcher.dispatch(call()).await.remove(0).result.text, "A.");
    assert!(registry.prefer("a", ToolPreference::default().disabled()).unwrap());
    assert!(registry.unregister("a").is_some());
}

#[tokio::test]
async fn disabled_tool_of_an_agent_is_neither_offered_nor_run() {
    let registry = Registry::new();
    registry.register_all([named("a", "A."), named("b", "B.")].into_iter().collect()).unwrap();
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("a", "{}")).expect_tools(["a", "b"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("A."),
    ]);
    let agent = Agent::new(model, registry.clone());
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");

    registry.prefer("a", ToolPreference::default().always().disabled()).unwrap();
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("a", "{}")).expect_tools(["b"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("There is no tool named `a`."),
    ]);
    assert_eq!(Agent::new(model, registry).run("Go").await.unwrap().text, "Done.");
}

#[tokio::test]
async fn hidden_tool_is_not_offered_and_its_calls_run() {
    let registry = Registry::new();
    registry.register_all([named("a", "A."), named("b", "B.")].into_iter().collect()).unwrap();
    registry.prefer("a", ToolPreference::default().hidden()).unwrap();
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("a", "{}")).expect_tools(["b"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("A."),
    ]);
    assert_eq!(Agent::new(model, registry).run("Go").await.unwrap().text, "Done.");
}

#[test]
fn stored_preference_keeps_its_form() {
    let plain = serde_json::to_value(ToolPreference::default()).unwrap();
    assert_eq!(plain, json!({ "enabled": true, "weight": 1.0 }));
    let disabled: ToolPreference = serde_json::from_value(json!({ "enabled": false })).unwrap();
    assert_eq!(disabled, ToolPreference::default().disabled());
    let hidden = ToolPreference::default().hidden();
    assert!(!hidden.is_selectable() && !disabled.is_selectable());
    let stored = serde_json::to_value(&hidden).unwrap();
    assert_eq!(stored, json!({ "enabled": true, "hidden": true, "weight": 1.0 }));
    assert_eq!(serde_json::from_value::<ToolPreference>(stored).unwrap(), hidden);
}

#[test]
fn preference_survives_reregistration() {
    let registry = Registry::new();
    registry.register_all([named("a", "A."), named("b", "B.")].into_iter().collect()).unwrap();
    let heavy = || ToolPreference::default().weight(2.0);
    let weight = |name: &str| registry.snapshot().definition(name).unwrap().preference.weight;
    assert!(registry.prefer("a", heavy()).unwrap());
    assert!(!registry.prefer("c", heavy()).unwrap());
    let error = registry.prefer("a", ToolPreference::default().weight(f64::NAN)).unwrap_err();
    assert_eq!(error.to_string(), "weight of tool `a` is NaN, expected a finite number");
    registry.register(named("c", "C.")).unwrap();
    assert_eq!(weight("a"), 2.0);

    // The preference stays when the provider reconnects or replaces the tool.
    registry.register_from("p", named("d", "D.")).unwrap();
    assert!(registry.prefer("d", ToolPreference::default().hidden()).unwrap());
    let _ = registry.unregister_provider("p");
    registry.register_from("p", named("d", "D's new.")).unwrap();
    assert!(registry.snapshot().definition("d").unwrap().preference.hidden);
    registry.register_from("q", named("d", "Q's.")).unwrap();
    assert!(registry.snapshot().definition("p__d").unwrap().preference.hidden);
    assert!(!registry.snapshot().definition("q__d").unwrap().preference.hidden);

    // A view only changes the tools that it contains.
    let view = registry.without(["b"]);
    assert!(!view.prefer("b", heavy()).unwrap());
    assert_eq!(weight("b"), 1.0);
    let withdrawn = registry.without(["p__d"]).unregister_provider("p");
    assert!(withdrawn.is_empty() && registry.snapshot().get("p__d").is_some());
}

#[test]
fn oversized_and_invisible_definitions_are_rejected() {
    // Built by hand, because `json!` would clone the content recursively.
    let object = |members: Vec<(&str, Value)>| {
        Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    };
    let nested = |levels: usize| {
        (0..levels).fold(json!({ "type": "object" }), |inside, _| {
            object(vec![("type", "object".into()), ("properties", object(vec![("a", inside)]))])
        })
    };
    let plain = || json!({ "type": "object" });
    let self_reference = json!({ "type": "object", "properties": { "a": { "$ref": "#" } } });
    let wide: serde_json::Map<_, _> =
        (0..60_000).map(|n| (format!("member_{n}"), json!({}))).collect();
    for (tool, fits) in [
        (with_schema("fits", "It.\n\tIndeed.", nested(40)), true),
        (with_schema("recursive", "It.", self_reference), true),
        (named("control", "It\u{1b}[2Jhides."), false),
        (named("long", &"word ".repeat(200_000)), false),
        (wrapping("git"), true),
        (wrapping(&"git".repeat(100_000)), false),
        (wrapping("git\n\u{1b}[2J"), false),
        (of_kind(ToolKind::Remote("tickets".into())), true),
        (of_kind(ToolKind::Remote("\u{1b}[2J".into())), false),
        (named("line\nbreak", "It."), false),
        (named(&"n".repeat(1 << 20), "It."), false),
        (with_schema("deep", "It.", nested(10_000)), false),
        (with_schema("wide", "It.", json!({ "type": "object", "properties": wide })), false),
        (
            with_schema(
                "text",
                "It.",
                json!({ "type": "object", "description": "x".repeat(1 << 20) }),
            ),
            false,
        ),
        (with_schema("plain", "It.", plain()), true),
    ] {
        let name: String = tool.definition().name.chars().take(20).collect();
        let registered = Registry::new().register(tool);
        assert_eq!(registered.is_ok(), fits, "{name}");
        if let Err(error) = registered {
            assert!(error.to_string().len() < 300, "{error}");
        }
    }
}

/// Definitions do not change while other tools are added and removed.
#[test]
fn definitions_are_byte_identical_across_threads() {
    let registry = Registry::new();
    let stable: Tools = (0..50).map(|n| named(&format!("kept_{n:02}"), "Stays.")).collect();
    registry.register_all(stable).unwrap();
    let view = registry.filter(|entry| entry.own_name().starts_with("kept"));
    let bytes = |registry: &Registry| {
        let snapshot = registry.snapshot();
        serde_json::to_string(&snapshot.definitions()).unwrap()
    };
    let expected = bytes(&view);
    thread::scope(|threads| {
        for writer in 0..2 {
            let registry = &registry;
            threads.spawn(move || {
                for n in 0..200 {
                    registry
                        .register(named(&format!("passing_{writer}_{}", n % 7), "Goes."))
                        .unwrap();
                    registry.unregister(&format!("passing_{writer}_{}", (n + 3) % 7));
                }
            });
        }
        for _ in 0..4 {
            threads.spawn(|| (0..200).for_each(|_| assert_eq!(bytes(&view), expected)));
        }
    });
}

/// Installs a tool named `fresh`.
#[tool(effect = "write")]
async fn install(ctx: &ToolContext) -> Result<(), ToolError> {
    let registry: &Registry = ctx.get().ok_or("no registry")?;
    registry.register_from("installed", named("fresh", "Came in mid-run."))?;
    Ok(())
}

#[tokio::test]
async fn tool_registered_during_a_run_is_callable_on_the_next_turn() {
    let registry = Registry::try_from(tools![install]).unwrap();
    let model = ScriptedModel::new([
        // The calls of a reply use the snapshot of its turn.
        ScriptedTurn::new(ChatReply::default().call("install", "{}").call("fresh", "{}"))
            .expect_tools(["install"]),
        ScriptedTurn::new(ChatReply::default().call("fresh", "{}"))
            .expect_tools(["install", "fresh"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("Came in mid-run."),
    ]);
    let agent = Agent::new(model, registry.clone()).extension(registry);
    let answer = agent.run("Install it and use it.").await.unwrap();
    let texts: Vec<_> = answer.transcript.iter().map(Message::text).collect();
    assert_eq!(texts.last().unwrap(), "Done.");
}

/// Removes `fresh` and all tools of `jira`.
#[tool(effect = "write")]
async fn clear(ctx: &ToolContext) -> Result<(), ToolError> {
    let registry: &Registry = ctx.get().ok_or("no registry")?;
    registry.unregister("fresh");
    drop(registry.unregister_provider("jira"));
    Ok(())
}

/// An unknown name gets suggestions instead.
#[tokio::test]
async fn tool_removed_during_a_run_is_unavailable() {
    let registry = Registry::try_from(tools![clear]).unwrap();
    registry.register(named("fresh", "Goes.")).unwrap();
    for (provider, tool) in [("jira", "find"), ("github", "issue"), ("jira", "issue")] {
        registry.register_from(provider, named(tool, "Goes.")).unwrap();
    }
    let names = ["fresh", "find", "jira__issue", "issue", "nobody", "clear"];
    let call = |reply: ChatReply, name: &&str| reply.call(*name, "{}");
    let model = ScriptedModel::new([
        ScriptedTurn::new(names.iter().fold(ChatReply::default(), call)),
        ScriptedTurn::new(names.iter().fold(ChatReply::default(), call))
            .expect_tools(["clear", "issue"]),
        ScriptedTurn::new(ChatReply::text("Done.")),
    ]);
    let agent = Agent::new(model, registry.clone()).extension(registry);
    let answer = agent.run("Clear up.").await.unwrap();
    let codes = answer.transcript.iter().filter_map(|message| match message {
        Message::Tool { results } => Some(results.iter().map(|it| it.error.as_deref())),
        _ => None,
    });
    let codes: Vec<Vec<_>> = codes.map(Iterator::collect).collect();
    let (removed, unknown) = (Some("TOOL_UNAVAILABLE"), Some("TOOL_NOT_FOUND"));
    assert_eq!(codes[0], [None, None, None, unknown, unknown, None]);
    assert_eq!(codes[1], [removed, removed, removed, None, unknown, None]);
}
