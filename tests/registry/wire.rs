//! Names on their way to a provider and back.

use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;
use tool_runtime::models::{NameRules, WireNames};

use super::*;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab1_.-]{0,3}",
        2 => "[ab./]{62,67}",
        1 => "[a-z]{60,64}_[0-9a-f]{8}",
        1 => any::<String>(),
    ]
}

proptest! {
    /// Whatever tools are named, each is sent under a name of its own that the provider takes, and what
    /// is said comes back to it.
    #[test]
    fn no_two_tools_are_sent_under_one_name(names in prop::collection::vec(name(), 0..40)) {
        for rules in [NameRules::OPENAI, NameRules::ANTHROPIC, NameRules::GEMINI] {
            let all = names.iter().map(String::as_str);
            let wire = WireNames::new(all.clone(), rules);
            let backwards = WireNames::new(all.rev(), rules);
            let mut sent = HashSet::new();
            for name in names.iter().collect::<BTreeSet<_>>() {
                let to = wire.wire(name).into_owned();
                prop_assert!(rules.fits(&to), "{to:?}");
                prop_assert_eq!(wire.own(&to), name);
                prop_assert_eq!(&backwards.wire(name), &to);
                prop_assert!(!rules.fits(name) || to == *name);
                prop_assert!(sent.insert(to));
            }
        }
    }

    /// So it is with what a registry calls its tools, and a model that says what it was sent reaches
    /// the very tool.
    #[test]
    fn what_a_model_says_leads_back_to_the_tool(
        tools in prop::collection::vec(("[p9][a-z_-]{0,30}", "[a-b9_./-]{1,3}|[a./]{90,94}"), 1..30)
    ) {
        let registry = Registry::new();
        for (provider, own) in &tools {
            // Some are refused, for what they are or for who is there.
            let _ = registry.register_from(provider, named(own, provider));
            let _ = registry.register(named(own, "Ours."));
        }
        let snapshot = registry.snapshot();
        let names = || snapshot.entries().map(|entry| entry.name());
        for rules in [NameRules::OPENAI, NameRules::GEMINI] {
            let wire = WireNames::new(names(), rules);
            for entry in snapshot.entries() {
                let said = wire.wire(entry.name());
                prop_assert!(rules.fits(&said), "{said:?}");
                let reached = snapshot.get(wire.own(&said)).unwrap();
                prop_assert!(Arc::ptr_eq(reached, entry.tool()));
            }
        }
    }
}
