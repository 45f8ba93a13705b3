use std::time::Duration;

use serde::Serialize;

use super::Effect;
use crate::schema::Schema;

/// Everything the framework knows of a tool, as one plain value.
///
/// ```
/// use tool_runtime::{Effect, ToolDefinition};
///
/// let schema = serde_json::json!({ "type": "object", "properties": {} });
/// let definition = ToolDefinition::new("now", "Tells the time.", schema).effect(Effect::Read);
/// assert!(definition.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// What the model calls it: 1 to 64 of `a-z A-Z 0-9 _ -`.
    pub name: String,
    /// What the model is told that it does.
    pub description: String,
    /// The schema of its arguments: an object.
    pub parameters: Schema,
    /// What running it does to the world.
    pub effect: Effect,
    /// Whether running it twice with the same arguments is as good as running it once.
    pub idempotent: bool,
    /// How long one attempt of its body may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

impl ToolDefinition {
    /// A definition with everything that may be left out at its most careful:
    /// effect [`External`](Effect::External), not idempotent; and no timeout.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: impl Into<Schema>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: parameters.into(),
            effect: Effect::default(),
            idempotent: false,
            timeout: None,
        }
    }

    /// Sets what running the tool does to the world.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Declares that running it twice is as good as once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Limits how long one attempt of its body may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Whether providers would take this definition.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn validate(&self) -> Result<(), DefinitionError> {
        let name = || self.name.chars().take(80).collect::<String>();
        // The rule of OpenAI and Anthropic, the strictest in wide use.
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(fits) {
            return Err(DefinitionError::Name { name: name() });
        }
        if self.description.trim().is_empty() {
            return Err(DefinitionError::Description { name: name() });
        }
        let parameters = self.parameters.as_value();
        if parameters.get("type").and_then(|kind| kind.as_str()) != Some("object") {
            return Err(DefinitionError::Parameters { name: name() });
        }
        Ok(())
    }
}

/// Why a definition can't be offered to a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name isn't one that providers take.
    #[error("the tool name `{name}` must be 1 to 64 characters of a-z, A-Z, 0-9, `_` and `-`")]
    Name {
        /// The name, cut where it is long.
        name: String,
    },
    /// There is no description, so that a model would call a tool that it knows nothing of.
    #[error("the tool `{name}` has no description")]
    Description {
        /// The tool's name.
        name: String,
    },
    /// The arguments aren't an object.
    #[error("the parameters of the tool `{name}` must be a schema of type `object`")]
    Parameters {
        /// The tool's name.
        name: String,
    },
}
