//! The names by which models call tools, and the meaning of names when tools change.

use tool_runtime::registry::{Selector, SelectorInput};

use super::*;

fn register(registry: &Registry, provider: &str, own_name: &str) -> Result<(), RegistryError> {
    let tool = named(own_name, &format!("By {provider}."));
    if provider.is_empty() {
        registry.register(tool).map(drop)
    } else {
        registry.register_from(provider, tool).map(drop)
    }
}

fn holding(tools: &[(&str, &str)]) -> Registry {
    let registry = Registry::new();
    for (provider, own_name) in tools {
        register(&registry, provider, own_name).unwrap();
    }
    registry
}

#[test]
fn names_stay_unique_when_tools_are_removed() {
    let all = [("r", "x__y"), ("s", "x__y"), ("x", "y"), ("z", "y"), ("", "y")];
    for (provider, _) in all {
        let registry = holding(&all);
        let expected = ["r__x__y", "s__x__y", "x__y", "y", "z__y"];
        assert_eq!(names(&registry), expected);
        let removed = if provider.is_empty() {
            registry.unregister("y").into_iter().count()
        } else {
            registry.unregister_provider(provider).len()
        };
        assert_eq!(removed, 1, "{provider}");
        let remaining: Vec<_> = all.into_iter().filter(|(of, _)| *of != provider).collect();
        assert_eq!(names(&registry), names(&holding(&remaining)), "{provider}");
        assert_eq!(names(&registry).len(), 4);
    }
    let registry = holding(&all);
    for (name, expected) in [("s__x__y", true), ("s__x__y", false), ("z__y", true), ("y", true)] {
        assert_eq!(registry.unregister(name).is_some(), expected, "{name}");
    }
    // The remaining tool is called by its own name, unless that looks like a full name.
    assert_eq!(names(&registry), ["r__x__y", "y"]);
    assert!(Arc::ptr_eq(
        registry.snapshot().get("x__y").unwrap(),
        registry.snapshot().get("y").unwrap()
    ));
}

#[test]
fn provider_can_not_claim_names_of_another_provider() {
    let registry = holding(&[("evil", "bank__pay"), ("evil", "bank__log")]);
    assert_eq!(names(&registry), ["evil__bank__log", "evil__bank__pay"]);
    assert!(registry.snapshot().get("bank__pay").is_none());
    register(&registry, "bank", "pay").unwrap();
    register(&registry, "other", "pay").unwrap();
    assert_eq!(description(&registry, "bank__pay").unwrap(), "By bank.");
    // Nor does a setting for the other name apply.
    assert_eq!(names(&registry.only(["bank__pay"])), ["bank__pay"]);
    assert!(!names(&registry.without(["bank__pay"])).contains(&"bank__pay".into()));
}

#[test]
fn name_conflict_is_rejected_in_any_order() {
    let conflict = RegistryError::NameConflict { provider: "a".into(), name: "find".into() };
    let registry = holding(&[("", "a__find"), ("b", "find")]);
    assert_eq!(register(&registry, "a", "find").unwrap_err(), conflict);
    assert_eq!(names(&registry), ["a__find", "find"]);
    let registry = holding(&[("a", "find"), ("b", "find")]);
    assert_eq!(register(&registry, "", "a__find").unwrap_err(), conflict);

    // The name is taken: nothing is changed, and the tools can be restored later.
    let withdrawn = registry.unregister_provider("a");
    register(&registry, "", "a__find").unwrap();
    assert_eq!(registry.restore(withdrawn.clone()).unwrap_err(), conflict);
    assert_eq!(names(&registry), ["a__find", "find"]);
    registry.unregister("a__find");
    // A tool that the provider has registered in the meantime is replaced.
    registry.register_from("a", named("find", "Since.")).unwrap();
    registry.restore(withdrawn).unwrap();
    assert_eq!(description(&registry, "a__find").unwrap(), "By a.");
    assert_eq!(names(&registry), ["a__find", "b__find"]);
}

#[test]
fn naming_error_names_provider_and_tool() {
    let long = "n".repeat(128);
    let registry = holding(&[("", "a__find"), ("", &long)]);
    let twice = || [named("t", "T."), named("t", "T.")].into_iter().collect();
    for (error, parts) in [
        (register(&registry, "a", "find").unwrap_err(), &["`find`", "`a`", "rename"][..]),
        (register(&registry, "a", &long).unwrap_err(), &["`a`", "128", "shorter name"]),
        (register(&registry, "a", " ").unwrap_err(), &["provider `a`", "` `"]),
        (register(&registry, "", " ").unwrap_err(), &["` `"]),
        (registry.register_all_from("a", twice()).unwrap_err(), &["`a__t`", "another provider"]),
        (registry.register_all(twice()).unwrap_err(), &["`t`", "#[tool(name"]),
        (register(&registry, "a__b", "x").unwrap_err(), &["`a__b`", "without `__`"]),
    ] {
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(text.len() < 500, "{text}");
    }
    for provider in ["", "a b", "ä", &"p".repeat(33), "a_", "a__b", "__"] {
        let error = registry.register_from(provider, named("x", "X.")).unwrap_err();
        assert!(matches!(error, RegistryError::ProviderName { .. }), "{provider}");
    }
    assert_eq!(names(&registry).len(), 2);
}

#[test]
fn view_keeps_its_meaning_when_tools_change() {
    let registry = holding(&[("a", "find"), ("a", "read")]);
    let (only, without) = (registry.only(["a__find"]), registry.without(["a__find"]));
    assert_eq!((names(&only), names(&without)), (vec!["find".into()], vec!["read".into()]));
    register(&registry, "b", "find").unwrap();
    assert_eq!(names(&only), ["a__find"]);
    assert_eq!(names(&without), ["b__find", "read"]);
    // After the removal the other one is called `find`, and the setting does not apply to it.
    let _ = registry.unregister_provider("a");
    assert!(names(&only).is_empty());
    assert_eq!(names(&without), ["find"]);

    // An own name applies to all providers, now and later.
    let without = registry.without(["find"]);
    register(&registry, "c", "find").unwrap();
    register(&registry, "", "find").unwrap();
    assert!(names(&without).is_empty());
}

/// The meaning is the same in every setting and does not depend on the names that models use.
#[test]
fn name_selects_the_same_tools_in_every_setting() {
    let all = [("", "find"), ("a", "find"), ("b", "find"), ("a", "b__find"), ("c", "read")];
    let full = |(provider, own_name): (&str, &str)| match provider {
        "" => own_name.to_owned(),
        provider => format!("{provider}__{own_name}"),
    };
    for (name, expected) in [
        ("find", vec![("", "find"), ("a", "find"), ("b", "find")]),
        ("b__find", vec![("b", "find")]),
        ("a__b__find", vec![("a", "b__find")]),
        ("read", vec![("c", "read")]),
        ("c__read", vec![("c", "read")]),
        ("a", vec![]),
    ] {
        // With each tool alone, and with all of them.
        let single_tools = all.iter().map(std::slice::from_ref);
        for tools in single_tools.chain([all.as_slice()]) {
            let store = MemoryDescriptions::default();
            let registry = holding(tools).descriptions(store.clone());
            let full_names = |view: &Registry, predicate: &dyn Fn(&ToolDefinition) -> bool| {
                let snapshot = view.snapshot();
                let entries = snapshot.entries().filter(|entry| predicate(entry.definition()));
                let mut names: Vec<_> = entries.map(|entry| entry.full_name().to_owned()).collect();
                names.sort();
                names
            };
            let mut expected: Vec<_> =
                expected.iter().filter(|it| tools.contains(it)).copied().map(full).collect();
            expected.sort();
            let is_selected = !expected.is_empty();
            assert_eq!(full_names(&registry.only([name]), &|_| true), expected, "only {name}");
            let mut left = full_names(&registry.without([name]), &|_| true);
            left.extend(expected.clone());
            left.sort();
            assert_eq!(left, full_names(&registry, &|_| true), "without {name}");
            let hidden = ToolPreference::default().hidden();
            assert_eq!(registry.prefer(name, hidden).unwrap(), is_selected, "{name}");
            assert_eq!(
                full_names(&registry, &|tool| tool.preference.hidden),
                expected,
                "prefer {name}"
            );
            store.set(name, "By the store.");
            let is_described = |tool: &ToolDefinition| tool.description == "By the store.";
            assert_eq!(full_names(&registry, &is_described), expected, "describe {name}");
        }
    }
}

#[test]
fn description_of_full_name_takes_precedence() {
    let store = MemoryDescriptions::default();
    let registry = holding(&[("", "find"), ("a", "find")]).descriptions(store.clone());
    let description_of = |name| description(&registry, name).unwrap();
    store.set("find", "Of all.");
    assert_eq!([description_of("find"), description_of("a__find")], ["Of all.", "Of all."]);
    store.set("a__find", "A's.");
    assert_eq!([description_of("find"), description_of("a__find")], ["Of all.", "A's."]);
    registry.unregister("find");
    assert_eq!([description_of("find"), description_of("a__find")], ["A's.", "A's."]);
    register(&registry, "b", "find").unwrap();
    assert_eq!([description_of("a__find"), description_of("b__find")], ["A's.", "Of all."]);
    store.remove("a__find");
    store.remove("find");
    assert_eq!([description_of("a__find"), description_of("b__find")], ["By a.", "By b."]);
}

#[test]
fn always_prefixed_tools_do_not_rename_others() {
    let find = || -> Tools { [named("find", "Prefixed.")].into_iter().collect() };
    let registry = Registry::new();
    registry.register_all_from("a", find().always_prefixed()).unwrap();
    assert_eq!(names(&registry), ["a__find"]);
    assert!(registry.snapshot().get("find").is_none() && registry.unregister("find").is_none());
    assert_eq!(registry.snapshot().nearest("find"), ["a__find"]);
    // Another tool keeps its own name, wherever its provider is in the order.
    for provider in ["0", "z", ""] {
        register(&registry, provider, "find").unwrap();
        assert_eq!(names(&registry), ["a__find", "find"], "{provider}");
        assert_eq!(description(&registry, "find").unwrap(), format!("By {provider}."));
        let removed = registry.unregister("find").unwrap();
        assert_eq!(removed.definition().description, format!("By {provider}."));
    }
    // Two others rename each other.
    register(&registry, "y", "find").unwrap();
    register(&registry, "z", "find").unwrap();
    assert_eq!(names(&registry), ["a__find", "y__find", "z__find"]);
    // A setting for the own name applies to it.
    assert!(names(&registry.without(["find"])).is_empty());
    // The tool keeps its name when it is restored, and loses it when it is registered without.
    let removed = registry.unregister_provider("a");
    registry.restore(removed).unwrap();
    drop((registry.unregister_provider("y"), registry.unregister_provider("z")));
    assert_eq!(names(&registry), ["a__find"]);
    register(&registry, "a", "find").unwrap();
    assert_eq!(names(&registry), ["find"]);
    // Without a provider there is no prefix.
    assert_eq!(names(&Registry::try_from(find().always_prefixed()).unwrap()), ["find"]);
}

/// A lookup finds the tool that models call by the name, or the one with that full name.
#[test]
fn lookup_finds_at_most_one_tool() {
    let registry = holding(&[("", "find"), ("a", "find"), ("b", "read")]);
    let description_of = |name| description(&registry, name);
    assert_eq!(description_of("find").unwrap(), "By .");
    assert_eq!(description_of("read"), description_of("b__read"));
    assert!(registry.unregister("find").is_some());
    assert_eq!(description_of("find").unwrap(), "By a.");
    register(&registry, "b", "find").unwrap();
    assert!(description_of("find").is_none() && registry.unregister("find").is_none());
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
async fn two_toolboxes_of_one_type_can_be_registered() {
    let registry = Registry::try_from(tools![..Shop("bread")]).unwrap();
    let registered = registry.register_all(tools![..Shop("cake")]).unwrap();
    assert_eq!(registered.len(), 2, "both were displaced");
    registry.register_all_from("baker", tools![..Shop("rolls")]).unwrap();
    registry.register_all_from("butcher", tools![..Shop("ham")]).unwrap();
    registry.unregister("open");
    let expected = ["baker__open", "baker__sells", "butcher__open", "butcher__sells", "sells"];
    assert_eq!(names(&registry), expected);
    let snapshot = registry.snapshot();
    for (name, sold) in [("baker__sells", "rolls"), ("butcher__sells", "ham"), ("sells", "cake")] {
        let tool = snapshot.get(name).unwrap();
        let output = tool.call("{}".into(), &ToolContext::default()).await.unwrap();
        assert_eq!(output.as_text(), sold);
    }
    let _ = registry.unregister_provider("baker");
    assert_eq!(names(&registry), ["butcher__sells", "open", "sells"]);
}

/// Finds tools, and registers a tool of another provider.
#[tool(effect = "write")]
async fn look(ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let registry: &Registry = ctx.get().ok_or("no registry")?;
    registry.register_from("b", named("find", "By b."))?;
    // The name that the model knew when it searched.
    let names = vec!["find".to_owned()];
    Ok(ToolOutput::text("Found.").with_effect(EffectRecord::ToolsFound { names }))
}

/// Selects the search and the discovered tools.
struct Found;

impl Selector for Found {
    fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition> {
        let tools = selection.tools.iter().copied();
        tools.filter(|tool| tool.name == "look" || selection.is_discovered(tool)).collect()
    }
}

#[tokio::test]
async fn discovered_tool_stays_offered_after_its_name_changes() {
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
