use std::collections::BTreeMap;

use serde_json::json;

use crate::tool::{ToolDefinition, ToolPreference};

/// The descriptions and preferences of an [`OverrideStore`](super::OverrideStore), by the names of
/// the tools.
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

/// Entries as a database has them: names, and descriptions or preferences as JSON.
pub type StoredEntries = Vec<(Vec<u8>, Vec<u8>)>;

impl ToolOverrides {
    /// Creates the contents of a store at this version.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use tool_runtime::registry::overrides::ToolOverrides;
    ///
    /// let descriptions = BTreeMap::from([("now".to_owned(), "Returns the time.".to_owned())]);
    /// assert_eq!(ToolOverrides::new(1, descriptions, BTreeMap::new()).version, 1);
    /// ```
    pub fn new(
        version: u64,
        descriptions: BTreeMap<String, String>,
        preferences: BTreeMap<String, ToolPreference>,
    ) -> Self {
        Self { version, descriptions, preferences, corrupt: BTreeMap::new() }
    }

    /// Moves each description and preference that no tool can have to the corrupt ones.
    pub(super) fn remove_invalid(&mut self) {
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

    /// Decodes the entries of a database.
    #[doc(hidden)]
    pub fn decode(version: u64, descriptions: StoredEntries, preferences: StoredEntries) -> Self {
        let mut overrides = Self { version, ..Self::default() };
        let text = |name: Vec<u8>| String::from_utf8_lossy(&name).into_owned();
        for (name, description) in descriptions {
            match String::from_utf8(description) {
                Ok(description) => drop(overrides.descriptions.insert(text(name), description)),
                Err(error) => drop(overrides.corrupt.insert(text(name), error.to_string())),
            }
        }
        for (name, preference) in preferences {
            match serde_json::from_slice(&preference) {
                Ok(preference) => drop(overrides.preferences.insert(text(name), preference)),
                Err(error) => drop(overrides.corrupt.insert(text(name), error.to_string())),
            }
        }
        overrides
    }
}
