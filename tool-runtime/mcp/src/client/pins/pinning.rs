//! Compares the definitions of a server with the pinned ones.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

use serde_json::Value;
use tool_core::Fingerprint;

use crate::client::pins::diff::diff;
use crate::client::pins::{ChangeKind, DefinitionChange, PinnedDefinition, Pins};
use crate::client::tools::text::json_bytes;

/// The number of pins of one server without an approval.
const MAX_PINS: usize = 10_000;

/// The number of bytes of the pins of one server without an approval.
const MAX_PINNED_BYTES: usize = 64 << 20;

/// The number of words of a description that are compared.
const MAX_WORDS: usize = 40;

/// The time after which the differences of the definitions of a list become coarser.
const DIFF_TIME: Duration = Duration::from_millis(200);

/// The definitions of a list by what they need.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The names of the tools that are offered.
    pub(crate) accepted: BTreeSet<String>,
    /// The tools that need an approval.
    pub(crate) pending: Vec<DefinitionChange>,
    /// The pins with those of new tools, if there are any.
    pub(crate) new_pins: Option<Pins>,
}

/// Compares the definitions of a list with the pins of its server. `None` means that the server is
/// unknown: its definitions are pinned.
pub(crate) fn check(
    server: &str,
    pins: Option<&Pins>,
    offered: &[(String, PinnedDefinition)],
    approves_new_tools: bool,
) -> Checked {
    let deadline = Instant::now() + DIFF_TIME;
    let mut checked = Checked::default();
    let mut added = Vec::new();
    let missing = pins.map(|pins| Missing::new(pins, offered)).unwrap_or_default();
    let mut room = pins.map_or(Room::UNLIMITED, Room::left_by);
    for (name, new) in offered {
        let pinned = pins.and_then(|pins| pins.get(name));
        let earlier = if pinned.is_none() { missing.earlier_of(new) } else { None };
        let (kind, old) = match (pinned, earlier) {
            (Some(old), _) if old.fingerprint == new.fingerprint => {
                checked.accepted.insert(name.clone());
                continue;
            }
            (Some(old), _) => (ChangeKind::Changed, &old.definition),
            (None, Some((from, old))) => {
                (ChangeKind::Renamed { from: from.to_owned() }, &old.definition)
            }
            (None, None) if !(approves_new_tools && pins.is_some()) && room.take(new) => {
                checked.accepted.insert(name.clone());
                added.push((name.clone(), new.clone()));
                continue;
            }
            (None, None) => (ChangeKind::New, &Value::Null),
        };
        let diff = match &kind {
            ChangeKind::Renamed { from } => {
                let names = format!("- name: {from}\n+ name: {name}");
                let changes = diff(old, &new.definition, deadline);
                if changes.is_empty() { names } else { format!("{names}\n{changes}") }
            }
            _ => diff(old, &new.definition, deadline),
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

/// The limits of what is pinned without an approval. A server that renames its tools again and
/// again would fill the store.
struct Room {
    pins: usize,
    bytes: usize,
}

impl Room {
    /// The first list is limited as every list is.
    const UNLIMITED: Self = Self { pins: usize::MAX, bytes: usize::MAX };

    fn left_by(pins: &Pins) -> Self {
        let bytes = pins.values().map(|pin| json_bytes(&pin.definition)).sum();
        Self {
            pins: MAX_PINS.saturating_sub(pins.len()),
            bytes: MAX_PINNED_BYTES.saturating_sub(bytes),
        }
    }

    /// Takes the room of a definition, if there is enough.
    fn take(&mut self, new: &PinnedDefinition) -> bool {
        let left = (self.pins.checked_sub(1), self.bytes.checked_sub(json_bytes(&new.definition)));
        let (Some(pins), Some(bytes)) = left else { return false };
        (self.pins, self.bytes) = (pins, bytes);
        true
    }
}

type Pinned<'p> = (&'p str, &'p PinnedDefinition);

/// The pinned tools that a list does not have, by what a renamed tool keeps.
#[derive(Default)]
struct Missing<'p> {
    by_fingerprint: HashMap<Fingerprint, Pinned<'p>>,
    by_parameters: HashMap<BTreeSet<&'p str>, Vec<(Pinned<'p>, Words)>>,
}

impl<'p> Missing<'p> {
    fn new(pins: &'p Pins, offered: &[(String, PinnedDefinition)]) -> Self {
        let offered: HashSet<_> = offered.iter().map(|(name, _)| name).collect();
        let mut missing = Self::default();
        for (name, pin) in pins.iter().filter(|(name, _)| !offered.contains(name)) {
            let pinned = (name.as_str(), pin);
            missing.by_fingerprint.entry(pin.fingerprint).or_insert(pinned);
            let alike = missing.by_parameters.entry(parameters(&pin.definition)).or_default();
            alike.push((pinned, Words::of(&pin.definition)));
        }
        missing
    }

    /// Returns the pinned tool that a definition may be under another name: with the same
    /// definition, or with the same parameters and at least half of the words of the description in
    /// common.
    fn earlier_of(&self, new: &PinnedDefinition) -> Option<Pinned<'p>> {
        self.by_fingerprint.get(&new.fingerprint).copied().or_else(|| {
            let alike = self.by_parameters.get(&parameters(&new.definition))?;
            let words = Words::of(&new.definition);
            alike.iter().find(|(_, of_pin)| words.resembles(of_pin)).map(|(pinned, _)| *pinned)
        })
    }
}

fn parameters(definition: &Value) -> BTreeSet<&str> {
    let properties = definition.pointer("/inputSchema/properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// The first words of a description: their hashes, sorted. Every new tool is compared with every
/// missing one.
struct Words(Vec<u64>);

impl Words {
    fn of(definition: &Value) -> Self {
        let description = definition.get("description").and_then(Value::as_str).unwrap_or_default();
        let words = description.split(|c: char| !c.is_alphanumeric());
        let hash = |word: &str| {
            let mut hasher = DefaultHasher::new();
            word.to_lowercase().hash(&mut hasher);
            hasher.finish()
        };
        let words = words.filter(|word| !word.is_empty()).take(MAX_WORDS).map(hash);
        Self(Vec::from_iter(BTreeSet::from_iter(words)))
    }

    fn resembles(&self, other: &Self) -> bool {
        let (mut these, mut others, mut common) = (&*self.0, &*other.0, 0);
        while let ([word, more_of_these @ ..], [other, more_of_others @ ..]) = (these, others) {
            let order = word.cmp(other);
            common += usize::from(order.is_eq());
            these = if order.is_le() { more_of_these } else { these };
            others = if order.is_ge() { more_of_others } else { others };
        }
        2 * common >= self.0.len() + other.0.len() - common
    }
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
    fn thousands_of_renamed_tools_are_compared_in_time() {
        let text = "Sends a mail to a person. ".repeat(20);
        let list = |prefix: &str, words: &str| -> Vec<_> {
            let tool = |n: usize| (format!("{prefix}{n}"), format!("{words} {n} {text}"));
            let tools: Vec<_> = (0..1_000).map(tool).collect();
            offered(&tools.iter().map(|(name, text)| (&**name, &**text)).collect::<Vec<_>>())
        };
        let pins = check("s", None, &list("a", "Old"), false).new_pins.unwrap();
        let started = Instant::now();
        let words: Vec<_> = (0..60).map(|n| format!("word{n}")).collect();
        // No two are alike, so that each is compared with each.
        let checked = check("s", Some(&pins), &list("b", &words.join(" ")), false);
        assert!(checked.pending.is_empty());
        let elapsed = started.elapsed();
        assert!(elapsed.as_secs() < 60, "{elapsed:?}");
    }

    #[test]
    fn pins_without_an_approval_are_limited() {
        let list = |round: usize, count: usize, length: usize| -> Vec<_> {
            let tool = |n: usize| {
                let text = format!("a{round}b{n} c{round}d{n}");
                let mut tool = offered(&[(&format!("{round}-{n}"), &text)]).remove(0);
                tool.1.definition = json!({ "description": text, "more": "x".repeat(length) });
                tool
            };
            (0..count).map(tool).collect()
        };
        for (pinned, length, room) in [(9_900, 1, 100..=100), (330, 200_000, 4..=6)] {
            let pins: Pins = list(1, pinned, length).into_iter().collect();
            let checked = check("s", Some(&pins), &list(2, 110, length), false);
            let accepted = checked.accepted.len();
            assert!(room.contains(&accepted), "{accepted}");
            assert_eq!(checked.pending.len(), 110 - accepted);
            assert!(checked.pending.iter().all(|change| change.kind == ChangeKind::New));
            // What is pinned stays usable.
            let first = list(1, 1, length);
            assert_eq!(check("s", Some(&pins), &first, false).accepted.len(), 1);
        }
    }

    #[test]
    fn copy_of_a_tool_that_is_still_offered_is_no_rename() {
        let pins = check("s", None, &offered(&[("add", "Adds.")]), false).new_pins.unwrap();
        let second = offered(&[("add", "Adds."), ("plus", "Adds.")]);
        assert!(check("s", Some(&pins), &second, false).pending.is_empty());
    }
}
