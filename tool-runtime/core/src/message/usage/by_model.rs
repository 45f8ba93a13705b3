use serde::{Deserialize, Serialize};

use super::Usage;

/// Token usage and cost of one model in a run.
///
/// The tokens of a run include those of runs nested in it and those that tools spent, so a run can
/// use several models. The sum over all models is the usage of the run.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools, Usage};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let reply = ChatReply::text("Hello!").usage(Usage::new(9, 2));
/// let answer = Agent::new(ScriptedModel::new([reply]), Tools::new()).run("Hi").await?;
/// let [of_model] = answer.usage_by_model.as_slice() else { panic!("one model") };
/// assert_eq!(of_model.usage, answer.usage);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelUsage {
    /// The [provider](crate::models::ModelInfo::provider) of the model, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The name of the model that replied. It is unknown for tokens of a tool that does not name
    /// its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The token usage of the model.
    pub usage: Usage,
    /// The cost of these tokens, if prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl ModelUsage {
    /// Returns the model that used the tokens.
    pub fn used_model(&self) -> UsedModel {
        UsedModel { provider: self.provider.clone(), model: self.model.clone() }
    }
}

/// Model that used tokens, and its provider, as far as they are known.
///
/// ```
/// use tool_runtime::message::UsedModel;
///
/// let model = UsedModel::new("anthropic", "claude-haiku-4-5");
/// assert_eq!(model.to_string(), "claude-haiku-4-5 (anthropic)");
/// assert_eq!(UsedModel::default().to_string(), "unknown model");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UsedModel {
    /// The [provider](crate::models::ModelInfo::provider) of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The name of the model that replied, which may differ from the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl UsedModel {
    /// Creates a model from the names of its provider and of the model.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: Some(provider.into()), model: Some(model.into()) }
    }
}

/// Shows the name of the model and its provider.
impl std::fmt::Display for UsedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.model, &self.provider) {
            (Some(model), Some(provider)) => write!(f, "{model} ({provider})"),
            (Some(name), None) | (None, Some(name)) => f.write_str(name),
            (None, None) => f.write_str("unknown model"),
        }
    }
}
