use std::collections::BTreeMap;

use serde_json::json;

use crate::records::RecordList;
use crate::tool::{ToolDefinition, ToolPreference};

/// The collection of the records.
pub(super) const COLLECTION: &str = "tool_overrides";

/// The beginnings of the keys, before the names.
pub(super) const DESCRIPTION: &str = "description/";
pub(super) const PREFERENCE: &str = "preference/";

/// The descriptions and preferences in a store, by the names of the tools.
///
/// ```
/// use tool_runtime::registry::overrides::ToolOverrides;
///
/// let overrides = ToolOverrides::default();
/// assert_eq!((overrides.version, overrides.descriptions.len()), (0, 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOverrides {
    /// The number of changes so far.
    pub version: u64,
    /// Descriptions that replace those of the tools, by [name](crate::registry#tool-names).
    pub descriptions: BTreeMap<String, String>,
    /// Preferences that replace those of the tools, by
    /// [full name](crate::ToolDefinition::full_name).
    pub preferences: BTreeMap<String, ToolPreference>,
    /// The names whose description or preference can't be decoded or is invalid, with the reasons.
    /// Another program has altered the entry, or a newer version of the program has written it; it
    /// applies nowhere until it is set again.
    pub corrupt: BTreeMap<String, String>,
}

impl ToolOverrides {
    /// Decodes the records of a store: descriptions as they are, and preferences as JSON.
    pub(super) fn decode(list: RecordList) -> Self {
        let mut overrides = Self { version: list.counter, ..Self::default() };
        let name = |key: &str| {
            let name = key.strip_prefix(DESCRIPTION).or_else(|| key.strip_prefix(PREFERENCE));
            name.unwrap_or(key).to_owned()
        };
        let mut corrupt = list.corrupt;
        for record in list.records {
            if record.key.starts_with(DESCRIPTION) {
                overrides.descriptions.insert(name(&record.key), record.value);
                continue;
            }
            if !record.key.starts_with(PREFERENCE) {
                corrupt.push(record.corrupt("its key has an unknown beginning"));
                continue;
            }
            match record.decode() {
                Ok(preference) => drop(overrides.preferences.insert(name(&record.key), preference)),
                Err(error) => corrupt.push(error),
            }
        }
        overrides.corrupt = corrupt.into_iter().map(|it| (name(&it.key), it.reason)).collect();
        overrides.remove_invalid();
        overrides
    }

    /// Moves each description and preference that no tool can have to the corrupt ones.
    fn remove_invalid(&mut self) {
        let Self { descriptions, preferences, corrupt, .. } = self;
        let mut is_valid = |name: &str, definition: ToolDefinition| {
            let invalid = definition.validate().err();
            let is_valid = invalid.is_none();
            corrupt.extend(invalid.map(|error| (name.to_owned(), error.to_string())));
            is_valid
        };
        let any_tool = |name: &str, description: &str| {
            ToolDefinition::new(name, description, json!({ "type": "object" }))
        };
        descriptions.retain(|name, text| is_valid(name, any_tool(name, text)));
        preferences.retain(|name, preference| {
            is_valid(name, any_tool(name, "Any.").preference(preference.clone()))
        });
    }
}
