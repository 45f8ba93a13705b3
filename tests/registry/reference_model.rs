//! Compares a registry with a model: a map from provider and own name to the description.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tool_runtime::registry::Entry;

use super::*;

type Removed = Vec<Arc<Entry>>;

/// The key of a tool: its provider and its own name.
type Key = (Option<&'static str>, &'static str);

/// The operations of a registry.
#[derive(Clone, Debug)]
enum Change {
    Register(Key, u8),
    RegisterAll(Option<&'static str>, Vec<(&'static str, u8)>, bool),
    /// Replaces the tools of a provider.
    ReplaceAll(&'static str, Vec<(&'static str, u8)>, bool),
    /// The same with the valid tools of the list only.
    ReplaceValid(&'static str, Vec<(&'static str, u8)>),
    Unregister(&'static str),
    /// Uses a view without the tools of this name.
    Withdraw(&'static str, &'static str),
    Restore,
    Describe(&'static str, u8),
    /// Uses the same view.
    Prefer(&'static str, u8, &'static str),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let provider = || prop_oneof![Just("p"), Just("q"), Just("q_r")];
    let own_name =
        || prop::sample::select(vec!["a", "b", "p__a", "q__b", "_r__a", "a__b", "_", "__"]);
    let name = || {
        let full = ["p__b", "q__p__a", "p__p__a", "q_r__a", "p___", "p____"];
        prop_oneof![own_name(), prop::sample::select(full.to_vec())]
    };
    let key = (prop::option::of(provider()), own_name());
    let several = || prop::collection::vec((own_name(), any::<u8>()), 0..4);
    let change = prop_oneof![
        6 => (key, any::<u8>()).prop_map(|(key, mark)| Change::Register(key, mark)),
        1 => (prop::option::of(provider()), several(), any::<bool>())
            .prop_map(|(provider, tools, flag)| Change::RegisterAll(provider, tools, flag)),
        1 => (provider(), several(), any::<bool>())
            .prop_map(|(provider, tools, flag)| Change::ReplaceAll(provider, tools, flag)),
        1 => (provider(), several())
            .prop_map(|(provider, tools)| Change::ReplaceValid(provider, tools)),
        2 => name().prop_map(Change::Unregister),
        1 => (provider(), own_name()).prop_map(|(provider, hidden)| Change::Withdraw(provider, hidden)),
        1 => Just(Change::Restore),
        1 => (name(), any::<u8>()).prop_map(|(name, mark)| Change::Describe(name, mark)),
        1 => (name(), any::<u8>(), own_name())
            .prop_map(|(name, weight, hidden)| Change::Prefer(name, weight, hidden)),
    ];
    prop::collection::vec(change, 0..40)
}

/// A registered tool: the number in its description, and whether its name is always prefixed.
type Registered = (u8, bool);

#[derive(Clone, Default)]
struct Model {
    tools: BTreeMap<Key, Registered>,
    /// The preferences by full name.
    described: BTreeMap<&'static str, u8>,
    preferred: BTreeMap<String, u8>,
}

fn full((provider, own_name): Key) -> String {
    provider.map_or(own_name.to_owned(), |provider| format!("{provider}__{own_name}"))
}

fn has_name(key: Key, name: &str) -> bool {
    let is_plain = key.0.is_none() || !key.1.contains("__");
    full(key) == name || (is_plain && key.1 == name)
}

impl Model {
    /// Returns the name by which models call a tool.
    fn name_of(&self, key: Key) -> String {
        let is_prefixed = |key: &Key, (_, flag): &Registered| *flag && key.0.is_some();
        let bearers =
            self.tools.iter().filter(|(it, tool)| it.1 == key.1 && !is_prefixed(it, tool));
        let is_bare =
            bearers.count() == 1 && !key.1.contains("__") && !is_prefixed(&key, &self.tools[&key]);
        if is_bare { key.1.to_owned() } else { full(key) }
    }

    fn named(&self, name: &str) -> Option<Key> {
        let mut known = self.tools.keys().copied();
        known.find(|key| self.name_of(*key) == name || full(*key) == name)
    }

    /// Whether a conflicting tool prevents the registration.
    fn is_blocked(&self, key: Key) -> bool {
        let is_rival = |other: &Key| full(*other) == full(key) && other.0 != key.0;
        self.tools.keys().any(is_rival)
    }

    /// Removes the tools of a provider.
    fn without_provider(&self, provider: &str) -> Self {
        let mut rest = self.clone();
        rest.tools.retain(|key, _| key.0 != Some(provider));
        rest
    }

    fn contents(&self, is_visible: impl Fn(Key) -> bool) -> Vec<(String, String, f64)> {
        let visible = self.tools.iter().filter(|(key, _)| is_visible(**key));
        let contents = visible.map(|(key, (mark, _))| {
            let full = full(*key);
            let of_own = || self.described.get(key.1).filter(|_| has_name(*key, key.1));
            let mark = self.described.get(full.as_str()).or_else(of_own).unwrap_or(mark);
            let weight = self.preferred.get(&full).copied().map_or(1.0, f64::from);
            (self.name_of(*key), format!("Number {mark}."), weight)
        });
        let mut contents: Vec<_> = contents.collect();
        contents.sort_by(|a, b| a.0.cmp(&b.0));
        contents
    }
}

fn contents(snapshot: &Snapshot) -> Vec<(String, String, f64)> {
    let contents = snapshot.entries().map(|entry| {
        let definition = entry.definition();
        for name in [entry.name(), entry.full_name()] {
            assert!(Arc::ptr_eq(snapshot.get(name).unwrap(), entry.tool()), "{name}");
        }
        (definition.name.clone(), definition.description.clone(), definition.preference.weight)
    });
    contents.collect()
}

fn numbered(name: &str, mark: u8) -> Arc<dyn Tool> {
    named(name, &format!("Number {mark}."))
}

fn list(tools: &[(&str, u8)], is_prefixed: bool) -> Tools {
    let list: Tools = tools.iter().map(|(own_name, mark)| numbered(own_name, *mark)).collect();
    if is_prefixed { list.always_prefixed() } else { list }
}

fn marks(displaced: impl IntoIterator<Item = Arc<dyn Tool>>) -> Vec<String> {
    let mut marks: Vec<_> =
        displaced.into_iter().map(|tool| tool.definition().description.clone()).collect();
    marks.sort();
    marks
}

proptest! {
    #[test]
    fn registry_behaves_like_a_map(changes in changes()) {
        let store = MemoryDescriptions::default();
        let registry = Registry::new().descriptions(store.clone());
        let views = [
            registry.clone(),
            registry.only(["a", "p__a", "q__a__b"]),
            registry.without(["b", "p__a"]),
            registry.only_from(["p"]),
        ];
        let is_visible: [fn(Key) -> bool; 4] = [
            |_| true,
            |key| ["a", "p__a", "q__a__b"].iter().any(|name| has_name(key, name)),
            |key| !["b", "p__a"].iter().any(|name| has_name(key, name)),
            |key| key.0 == Some("p"),
        ];
        let mut model = Model::default();
        let mut withdrawal: Option<(Removed, BTreeMap<Key, Registered>)> = None;
        let mut snapshots = Vec::new();
        for change in changes {
            match change {
                Change::Register(key @ (provider, own_name), mark) => {
                    let tool = numbered(own_name, mark);
                    let displaced = match provider {
                        None => registry.register(tool),
                        Some(provider) => registry.register_from(provider, tool),
                    };
                    prop_assert_eq!(displaced.is_err(), model.is_blocked(key));
                    if let Ok(displaced) = displaced {
                        let before = model.tools.insert(key, (mark, false));
                        prop_assert_eq!(
                            marks(displaced),
                            before.map(|(mark, _)| format!("Number {mark}.")).into_iter().collect::<Vec<_>>()
                        );
                    }
                }
                Change::RegisterAll(provider, tools, is_prefixed) => {
                    let list = list(&tools, is_prefixed);
                    let displaced = match provider {
                        None => registry.register_all(list),
                        Some(provider) => registry.register_all_from(provider, list),
                    };
                    let names = tools.iter().map(|(own_name, _)| own_name).collect::<BTreeSet<_>>().len();
                    let is_blocked = tools.iter().any(|(own_name, _)| model.is_blocked((provider, own_name)));
                    prop_assert_eq!(displaced.is_err(), names < tools.len() || is_blocked);
                    if let Ok(displaced) = displaced {
                        let before = tools
                            .iter()
                            .filter_map(|(own_name, mark)| {
                                model.tools.insert((provider, own_name), (*mark, is_prefixed))
                            });
                        let mut before: Vec<_> =
                            before.map(|(mark, _)| format!("Number {mark}.")).collect();
                        before.sort();
                        prop_assert_eq!(marks(displaced), before);
                    }
                }
                Change::ReplaceAll(provider, tools, is_prefixed) => {
                    let old = model.tools.keys().filter(|key| key.0 == Some(provider)).count();
                    let replaced = registry.replace_all_from(provider, list(&tools, is_prefixed));
                    let mut rest = model.without_provider(provider);
                    let names = tools.iter().map(|(own_name, _)| own_name).collect::<BTreeSet<_>>().len();
                    let is_blocked =
                        tools.iter().any(|(own_name, _)| rest.is_blocked((Some(provider), own_name)));
                    prop_assert_eq!(replaced.is_err(), names < tools.len() || is_blocked);
                    if let Ok(replaced) = replaced {
                        prop_assert_eq!(replaced.len(), old);
                        rest.tools.extend(tools.iter().map(|(own_name, mark)| {
                            ((Some(provider), *own_name), (*mark, is_prefixed))
                        }));
                        model = rest;
                    }
                }
                Change::ReplaceValid(provider, tools) => {
                    let report = registry.replace_valid_from(provider, list(&tools, false)).unwrap();
                    model = model.without_provider(provider);
                    let (mut skipped, mut registered) = (Vec::new(), Vec::new());
                    for (index, (own_name, mark)) in tools.into_iter().enumerate() {
                        let key = (Some(provider), own_name);
                        if model.is_blocked(key) || model.tools.contains_key(&key) {
                            skipped.push(index);
                        } else {
                            model.tools.insert(key, (mark, false));
                            registered.push(full(key));
                        }
                    }
                    prop_assert_eq!(report.registered, registered);
                    prop_assert!(report.skipped.iter().map(|tool| tool.index).eq(skipped));
                }
                Change::Unregister(name) => {
                    let found = model.named(name);
                    let removed = registry.unregister(name);
                    let mark = found.and_then(|key| model.tools.remove(&key));
                    let mark = mark.map(|(mark, _)| format!("Number {mark}."));
                    prop_assert_eq!(marks(removed), mark.into_iter().collect::<Vec<_>>());
                }
                Change::Withdraw(provider, hidden) => {
                    let (removed, remaining) = model.tools.into_iter().partition(|(key, _)| {
                        key.0 == Some(provider) && !has_name(*key, hidden)
                    });
                    model.tools = remaining;
                    let withdrawn = registry.without([hidden]).unregister_provider(provider);
                    prop_assert_eq!(withdrawn.len(), BTreeMap::len(&removed));
                    withdrawal = Some((withdrawn, removed));
                }
                Change::Restore => if let Some((withdrawn, removed)) = withdrawal.take() {
                    let is_blocked = removed.keys().any(|key| model.is_blocked(*key));
                    prop_assert_eq!(registry.restore(withdrawn).is_err(), is_blocked);
                    if !is_blocked {
                        model.tools.extend(removed);
                    }
                },
                Change::Describe(name, mark) => {
                    store.set(name, format!("Number {mark}."));
                    model.described.insert(name, mark);
                }
                Change::Prefer(name, weight, hidden) => {
                    let is_selected = |key: Key| has_name(key, name) && !has_name(key, hidden);
                    let selected: Vec<_> =
                        model.tools.keys().copied().filter(|key| is_selected(*key)).collect();
                    let preference = ToolPreference::default().weight(weight.into());
                    let is_callable = registry.without([hidden]).prefer(name, preference).unwrap();
                    prop_assert_eq!(is_callable, !selected.is_empty());
                    model.preferred.extend(selected.into_iter().map(|key| (full(key), weight)));
                }
            }
            for (view, is_visible) in views.iter().zip(is_visible) {
                snapshots.push((view.snapshot(), model.contents(is_visible)));
            }
        }
        // Earlier snapshots are unchanged.
        for (snapshot, expected) in snapshots {
            prop_assert_eq!(contents(&snapshot), expected);
        }
    }

    /// Names only depend on the registered tools, not on the history of changes.
    #[test]
    fn names_are_those_of_the_set(
        (places, others) in prop::collection::btree_set(
            (
                prop::option::of(prop::sample::select(vec!["p", "q", "x"])),
                prop::sample::select(vec!["a", "b", "x__a", "q__x__a", "y"]),
            ),
            0..12,
        )
        .prop_flat_map(|places| {
            let places: Vec<Key> = places.into_iter().collect();
            (Just(places.clone()).prop_shuffle(), Just(places).prop_shuffle())
        })
    ) {
        let put = |registry: &Registry, (provider, own_name): Key| match provider {
            None => registry.register(named(own_name, "It.")).is_ok(),
            Some(provider) => registry.register_from(provider, named(own_name, "It.")).is_ok(),
        };
        let direct = Registry::new();
        let places: Vec<_> = places.into_iter().filter(|key| put(&direct, *key)).collect();
        // The same tools and others, in another order; the others are removed again.
        let detour = Registry::new();
        for key in others.into_iter().filter(|key| places.contains(key)) {
            prop_assert!(put(&detour, key));
            put(&detour, (Some("z"), key.1));
        }
        let _ = detour.unregister_provider("z");
        prop_assert_eq!(names(&direct), names(&detour));
        prop_assert_eq!(names(&direct).len(), places.len());
    }
}
