//! Wire names: unique, valid, and mapped back to the tool.

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
    /// Every tool has a unique wire name that the provider allows, and the wire name maps back to
    /// the tool.
    #[test]
    fn wire_names_are_unique_and_map_back(names in prop::collection::vec(name(), 0..40)) {
        for rules in [NameRules::OPENAI, NameRules::ANTHROPIC, NameRules::GEMINI] {
            let all = names.iter().map(String::as_str);
            let wire = WireNames::new(all.clone(), rules);
            let backwards = WireNames::new(all.rev(), rules);
            let mut wire_names = HashSet::new();
            for name in names.iter().collect::<BTreeSet<_>>() {
                let to = wire.wire_name(name).into_owned();
                prop_assert!(rules.allows(&to), "{to:?}");
                prop_assert_eq!(wire.tool_name(&to), name);
                prop_assert_eq!(&backwards.wire_name(name), &to);
                prop_assert!(!rules.allows(name) || to == *name);
                prop_assert!(wire_names.insert(to));
            }
        }
    }

    /// This also holds for the names of a registry: a model that calls a wire name reaches the very
    /// tool.
    #[test]
    fn wire_name_leads_back_to_the_registered_tool(
        tools in prop::collection::vec(("[p9][a-z_-]{0,30}", "[a-b9_./-]{1,3}|[a./]{90,94}"), 1..30)
    ) {
        let registry = Registry::new();
        for (provider, name) in &tools {
            // Some are rejected as invalid or because of a conflict.
            let _ = registry.register_from(provider, named(name, provider));
            let _ = registry.register(named(name, "Ours."));
        }
        let snapshot = registry.snapshot();
        let names = || snapshot.entries().map(|entry| entry.name());
        for rules in [NameRules::OPENAI, NameRules::GEMINI] {
            let wire = WireNames::new(names(), rules);
            for entry in snapshot.entries() {
                let wire_name = wire.wire_name(entry.name());
                prop_assert!(rules.allows(&wire_name), "{wire_name:?}");
                let reached = snapshot.get(wire.tool_name(&wire_name)).unwrap();
                prop_assert!(Arc::ptr_eq(reached, entry.tool()));
            }
        }
    }
}
