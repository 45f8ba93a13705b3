use std::collections::BTreeMap;

use crate::tool::ToolPreference;

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
}

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
        Self { version, descriptions, preferences }
    }
}
