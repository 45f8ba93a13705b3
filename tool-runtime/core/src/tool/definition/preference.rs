use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Controls whether and how readily a tool is offered to models.
///
/// A tool declares its preference in its [`ToolDefinition`](crate::ToolDefinition::preference). A
/// function declares it with `weight`, `hidden`, `disabled`, `always` and `overrides` of
/// [`#[tool]`](macro@crate::tool).
/// [`Registry::prefer`](crate::Registry::prefer) replaces it at run time.
///
/// | preference | offered | a call is |
/// |---|---|---|
/// | default | if the [selector](crate::registry::Selector) chooses the tool | run |
/// | [`always`](Self::always) | on every turn | run |
/// | [`hidden`](Self::hidden) | never | run |
/// | [`disabled`](Self::disabled) | never | refused like a call of an unknown tool |
///
/// ```
/// use tool_runtime::{Registry, ToolPreference, tool, tools};
///
/// /// Deletes a user.
/// #[tool]
/// async fn delete_user(id: u32) {}
///
/// let registry = Registry::try_from(tools![delete_user])?;
/// registry.prefer("delete_user", ToolPreference::default().hidden())?;
/// assert!(registry.snapshot().get("delete_user").is_some());
///
/// registry.prefer("delete_user", ToolPreference::default().disabled())?;
/// assert!(registry.snapshot().get("delete_user").is_none());
///
/// registry.prefer("delete_user", ToolPreference::default())?;
/// assert!(registry.snapshot().get("delete_user").is_some());
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolPreference {
    /// Whether the tool can be called. Default: `true`.
    ///
    /// A disabled tool stays registered and keeps its name, but
    /// [snapshots](crate::Registry::snapshot) leave it out.
    pub enabled: bool,
    /// Whether the tool is never offered. Default: `false`. A call of a hidden tool runs.
    #[serde(skip_serializing_if = "is_false")]
    pub hidden: bool,
    /// Whether the tool is offered on every turn, however few others are. Default: `false`.
    ///
    /// A tool that [finds others](crate::ToolDefinition::finds_tools) is always offered on every
    /// turn.
    #[serde(skip_serializing_if = "is_false")]
    pub always: bool,
    /// How much the tool matters in comparison with others. Default: 1.
    pub weight: f64,
    /// Further values for a selector. Nothing else reads them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub overrides: Map<String, Value>,
}

impl Default for ToolPreference {
    fn default() -> Self {
        Self { enabled: true, hidden: false, always: false, weight: 1.0, overrides: Map::new() }
    }
}

impl ToolPreference {
    /// Sets how much the tool matters in comparison with others.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Disables the tool: it is not offered, and a call is refused like a call of an unknown tool.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.enabled = false;
        self
    }

    /// Hides the tool from models: it is not offered. A call of it runs.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Offers the tool on every turn.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.always = true;
        self
    }

    /// Adds a value for a selector. It replaces the value of the same name, if there is one.
    #[must_use]
    pub fn with_override(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.overrides.insert(name.into(), value.into());
        self
    }

    /// Returns `true` if a selector may offer the tool: it is neither disabled nor hidden.
    pub fn is_selectable(&self) -> bool {
        self.enabled && !self.hidden
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_false(value: &bool) -> bool {
    !*value
}
