//! The registry: what is registered, what is seen of it, and under which names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use proptest::prelude::*;
use serde_json::{Value, json};
use tool_runtime::registry::{DescriptionStore, MemoryDescriptions, Withdrawn};
use tool_runtime::{
    Agent, Arguments, Availability, ChatReply, Message, Registry, RegistryError, ScriptedModel,
    ScriptedTurn, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, ToolPreference, Tools,
    async_trait, tool, tools,
};

/// A tool that is only looked at; its description tells two of one name apart.
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

fn names(registry: &Registry) -> Vec<String> {
    registry.snapshot().entries().map(|entry| entry.name().to_owned()).collect()
}

fn description(registry: &Registry, name: &str) -> Option<String> {
    registry.snapshot().definition(name).map(|definition| definition.description.clone())
}

#[test]
fn two_providers_tools_of_one_name_are_both_seen() {
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

    // Replaced under its provider, and nowhere else.
    let old = registry.register_from("a", named("find", "A's new.")).unwrap().unwrap();
    assert_eq!(old.definition().description, "A's.");
    assert_eq!(description(&registry, "a__find").unwrap(), "A's new.");

    let b: Withdrawn = registry.withdraw("b");
    assert_eq!((b.len(), names(&registry)), (1, vec!["a__find".into(), "find".into()]));
    registry.unregister("find");
    assert_eq!(names(&registry), ["find"]);
    registry.restore(b).unwrap();
    assert_eq!(names(&registry), ["a__find", "b__find"]);
}

#[test]
fn a_name_that_would_hide_another_is_refused() {
    let registry = Registry::new();
    registry.register(named("a__find", "Sits there.")).unwrap();
    registry.register_from("a", named("find", "A's.")).unwrap();
    let refused = registry.register_from("b", named("find", "B's.")).unwrap_err();
    assert!(matches!(refused, RegistryError::Duplicate { name } if name == "a__find"));
    assert_eq!(names(&registry), ["a__find", "find"]);

    let long = "n".repeat(128);
    registry.register_from("a", named(&long, "A's.")).unwrap();
    assert!(registry.register_from("b", named(&long, "B's.")).is_err());
    for provider in ["", "a b", "ä", &"p".repeat(33)] {
        let refused = registry.register_from(provider, named("x", "X.")).unwrap_err();
        assert!(matches!(refused, RegistryError::Provider { .. }), "{provider}");
    }
}

#[test]
fn a_view_sees_what_is_registered_later() {
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
    // What a view doesn't hold it can't take away.
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
fn availability_is_asked_each_time() {
    let registry = Registry::try_from(tools![sunbathe, wrapped, always]).unwrap();
    let snapshot = registry.snapshot();
    let offered =
        || -> Vec<_> { snapshot.definitions().iter().map(|tool| tool.name.clone()).collect() };
    assert_eq!(offered(), ["always"]);
    assert_eq!(snapshot.all_definitions().len(), 3);
    let states = snapshot.check_availability();
    let told: Vec<_> = states
        .iter()
        .map(|state| (state.name.as_str(), state.availability.is_available()))
        .collect();
    assert_eq!(told, [("always", true), ("sunbathe", false), ("wrapped", false)]);
    assert_eq!(states[1].availability, Availability::Unavailable("it is dark".into()));
    DAY.store(true, Ordering::Relaxed);
    assert_eq!(offered(), ["always", "sunbathe"]);
}

#[test]
fn descriptions_come_from_the_store_as_soon_as_it_moves() {
    let store = MemoryDescriptions::default();
    let registry = Registry::new().descriptions(store.clone());
    registry.register(named("find", "Finds.")).unwrap();
    let before = registry.snapshot();
    assert_eq!(store.set("find", "Finds places."), 1);
    assert_eq!(description(&registry, "find").unwrap(), "Finds places.");
    assert_eq!(before.definition("find").unwrap().description, "Finds.");

    // What can't be told holds nobody up.
    store.set("find", " ");
    assert_eq!(description(&registry, "find").unwrap(), "Finds.");
    store.set("find", "\u{7}".to_owned());
    assert_eq!(description(&registry, "find").unwrap(), "Finds.");
    store.clear();
    assert_eq!((store.version(), description(&registry, "find").unwrap()), (4, "Finds.".into()));
}

#[test]
fn preferences_stay_when_others_come() {
    let registry = Registry::new();
    registry.register_all([named("a", "A."), named("b", "B.")].into_iter().collect()).unwrap();
    assert!(registry.prefer("a", ToolPreference::default().weight(2.0)));
    assert!(!registry.prefer("c", ToolPreference::default()));
    registry.register(named("c", "C.")).unwrap();
    assert_eq!(registry.snapshot().definition("a").unwrap().preference.weight, 2.0);
}

#[test]
fn hostile_definitions_are_refused() {
    // By hand: `json!` would copy what is inside, and go as deep to do so.
    let object = |members: Vec<(&str, Value)>| {
        Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    };
    let nested = |levels: usize| {
        (0..levels).fold(json!({ "type": "object" }), |inside, _| {
            object(vec![("type", "object".into()), ("properties", object(vec![("a", inside)]))])
        })
    };
    let plain = || json!({ "type": "object" });
    let itself = json!({ "type": "object", "properties": { "a": { "$ref": "#" } } });
    let wide: serde_json::Map<_, _> =
        (0..60_000).map(|n| (format!("member_{n}"), json!({}))).collect();
    for (tool, fits) in [
        (with_schema("fits", "It.\n\tIndeed.", nested(40)), true),
        (with_schema("recursive", "It.", itself), true),
        (named("control", "It\u{1b}[2Jhides."), false),
        (named("long", &"word ".repeat(200_000)), false),
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

/// What a definition says is the same bytes on every turn, whatever comes and goes beside it.
#[test]
fn definitions_are_the_same_bytes_from_all_threads() {
    let registry = Registry::new();
    let kept: Tools = (0..50).map(|n| named(&format!("kept_{n:02}"), "Stays.")).collect();
    registry.register_all(kept).unwrap();
    let view = registry.filter(|entry| entry.own_name().starts_with("kept"));
    let bytes = |registry: &Registry| {
        let snapshot = registry.snapshot();
        serde_json::to_string(&snapshot.definitions()).unwrap()
    };
    let wanted = bytes(&view);
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
            threads.spawn(|| (0..200).for_each(|_| assert_eq!(bytes(&view), wanted)));
        }
    });
}

/// What may be done to a registry.
#[derive(Clone, Debug)]
enum Change {
    Register(Option<&'static str>, &'static str, u8),
    Unregister(&'static str),
    Withdraw(&'static str),
    Restore,
    Describe(&'static str, u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let provider = || prop_oneof![Just("p"), Just("q")];
    let name = || prop_oneof![Just("a"), Just("b"), Just("c")];
    let change = prop_oneof![
        4 => (prop::option::of(provider()), name(), any::<u8>())
            .prop_map(|(provider, name, mark)| Change::Register(provider, name, mark)),
        2 => name().prop_map(Change::Unregister),
        1 => provider().prop_map(Change::Withdraw),
        1 => Just(Change::Restore),
        1 => (prop_oneof![name(), Just("p__a"), Just("q__b")], any::<u8>())
            .prop_map(|(name, mark)| Change::Describe(name, mark)),
    ];
    prop::collection::vec(change, 0..40)
}

/// A registry as a plain map: from where a tool stands to what it says.
type Plain = BTreeMap<(Option<&'static str>, &'static str), u8>;

fn shown(plain: &Plain, described: &BTreeMap<&str, u8>) -> BTreeMap<String, String> {
    let bearers = |name: &str| plain.keys().filter(|(_, other)| *other == name).count();
    let shown = plain.iter().map(|((provider, name), original)| {
        let shown = match provider {
            Some(provider) if bearers(name) > 1 => format!("{provider}__{name}"),
            _ => (*name).to_owned(),
        };
        let full = provider.map(|provider| format!("{provider}__{name}"));
        let mark =
            full.and_then(|full| described.get(full.as_str())).or(described.get(shown.as_str()));
        let mark = mark.unwrap_or(original);
        (shown, format!("Number {mark}."))
    });
    shown.collect()
}

proptest! {
    #[test]
    fn a_registry_is_a_map(changes in changes()) {
        let store = MemoryDescriptions::default();
        let registry = Registry::new().descriptions(store.clone());
        let (mut plain, mut described) = (Plain::new(), BTreeMap::new());
        let mut away: Option<(Withdrawn, Plain)> = None;
        let mut snapshots = Vec::new();
        for change in changes {
            match change {
                Change::Register(provider, name, mark) => {
                    let tool = named(name, &format!("Number {mark}."));
                    let displaced = match provider {
                        None => registry.register(tool),
                        Some(provider) => registry.register_from(provider, tool),
                    };
                    let before = plain.insert((provider, name), mark);
                    let displaced = displaced.unwrap().map(|tool| tool.definition().description.clone());
                    prop_assert_eq!(displaced, before.map(|mark| format!("Number {mark}.")));
                }
                Change::Unregister(name) => {
                    let bearers: Vec<_> = plain.keys().filter(|(_, other)| *other == name).copied().collect();
                    let taken = bearers.iter().find(|(provider, _)| provider.is_none() || bearers.len() == 1);
                    prop_assert_eq!(registry.unregister(name).is_some(), taken.is_some());
                    taken.map(|place| plain.remove(place));
                }
                Change::Withdraw(provider) => {
                    let (gone, kept) = plain.into_iter().partition(|((of, _), _)| *of == Some(provider));
                    plain = kept;
                    away = Some((registry.withdraw(provider), gone));
                }
                Change::Restore => if let Some((withdrawn, gone)) = away.take() {
                    registry.restore(withdrawn).unwrap();
                    plain.extend(gone);
                },
                Change::Describe(name, mark) => {
                    store.set(name, format!("Number {mark}."));
                    described.insert(name, mark);
                }
            }
            snapshots.push((registry.snapshot(), shown(&plain, &described)));
        }
        // Each snapshot still shows what there was when it was taken.
        for (snapshot, wanted) in snapshots {
            let said = snapshot.entries().map(|entry| {
                let definition = entry.definition();
                assert_eq!(snapshot.get(entry.name()).unwrap().definition().name, entry.own_name());
                (definition.name.clone(), definition.description.clone())
            });
            prop_assert_eq!(said.collect::<BTreeMap<_, _>>(), wanted);
        }
    }
}

/// Installs a tool named `fresh`.
#[tool(effect = "write")]
async fn install(ctx: &ToolContext) -> Result<(), ToolError> {
    let registry: &Registry = ctx.get().ok_or("no registry")?;
    registry.register_from("installed", named("fresh", "Came in mid-run."))?;
    Ok(())
}

#[tokio::test]
async fn what_is_registered_in_mid_run_is_callable_on_the_next_turn() {
    let registry = Registry::try_from(tools![install]).unwrap();
    let model = ScriptedModel::new([
        // One reply is held to what it was offered.
        ScriptedTurn::new(ChatReply::default().call("install", "{}").call("fresh", "{}"))
            .expect_tools(["install"]),
        ScriptedTurn::new(ChatReply::default().call("fresh", "{}"))
            .expect_tools(["install", "fresh"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("Came in mid-run."),
    ]);
    let agent = Agent::new(model, registry.clone()).extension(registry);
    let answer = agent.run("Install it and use it.").await.unwrap();
    let said: Vec<_> = answer.transcript.iter().map(Message::text).collect();
    assert_eq!(said.last().unwrap(), "Done.");
}
