//! A registry beside a plain map: from where a tool stands to what it says.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// Where a tool stands: its provider and the name that it gave itself.
type Place = (Option<&'static str>, &'static str);

/// What may be done to a registry.
#[derive(Clone, Debug)]
enum Change {
    Register(Place, u8),
    RegisterAll(Option<&'static str>, Vec<(&'static str, u8)>),
    Unregister(&'static str),
    /// Through a view without the tools of this name.
    Withdraw(&'static str, &'static str),
    Restore,
    Describe(&'static str, u8),
    /// Through the same view.
    Prefer(&'static str, u8, &'static str),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let provider = || prop_oneof![Just("p"), Just("q"), Just("q_r")];
    let own = || prop::sample::select(vec!["a", "b", "p__a", "q__b", "_r__a", "a__b", "_", "__"]);
    let said = || {
        let full = ["p__b", "q__p__a", "p__p__a", "q_r__a", "p___", "p____"];
        prop_oneof![own(), prop::sample::select(full.to_vec())]
    };
    let place = (prop::option::of(provider()), own());
    let several = prop::collection::vec((own(), any::<u8>()), 0..4);
    let change = prop_oneof![
        6 => (place, any::<u8>()).prop_map(|(place, mark)| Change::Register(place, mark)),
        1 => (prop::option::of(provider()), several)
            .prop_map(|(provider, tools)| Change::RegisterAll(provider, tools)),
        2 => said().prop_map(Change::Unregister),
        1 => (provider(), own()).prop_map(|(provider, hidden)| Change::Withdraw(provider, hidden)),
        1 => Just(Change::Restore),
        1 => (said(), any::<u8>()).prop_map(|(name, mark)| Change::Describe(name, mark)),
        1 => (said(), any::<u8>(), own())
            .prop_map(|(name, weight, hidden)| Change::Prefer(name, weight, hidden)),
    ];
    prop::collection::vec(change, 0..40)
}

#[derive(Clone, Default)]
struct Plain {
    tools: BTreeMap<Place, u8>,
    /// By full name.
    described: BTreeMap<&'static str, u8>,
    preferred: BTreeMap<String, u8>,
}

fn full((provider, own): Place) -> String {
    provider.map_or(own.to_owned(), |provider| format!("{provider}__{own}"))
}

fn goes_by(place: Place, name: &str) -> bool {
    let is_plain = place.0.is_none() || !place.1.contains("__");
    full(place) == name || (is_plain && place.1 == name)
}

impl Plain {
    /// What models call a tool.
    fn called(&self, place: Place) -> String {
        let bearers = self.tools.keys().filter(|(_, other)| *other == place.1).count();
        let is_bare = bearers == 1 && !place.1.contains("__");
        if is_bare { place.1.to_owned() } else { full(place) }
    }

    fn named(&self, name: &str) -> Option<Place> {
        let mut known = self.tools.keys().copied();
        known.find(|place| self.called(*place) == name || full(*place) == name)
    }

    /// Whether another that would be called the same keeps this one out.
    fn is_kept_out(&self, place: Place) -> bool {
        let same = |other: &Place| full(*other) == full(place) && other.0 != place.0;
        self.tools.keys().any(same)
    }

    fn shown(&self, is_seen: impl Fn(Place) -> bool) -> Vec<(String, String, f64)> {
        let seen = self.tools.iter().filter(|(place, _)| is_seen(**place));
        let shown = seen.map(|(place, mark)| {
            let full = full(*place);
            let of_own = || self.described.get(place.1).filter(|_| goes_by(*place, place.1));
            let mark = self.described.get(full.as_str()).or_else(of_own).unwrap_or(mark);
            let weight = self.preferred.get(&full).copied().map_or(1.0, f64::from);
            (self.called(*place), format!("Number {mark}."), weight)
        });
        let mut shown: Vec<_> = shown.collect();
        shown.sort_by(|a, b| a.0.cmp(&b.0));
        shown
    }
}

fn said(snapshot: &Snapshot) -> Vec<(String, String, f64)> {
    let said = snapshot.entries().map(|entry| {
        let definition = entry.definition();
        for name in [entry.name(), entry.full_name()] {
            assert!(Arc::ptr_eq(snapshot.get(name).unwrap(), entry.tool()), "{name}");
        }
        (definition.name.clone(), definition.description.clone(), definition.preference.weight)
    });
    said.collect()
}

fn numbered(name: &str, mark: u8) -> Arc<dyn Tool> {
    named(name, &format!("Number {mark}."))
}

fn marks(displaced: impl IntoIterator<Item = Arc<dyn Tool>>) -> Vec<String> {
    let mut marks: Vec<_> =
        displaced.into_iter().map(|tool| tool.definition().description.clone()).collect();
    marks.sort();
    marks
}

proptest! {
    #[test]
    fn a_registry_is_a_map(changes in changes()) {
        let store = MemoryDescriptions::default();
        let registry = Registry::new().descriptions(store.clone());
        let views = [
            registry.clone(),
            registry.only(["a", "p__a", "q__a__b"]),
            registry.without(["b", "p__a"]),
            registry.only_from(["p"]),
        ];
        let is_seen: [fn(Place) -> bool; 4] = [
            |_| true,
            |place| ["a", "p__a", "q__a__b"].iter().any(|name| goes_by(place, name)),
            |place| !["b", "p__a"].iter().any(|name| goes_by(place, name)),
            |place| place.0 == Some("p"),
        ];
        let mut plain = Plain::default();
        let mut away: Option<(Withdrawn, BTreeMap<Place, u8>)> = None;
        let mut snapshots = Vec::new();
        for change in changes {
            match change {
                Change::Register(place @ (provider, own), mark) => {
                    let tool = numbered(own, mark);
                    let displaced = match provider {
                        None => registry.register(tool),
                        Some(provider) => registry.register_from(provider, tool),
                    };
                    prop_assert_eq!(displaced.is_err(), plain.is_kept_out(place));
                    if let Ok(displaced) = displaced {
                        let before = plain.tools.insert(place, mark);
                        prop_assert_eq!(
                            marks(displaced),
                            before.map(|mark| format!("Number {mark}.")).into_iter().collect::<Vec<_>>()
                        );
                    }
                }
                Change::RegisterAll(provider, tools) => {
                    let list = tools.iter().map(|(own, mark)| numbered(own, *mark)).collect();
                    let displaced = match provider {
                        None => registry.register_all(list),
                        Some(provider) => registry.register_all_from(provider, list),
                    };
                    let once = tools.iter().map(|(own, _)| own).collect::<BTreeSet<_>>().len();
                    let kept_out = tools.iter().any(|(own, _)| plain.is_kept_out((provider, own)));
                    prop_assert_eq!(displaced.is_err(), once < tools.len() || kept_out);
                    if let Ok(displaced) = displaced {
                        let before = tools
                            .iter()
                            .filter_map(|(own, mark)| plain.tools.insert((provider, own), *mark));
                        let mut before: Vec<_> =
                            before.map(|mark| format!("Number {mark}.")).collect();
                        before.sort();
                        prop_assert_eq!(marks(displaced), before);
                    }
                }
                Change::Unregister(name) => {
                    let meant = plain.named(name);
                    let removed = registry.unregister(name);
                    let mark = meant.and_then(|place| plain.tools.remove(&place));
                    let mark = mark.map(|mark| format!("Number {mark}."));
                    prop_assert_eq!(marks(removed), mark.into_iter().collect::<Vec<_>>());
                }
                Change::Withdraw(provider, hidden) => {
                    let (gone, kept) = plain.tools.into_iter().partition(|(place, _)| {
                        place.0 == Some(provider) && !goes_by(*place, hidden)
                    });
                    plain.tools = kept;
                    let withdrawn = registry.without([hidden]).withdraw(provider);
                    prop_assert_eq!(withdrawn.len(), BTreeMap::len(&gone));
                    away = Some((withdrawn, gone));
                }
                Change::Restore => if let Some((withdrawn, gone)) = away.take() {
                    let kept_out = gone.keys().any(|place| plain.is_kept_out(*place));
                    prop_assert_eq!(registry.restore(withdrawn).is_err(), kept_out);
                    if !kept_out {
                        plain.tools.extend(gone);
                    }
                },
                Change::Describe(name, mark) => {
                    store.set(name, format!("Number {mark}."));
                    plain.described.insert(name, mark);
                }
                Change::Prefer(name, weight, hidden) => {
                    let is_meant = |place: Place| goes_by(place, name) && !goes_by(place, hidden);
                    let meant: Vec<_> =
                        plain.tools.keys().copied().filter(|place| is_meant(*place)).collect();
                    let preference = ToolPreference::default().weight(weight.into());
                    let is_there = registry.without([hidden]).prefer(name, preference).unwrap();
                    prop_assert_eq!(is_there, !meant.is_empty());
                    plain.preferred.extend(meant.into_iter().map(|place| (full(place), weight)));
                }
            }
            for (view, is_seen) in views.iter().zip(is_seen) {
                snapshots.push((view.snapshot(), plain.shown(is_seen)));
            }
        }
        // Each snapshot still shows what there was when it was taken.
        for (snapshot, wanted) in snapshots {
            prop_assert_eq!(said(&snapshot), wanted);
        }
    }

    /// What tools are called depends on which there are alone, not on how they came to be there.
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
            let places: Vec<Place> = places.into_iter().collect();
            (Just(places.clone()).prop_shuffle(), Just(places).prop_shuffle())
        })
    ) {
        let put = |registry: &Registry, (provider, own): Place| match provider {
            None => registry.register(named(own, "It.")).is_ok(),
            Some(provider) => registry.register_from(provider, named(own, "It.")).is_ok(),
        };
        let direct = Registry::new();
        let places: Vec<_> = places.into_iter().filter(|place| put(&direct, *place)).collect();
        // All of these and more, in another order; what is too much goes again.
        let detour = Registry::new();
        for place in others.into_iter().filter(|place| places.contains(place)) {
            prop_assert!(put(&detour, place));
            put(&detour, (Some("z"), place.1));
        }
        let _ = detour.withdraw("z");
        prop_assert_eq!(names(&direct), names(&detour));
        prop_assert_eq!(names(&direct).len(), places.len());
    }
}
