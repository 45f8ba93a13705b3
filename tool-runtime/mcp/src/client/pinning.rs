//! Compares the definitions of a server with the pinned ones.

use std::collections::BTreeSet;

use serde_json::Value;

use super::diff::diff;
use super::pins::{ChangeKind, DefinitionChange, PinnedDefinition, Pins};

/// The definitions of a list by what they need.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// The names of the tools that are offered.
    pub(super) accepted: BTreeSet<String>,
    /// The tools that need an approval.
    pub(super) pending: Vec<DefinitionChange>,
    /// The pins with those of new tools, if there are any.
    pub(super) new_pins: Option<Pins>,
}

/// Compares the definitions of a list with the pins of its server. `None` means that the server is
/// unknown: its definitions are pinned.
pub(super) fn check(
    server: &str,
    pins: Option<&Pins>,
    offered: &[(String, PinnedDefinition)],
    holds_new_tools: bool,
) -> Checked {
    let mut checked = Checked::default();
    let mut added = Vec::new();
    for (name, new) in offered {
        let change = pins.and_then(|pins| change(pins, name, new, offered, holds_new_tools));
        let Some((kind, old)) = change else {
            checked.accepted.insert(name.clone());
            if pins.is_none_or(|pins| !pins.contains_key(name)) {
                added.push((name.clone(), new.clone()));
            }
            continue;
        };
        let diff = match &kind {
            ChangeKind::Renamed { from } => {
                let names = format!("- name: {from}\n+ name: {name}");
                let changes = diff(old, &new.definition);
                if changes.is_empty() { names } else { format!("{names}\n{changes}") }
            }
            _ => diff(old, &new.definition),
        };
        let (server, tool, new) = (server.to_owned(), name.clone(), new.clone());
        checked.pending.push(DefinitionChange { server, tool, kind, diff, new });
    }
    if pins.is_none() || !added.is_empty() {
        let mut all = pins.cloned().unwrap_or_default();
        all.extend(added);
        checked.new_pins = Some(all);
    }
    checked
}

/// Returns why a definition needs an approval, and the definition to compare with.
fn change<'p>(
    pins: &'p Pins,
    name: &str,
    new: &PinnedDefinition,
    offered: &[(String, PinnedDefinition)],
    holds_new_tools: bool,
) -> Option<(ChangeKind, &'p Value)> {
    if let Some(old) = pins.get(name) {
        let has_changed = old.fingerprint != new.fingerprint;
        return has_changed.then_some((ChangeKind::Changed, &old.definition));
    }
    let is_missing = |name: &str| offered.iter().all(|(offered, _)| offered != name);
    let missing = || pins.iter().filter(|(name, _)| is_missing(name));
    let renamed = missing()
        .find(|(_, old)| old.fingerprint == new.fingerprint)
        .or_else(|| missing().find(|(_, old)| resembles(&old.definition, &new.definition)));
    if let Some((from, old)) = renamed {
        return Some((ChangeKind::Renamed { from: from.clone() }, &old.definition));
    }
    holds_new_tools.then_some((ChangeKind::New, &Value::Null))
}

/// Returns whether two definitions have the same parameters, and at least half of the words of
/// their descriptions in common: one may be the other with a small change.
fn resembles(old: &Value, new: &Value) -> bool {
    let (old_words, new_words) = (words(old), words(new));
    let common = old_words.intersection(&new_words).count();
    parameters(old) == parameters(new) && 2 * common >= old_words.union(&new_words).count()
}

fn parameters(definition: &Value) -> BTreeSet<&str> {
    let properties = definition.pointer("/inputSchema/properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

fn words(definition: &Value) -> BTreeSet<String> {
    let description = definition.get("description").and_then(Value::as_str).unwrap_or_default();
    let words = description.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offered(tools: &[(&str, &str)]) -> Vec<(String, PinnedDefinition)> {
        let pin =
            |name: &str, text: &str| PinnedDefinition::new(name, json!({ "description": text }));
        tools.iter().map(|(name, text)| ((*name).to_owned(), pin(name, text))).collect()
    }

    fn pending(checked: &Checked) -> Vec<(&str, &ChangeKind)> {
        checked.pending.iter().map(|change| (change.tool.as_str(), &change.kind)).collect()
    }

    #[test]
    fn first_list_is_pinned_and_changes_and_renames_are_held() {
        let first = offered(&[("add", "Adds."), ("sub", "Subtracts.")]);
        let pinned = check("s", None, &first, false);
        assert_eq!((pinned.accepted.len(), pinned.pending.len()), (2, 0));
        let pins = pinned.new_pins.unwrap();

        let same = check("s", Some(&pins), &first, true);
        assert!(same.new_pins.is_none() && same.pending.is_empty() && same.accepted.len() == 2);

        let second =
            offered(&[("add", "Adds and mails."), ("minus", "Subtracts."), ("mul", "Mul.")]);
        let changed = check("s", Some(&pins), &second, false);
        let renamed = ChangeKind::Renamed { from: "sub".into() };
        assert_eq!(pending(&changed), [("add", &ChangeKind::Changed), ("minus", &renamed)]);
        assert_eq!(changed.accepted, BTreeSet::from(["mul".to_owned()]));
        assert!(changed.new_pins.unwrap().contains_key("mul"));
        let diff = &changed.pending[0].diff;
        assert_eq!(diff, "- description: Adds.\n+ description: Adds and mails.");

        let strict = check("s", Some(&pins), &second, true);
        assert_eq!(pending(&strict).last(), Some(&("mul", &ChangeKind::New)));
    }

    #[test]
    fn rename_with_a_small_change_is_held_and_another_tool_is_not() {
        let pin = |name: &str, text: &str, parameter: &str| {
            let mut properties = serde_json::Map::new();
            properties.insert(parameter.to_owned(), json!({}));
            let schema = json!({ "properties": properties });
            let definition = json!({ "description": text, "inputSchema": schema });
            (name.to_owned(), PinnedDefinition::new(name, definition))
        };
        let add = pin("add", "Adds.", "a");
        let first = [add.clone(), pin("send", "Sends a mail to a person.", "to")];
        let pins = check("s", None, &first, false).new_pins.unwrap();
        for (new, is_held) in [
            (pin("mail", "Sends a mail to a person!", "to"), true),
            (pin("mail", "Sends a mail to a person and to me.", "to"), true),
            (pin("mail", "Sends a mail to a person.", "address"), false),
            (pin("weather", "Returns the weather of a city.", "to"), false),
        ] {
            let checked = check("s", Some(&pins), &[add.clone(), new.clone()], false);
            let renamed = ChangeKind::Renamed { from: "send".into() };
            let expected = if is_held { vec![(&*new.0, &renamed)] } else { Vec::new() };
            assert_eq!(pending(&checked), expected, "{new:?}");
            // Beside the pinned tool, a similar one is new.
            let similar = [first[0].clone(), first[1].clone(), new];
            assert!(check("s", Some(&pins), &similar, false).pending.is_empty());
        }
        let changed = [add, pin("mail", "Sends a mail to a person!", "to")];
        let diff = &check("s", Some(&pins), &changed, false).pending[0].diff;
        assert!(diff.starts_with("- name: send\n+ name: mail\n- description: Sends"), "{diff}");
    }

    #[test]
    fn copy_of_a_tool_that_is_still_offered_is_no_rename() {
        let pins = check("s", None, &offered(&[("add", "Adds.")]), false).new_pins.unwrap();
        let second = offered(&[("add", "Adds."), ("plus", "Adds.")]);
        assert!(check("s", Some(&pins), &second, false).pending.is_empty());
    }
}
