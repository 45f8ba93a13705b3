//! Reads a definition that was serialized.

use std::time::Duration;

use serde::Deserialize;

use super::ToolDefinition;
use super::short_form::{duration, rate};
use crate::schema::Schema;
use crate::tool::{Effect, Permission, RateLimit, Repair, ToolKind, ToolPreference};

/// The serialized members of a definition. Those that a definition may lack are optional.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredDefinition {
    name: String,
    title: Option<String>,
    description: String,
    parameters: Schema,
    output: Option<Schema>,
    version: Option<String>,
    #[serde(default)]
    kind: ToolKind,
    #[serde(default)]
    effect: Effect,
    #[serde(default)]
    idempotent: bool,
    #[serde(default)]
    reattaches: bool,
    #[serde(default)]
    pure: bool,
    #[serde(default)]
    sequential: bool,
    #[serde(default)]
    blocking: bool,
    #[serde(default)]
    permission: Permission,
    #[serde(default)]
    requires: Vec<String>,
    repair: Option<Repair>,
    #[serde(default)]
    max_retries: u32,
    rate_limit: Option<StoredRate>,
    timeout: Option<StoredDuration>,
    #[serde(default)]
    finds_tools: bool,
    #[serde(default)]
    preference: ToolPreference,
}

/// A duration as serde writes it, or in its short form.
#[derive(Deserialize)]
#[serde(try_from = "WithShortForm<Duration>")]
struct StoredDuration(Duration);

/// A rate limit as serde writes it, or in its short form.
#[derive(Deserialize)]
#[serde(try_from = "WithShortForm<RateLimit>")]
struct StoredRate(RateLimit);

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text such as \"5s\" or \"10/min\", or the serialized form"
)]
enum WithShortForm<T> {
    Text(String),
    Stored(T),
}

impl TryFrom<WithShortForm<Duration>> for StoredDuration {
    type Error = String;

    fn try_from(stored: WithShortForm<Duration>) -> Result<Self, String> {
        Ok(Self(match stored {
            WithShortForm::Text(text) => duration(&text)?,
            WithShortForm::Stored(duration) => duration,
        }))
    }
}

impl TryFrom<WithShortForm<RateLimit>> for StoredRate {
    type Error = String;

    fn try_from(stored: WithShortForm<RateLimit>) -> Result<Self, String> {
        Ok(Self(match stored {
            WithShortForm::Text(text) => rate(&text)?,
            WithShortForm::Stored(rate) => rate,
        }))
    }
}

impl From<StoredDefinition> for ToolDefinition {
    fn from(stored: StoredDefinition) -> Self {
        let StoredDefinition {
            name,
            title,
            description,
            parameters,
            output,
            version,
            kind,
            effect,
            idempotent,
            reattaches,
            pure,
            sequential,
            blocking,
            permission,
            requires,
            repair,
            max_retries,
            rate_limit,
            timeout,
            finds_tools,
            preference,
        } = stored;
        Self {
            title,
            output,
            version,
            kind,
            effect,
            idempotent,
            reattaches,
            pure,
            sequential,
            blocking,
            permission,
            requires,
            repair: repair.unwrap_or_else(|| Repair::of_effect(effect)),
            max_retries,
            rate_limit: rate_limit.map(|stored| stored.0),
            timeout: timeout.map(|stored| stored.0),
            finds_tools,
            preference,
            ..Self::new(name, description, parameters)
        }
    }
}
