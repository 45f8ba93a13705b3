use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Hints for whoever decides which tools a model is offered.
///
/// ```
/// use tool_runtime::ToolPreference;
///
/// let preference = ToolPreference::default();
/// assert!(preference.enabled);
/// assert_eq!(preference.weight, 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolPreference {
    /// Whether it is offered at all. A call that a model makes of it nevertheless is run.
    pub enabled: bool,
    /// Whether it is offered on every turn, however few others are. One that
    /// [finds others](crate::ToolDefinition::finds_tools) is so or so.
    #[serde(skip_serializing_if = "is_false")]
    pub always: bool,
    /// How much it matters beside others; 1 unless set.
    pub weight: f64,
    /// Whatever the tool's author or the selector's wants to be known of it; nothing else reads it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub overrides: Map<String, Value>,
}

impl Default for ToolPreference {
    fn default() -> Self {
        Self { enabled: true, always: false, weight: 1.0, overrides: Map::new() }
    }
}

impl ToolPreference {
    /// This much weight.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Not offered.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.enabled = false;
        self
    }

    /// Offered on every turn.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.always = true;
        self
    }

    /// One thing more to be known of it.
    #[must_use]
    pub fn with_override(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.overrides.insert(name.into(), value.into());
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde hands over")]
const fn is_false(value: &bool) -> bool {
    !*value
}
