use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::registry::{Registry, RegistryError};
use crate::tool::{ToolDefinition, ToolPreference};

/// Preferences of tools that are set at run time.
impl Registry {
    /// Sets the preference of all current tools of this view that
    /// [have this name](crate::registry#tool-names). Returns whether there are any.
    ///
    /// The preference replaces the one in the definition. It remains when the tool is registered
    /// again, such as after a reconnect, and until a later `prefer` replaces it. A
    /// [store](Registry::descriptions) with a preference for the tool takes precedence.
    ///
    /// # Errors
    /// The weight is not finite, or the overrides are too large. Then nothing is changed.
    ///
    /// ```
    /// use tool_runtime::{Registry, ToolPreference, tool, tools};
    ///
    /// /// Finds issues.
    /// #[tool(effect = "read")]
    /// async fn find(query: String) -> String {
    ///     query
    /// }
    ///
    /// let registry = Registry::new();
    /// registry.register_all_from("github", tools![find])?;
    /// registry.register_all_from("jira", tools![find])?;
    /// registry.prefer("find", ToolPreference::default().hidden())?;
    /// registry.prefer("jira__find", ToolPreference::default().weight(2.0))?;
    ///
    /// let tools = registry.snapshot();
    /// let hidden = |name| tools.definition(name).map(|tool| tool.preference.hidden);
    /// assert_eq!((hidden("github__find"), hidden("jira__find")), (Some(true), Some(false)));
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn prefer(&self, name: &str, preference: ToolPreference) -> Result<bool, RegistryError> {
        let entries = self.entries_where(|entry| entry.definition().has_name(name));
        for entry in &entries {
            entry.definition().clone().preference(preference.clone()).validate()?;
        }
        if entries.is_empty() {
            return Ok(false);
        }
        let preference = Arc::new(preference);
        self.change(|contents| (contents.with_preference(&entries, &preference), ()));
        Ok(true)
    }

    /// Returns the preferences that were set for all views of this registry, by
    /// [full name](crate::ToolDefinition::full_name).
    ///
    /// The map includes tools that are not registered now. It can be serialized and loaded with
    /// [`set_preferences`](Self::set_preferences).
    pub fn preferences(&self) -> BTreeMap<String, ToolPreference> {
        let contents = self.contents.load();
        let preferences = contents.preferences().iter();
        preferences.map(|(name, preference)| (name.clone(), (**preference).clone())).collect()
    }

    /// Replaces all preferences that were set, for all views of this registry.
    ///
    /// The keys are [full names](crate::ToolDefinition::full_name). A preference also applies to a
    /// tool that is registered later. A tool without a preference in the map has the one in its
    /// definition.
    ///
    /// # Errors
    /// A key can't be the name of a tool, a weight is not finite, or the overrides of a preference
    /// are too large. Then nothing is changed.
    ///
    /// ```
    /// use tool_runtime::{Registry, ToolPreference, tool, tools};
    ///
    /// /// Finds issues.
    /// #[tool(effect = "read")]
    /// async fn find(query: String) -> String {
    ///     query
    /// }
    ///
    /// let registry = Registry::new();
    /// registry.register_all_from("jira", tools![find])?;
    /// registry.prefer("find", ToolPreference::default().hidden())?;
    /// let saved = serde_json::to_string(&registry.preferences()).unwrap();
    /// assert_eq!(saved, r#"{"jira__find":{"enabled":true,"hidden":true,"weight":1.0}}"#);
    ///
    /// let restarted = Registry::new();
    /// restarted.set_preferences(serde_json::from_str(&saved).unwrap())?;
    /// restarted.register_all_from("jira", tools![find])?;
    /// assert!(restarted.snapshot().definition("find").unwrap().preference.hidden);
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn set_preferences(
        &self,
        preferences: BTreeMap<String, ToolPreference>,
    ) -> Result<(), RegistryError> {
        for (name, preference) in &preferences {
            let any_tool = ToolDefinition::new(name, "Any.", json!({ "type": "object" }));
            any_tool.preference(preference.clone()).validate()?;
        }
        let preferences = preferences.into_iter().map(|(name, it)| (name, Arc::new(it))).collect();
        let preferences = Arc::new(preferences);
        self.change(|contents| (contents.with_preferences(&preferences), ()));
        Ok(())
    }
}
