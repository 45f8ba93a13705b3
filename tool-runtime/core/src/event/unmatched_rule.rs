use std::fmt;

use serde::{Deserialize, Serialize};

/// A rule of the program that applies to no tool, such as a permission for a misspelled name.
///
/// [`Agent::check`](crate::Agent::check) reports such rules when the program starts, and
/// [`RunEvent::RuleUnmatched`](super::RunEvent::RuleUnmatched) while it runs.
///
/// ```
/// use tool_runtime::agent::CheckProblem;
/// use tool_runtime::dispatch::Permissions;
/// use tool_runtime::{Agent, Permission, Policy, ScriptedModel, tool, tools};
///
/// /// Deletes a file.
/// #[tool]
/// async fn delete_file(path: String) {}
///
/// let permissions = Permissions::default().tool("delete_files", Permission::Deny);
/// let agent = Agent::new(ScriptedModel::default(), tools![delete_file])
///     .policy(Policy::new().permissions(permissions));
/// let error = agent.check().unwrap_err();
/// let CheckProblem::UnmatchedRule(rule) = &error.problems()[0] else { panic!() };
/// assert_eq!(rule.name, "delete_files");
/// assert_eq!(rule.nearest.as_deref(), Some("delete_file"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnmatchedRule {
    /// The setting that the rule belongs to.
    pub setting: RuleSetting,
    /// Whether the rule names a tool or a provider, or is for each provider.
    pub target: RuleTarget,
    /// The name in the rule, of a tool or a provider. Empty if the rule is for each provider.
    pub name: String,
    /// The most similar name that is registered, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// A setting with rules for tools or providers by name.
///
/// ```
/// use tool_runtime::event::RuleSetting;
///
/// assert_eq!(RuleSetting::RateLimit.to_string(), "rate limit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuleSetting {
    /// A [permission](crate::dispatch::Permissions) for a tool or a provider.
    Permission,
    /// A [rate limit](crate::dispatch::RateLimits) of a tool or a provider.
    RateLimit,
    /// A [concurrency limit](crate::dispatch::Concurrency) of a tool or a provider.
    Concurrency,
    /// A [circuit breaker](crate::dispatch::Breakers) of a provider.
    Breaker,
    /// A [preference](crate::Registry::set_preferences) of the registry.
    Preference,
    /// A name in a [view](crate::Registry::without) of the registry.
    View,
    /// A name in the settings of a provider, such as the trust in a tool of an MCP server, which
    /// the provider has [reported](crate::Registry::report_unmatched_settings).
    ProviderSetting,
}

/// The kind of thing that a rule is for.
///
/// ```
/// use tool_runtime::event::RuleTarget;
///
/// assert_eq!(serde_json::to_value(RuleTarget::Provider).unwrap(), "provider");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuleTarget {
    /// A tool of any provider.
    Tool,
    /// All tools of a provider.
    Provider,
    /// The tools of each provider, such as by [`Breakers::each`](crate::dispatch::Breakers::each).
    /// If no tool has a provider, the rule never applies.
    EachProvider,
}

impl fmt::Display for RuleSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permission => "permission",
            Self::RateLimit => "rate limit",
            Self::Concurrency => "concurrency limit",
            Self::Breaker => "circuit breaker",
            Self::Preference => "preference",
            Self::View => "view",
            Self::ProviderSetting => "provider setting",
        })
    }
}

impl fmt::Display for UnmatchedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, target, name, nearest } = self;
        match target {
            RuleTarget::Tool => write!(f, "{setting} of `{name}`")?,
            RuleTarget::Provider => write!(f, "{setting} of provider `{name}`")?,
            RuleTarget::EachProvider => write!(f, "{setting} of each provider")?,
        }
        f.write_str(" applies to no tool of the registry")?;
        if *target == RuleTarget::EachProvider {
            f.write_str(
                ": none has a provider; register tools with `Registry::register_all_from`",
            )?;
        }
        match nearest {
            Some(nearest) => write!(f, "; the nearest name is `{nearest}`"),
            None => Ok(()),
        }
    }
}
