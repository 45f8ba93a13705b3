//! What models call tools, and what names mean when others come and go.

use tool_runtime::registry::{Selection, Selector};

use super::*;

fn register(registry: &Registry, provider: &str, own: &str) -> Result<(), RegistryError> {
    let tool = named(own, &format!("By {provider}."));
    if provider.is_empty() {
        registry.register(tool).map(drop)
    } else {
        registry.register_from(provider, tool).map(drop)
    }
}

fn holding(tools: &[(&str, &str)]) -> Registry {
    let registry = Registry::new();
    for (provider, own) in tools {
        register(&registry, provider, own).unwrap();
    }
    registry
}

#[test]
fn whatever_goes_the_others_keep_names_of_their_own() {
    let all = [("r", "x__y"), ("s", "x__y"), ("x", "y"), ("z", "y"), ("", "y")];
    for (provider, _) in all {
        let registry = holding(&all);
        let wanted = ["r__x__y", "s__x__y", "x__y", "y", "z__y"];
        assert_eq!(names(&registry), wanted);
        let removed = if provider.is_empty() {
            registry.unregister("y").into_iter().count()
        } else {
            registry.withdraw(provider).len()
        };
        assert_eq!(removed, 1, "{provider}");
        let kept: Vec<_> = all.into_iter().filter(|(of, _)| *of != provider).collect();
        assert_eq!(names(&registry), names(&holding(&kept)), "{provider}");
        assert_eq!(names(&registry).len(), 4);
    }
    let registry = holding(&all);
    for (name, is_there) in [("s__x__y", true), ("s__x__y", false), ("z__y", true), ("y", true)] {
        assert_eq!(registry.unregister(name).is_some(), is_there, "{name}");
    }
    // The one that is left has the short name; the one that reads like another's never has.
    assert_eq!(names(&registry), ["r__x__y", "y"]);
    assert!(Arc::ptr_eq(
        registry.snapshot().get("x__y").unwrap(),
        registry.snapshot().get("y").unwrap()
    ));
}

#[test]
fn no_provider_blocks_another_or_speaks_in_its_name() {
    let registry = holding(&[("evil", "bank__pay"), ("evil", "bank__log")]);
    assert_eq!(names(&registry), ["evil__bank__log", "evil__bank__pay"]);
    assert!(registry.snapshot().get("bank__pay").is_none());
    register(&registry, "bank", "pay").unwrap();
    register(&registry, "other", "pay").unwrap();
    assert_eq!(description(&registry, "bank__pay").unwrap(), "By bank.");
    // Nor by a rule that names the other's.
    assert_eq!(names(&registry.only(["bank__pay"])), ["bank__pay"]);
    assert!(!names(&registry.without(["bank__pay"])).contains(&"bank__pay".into()));
}

#[test]
fn what_would_be_called_the_same_is_refused_whoever_comes_first() {
    let taken = RegistryError::Taken { provider: "a".into(), name: "find".into() };
    let registry = holding(&[("", "a__find"), ("b", "find")]);
    assert_eq!(register(&registry, "a", "find").unwrap_err(), taken);
    assert_eq!(names(&registry), ["a__find", "find"]);
    let registry = holding(&[("a", "find"), ("b", "find")]);
    assert_eq!(register(&registry, "", "a__find").unwrap_err(), taken);

    // What comes back finds its place taken: nothing is changed, and it can come back later.
    let away = registry.withdraw("a");
    register(&registry, "", "a__find").unwrap();
    assert_eq!(registry.restore(away.clone()).unwrap_err(), taken);
    assert_eq!(names(&registry), ["a__find", "find"]);
    registry.unregister("a__find");
    // One that the provider has registered since makes way.
    registry.register_from("a", named("find", "Since.")).unwrap();
    registry.restore(away).unwrap();
    assert_eq!(description(&registry, "a__find").unwrap(), "By a.");
    assert_eq!(names(&registry), ["a__find", "b__find"]);
}

#[test]
fn an_error_tells_who_and_what_to_change() {
    let long = "n".repeat(128);
    let registry = holding(&[("", "a__find"), ("", &long)]);
    let twice = || [named("t", "T."), named("t", "T.")].into_iter().collect();
    for (error, told) in [
        (register(&registry, "a", "find").unwrap_err(), &["`find`", "`a`", "rename"][..]),
        (register(&registry, "a", &long).unwrap_err(), &["`a`", "128", "shorter name"]),
        (register(&registry, "a", " ").unwrap_err(), &["provider `a`", "` `"]),
        (register(&registry, "", " ").unwrap_err(), &["` `"]),
        (registry.register_all_from("a", twice()).unwrap_err(), &["`a__t`", "another provider"]),
        (registry.register_all(twice()).unwrap_err(), &["`t`", "#[tool(name"]),
        (register(&registry, "a__b", "x").unwrap_err(), &["`a__b`", "no `__`"]),
    ] {
        let text = error.to_string();
        assert!(told.iter().all(|part| text.contains(part)), "{text}");
        assert!(text.len() < 500, "{text}");
    }
    for provider in ["", "a b", "ä", &"p".repeat(33), "a_", "a__b", "__"] {
        let refused = registry.register_from(provider, named("x", "X.")).unwrap_err();
        assert!(matches!(refused, RegistryError::Provider { .. }), "{provider}");
    }
    assert_eq!(names(&registry).len(), 2);
}

#[test]
fn a_view_goes_on_meaning_the_tools_that_it_named() {
    let registry = holding(&[("a", "find"), ("a", "read")]);
    let (only, without) = (registry.only(["a__find"]), registry.without(["a__find"]));
    assert_eq!((names(&only), names(&without)), (vec!["find".into()], vec!["read".into()]));
    register(&registry, "b", "find").unwrap();
    assert_eq!(names(&only), ["a__find"]);
    assert_eq!(names(&without), ["b__find", "read"]);
    // Gone, the other one is called `find`, and is not taken for it.
    let _ = registry.withdraw("a");
    assert!(names(&only).is_empty());
    assert_eq!(names(&without), ["find"]);

    // A name alone means those of all providers, now and later.
    let without = registry.without(["find"]);
    register(&registry, "c", "find").unwrap();
    register(&registry, "", "find").unwrap();
    assert!(names(&without).is_empty());
}

/// Whatever a setting is, its name means the same tools, and whatever models call them by then.
#[test]
fn a_name_means_the_same_tools_in_every_setting() {
    let all = [("", "find"), ("a", "find"), ("b", "find"), ("a", "b__find"), ("c", "read")];
    let full = |(provider, own): (&str, &str)| match provider {
        "" => own.to_owned(),
        provider => format!("{provider}__{own}"),
    };
    for (name, meant) in [
        ("find", vec![("", "find"), ("a", "find"), ("b", "find")]),
        ("b__find", vec![("b", "find")]),
        ("a__b__find", vec![("a", "b__find")]),
        ("read", vec![("c", "read")]),
        ("c__read", vec![("c", "read")]),
        ("a", vec![]),
    ] {
        // With each of them alone, and with all.
        let alone = all.iter().map(std::slice::from_ref);
        for tools in alone.chain([all.as_slice()]) {
            let store = MemoryDescriptions::default();
            let registry = holding(tools).descriptions(store.clone());
            let told = |view: &Registry, is_meant: &dyn Fn(&ToolDefinition) -> bool| {
                let snapshot = view.snapshot();
                let meant = snapshot.entries().filter(|entry| is_meant(entry.definition()));
                let mut names: Vec<_> = meant.map(|entry| entry.full_name().to_owned()).collect();
                names.sort();
                names
            };
            let mut wanted: Vec<_> =
                meant.iter().filter(|it| tools.contains(it)).copied().map(full).collect();
            wanted.sort();
            let is_there = !wanted.is_empty();
            assert_eq!(told(&registry.only([name]), &|_| true), wanted, "only {name}");
            let mut left = told(&registry.without([name]), &|_| true);
            left.extend(wanted.clone());
            left.sort();
            assert_eq!(left, told(&registry, &|_| true), "without {name}");
            let hidden = ToolPreference::default().hidden();
            assert_eq!(registry.prefer(name, hidden).unwrap(), is_there, "{name}");
            assert_eq!(told(&registry, &|tool| tool.preference.hidden), wanted, "prefer {name}");
            store.set(name, "By the store.");
            let is_described = |tool: &ToolDefinition| tool.description == "By the store.";
            assert_eq!(told(&registry, &is_described), wanted, "describe {name}");
        }
    }
}

#[test]
fn a_description_goes_by_full_name_first() {
    let store = MemoryDescriptions::default();
    let registry = holding(&[("", "find"), ("a", "find")]).descriptions(store.clone());
    let told = |name| description(&registry, name).unwrap();
    store.set("find", "Of all.");
    assert_eq!([told("find"), told("a__find")], ["Of all.", "Of all."]);
    store.set("a__find", "A's.");
    assert_eq!([told("find"), told("a__find")], ["Of all.", "A's."]);
    registry.unregister("find");
    assert_eq!([told("find"), told("a__find")], ["A's.", "A's."]);
    register(&registry, "b", "find").unwrap();
    assert_eq!([told("a__find"), told("b__find")], ["A's.", "Of all."]);
    store.remove("a__find");
    store.remove("find");
    assert_eq!([told("a__find"), told("b__find")], ["By a.", "By b."]);
}

/// What names one tool means that which models call so, or whose full name it is.
#[test]
fn a_look_up_means_one_tool() {
    let registry = holding(&[("", "find"), ("a", "find"), ("b", "read")]);
    let told = |name| description(&registry, name);
    assert_eq!(told("find").unwrap(), "By .");
    assert_eq!(told("read"), told("b__read"));
    assert!(registry.unregister("find").is_some());
    assert_eq!(told("find").unwrap(), "By a.");
    register(&registry, "b", "find").unwrap();
    assert!(told("find").is_none() && registry.unregister("find").is_none());
    assert!(registry.unregister("b__find").is_some());
    assert_eq!(names(&registry), ["find", "read"]);
}

/// A shop.
struct Shop(&'static str);

#[tool]
impl Shop {
    /// Tells what it sells.
    #[tool(effect = "read")]
    async fn sells(&self) -> &'static str {
        self.0
    }

    /// Opens it.
    #[tool(effect = "write")]
    async fn open(&self) {}
}

#[tokio::test]
async fn toolboxes_of_one_kind_stand_beside_each_other() {
    let registry = Registry::try_from(tools![..Shop("bread")]).unwrap();
    let ours = registry.register_all(tools![..Shop("cake")]).unwrap();
    assert_eq!(ours.len(), 2, "both were displaced");
    registry.register_all_from("baker", tools![..Shop("rolls")]).unwrap();
    registry.register_all_from("butcher", tools![..Shop("ham")]).unwrap();
    registry.unregister("open");
    let called = ["baker__open", "baker__sells", "butcher__open", "butcher__sells", "sells"];
    assert_eq!(names(&registry), called);
    let snapshot = registry.snapshot();
    for (name, sold) in [("baker__sells", "rolls"), ("butcher__sells", "ham"), ("sells", "cake")] {
        let tool = snapshot.get(name).unwrap();
        let output = tool.call("{}".into(), &ToolContext::default()).await.unwrap();
        assert_eq!(output.as_text(), sold);
    }
    let _ = registry.withdraw("baker");
    assert_eq!(names(&registry), ["butcher__sells", "open", "sells"]);
}

/// Finds tools, and makes another provider's come.
#[tool(effect = "write")]
async fn look(ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let registry: &Registry = ctx.get().ok_or("no registry")?;
    registry.register_from("b", named("find", "By b."))?;
    // By the name that the model knew it by when it asked.
    let names = vec!["find".to_owned()];
    Ok(ToolOutput::text("Found.").with_effect(EffectRecord::ToolsFound { names }))
}

/// The search, and what was found.
struct Found;

impl Selector for Found {
    fn select<'a>(&self, selection: Selection<'a>) -> Vec<&'a ToolDefinition> {
        let tools = selection.tools.iter().copied();
        tools.filter(|tool| tool.name == "look" || selection.is_pulled_in(tool)).collect()
    }
}

#[tokio::test]
async fn what_was_pulled_in_stays_when_it_is_called_otherwise() {
    let registry = holding(&[("a", "find")]);
    registry.register_all(tools![look]).unwrap();
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("look", "{}")).expect_tools(["look"]),
        ScriptedTurn::new(ChatReply::default().call("look", "{}"))
            .expect_tools(["look", "a__find"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_tools(["look", "a__find"]),
    ]);
    let agent = Agent::new(model, registry.clone()).selector(Found).extension(registry);
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
}
