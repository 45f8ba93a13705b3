//! Reads a definition that was serialized.

use std::time::Duration;

use serde::Deserialize;

use super::ToolDefinition;
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
    #[serde(default)]
    kind: ToolKind,
    #[serde(default)]
    effect: Effect,
    #[serde(default)]
    idempotent: bool,
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
    retries: u32,
    rate_limit: Option<RateLimit>,
    timeout: Option<Duration>,
    #[serde(default)]
    finds_tools: bool,
    #[serde(default)]
    preference: ToolPreference,
}

impl From<StoredDefinition> for ToolDefinition {
    fn from(stored: StoredDefinition) -> Self {
        let StoredDefinition {
            name,
            title,
            description,
            parameters,
            output,
            kind,
            effect,
            idempotent,
            pure,
            sequential,
            blocking,
            permission,
            requires,
            repair,
            retries,
            rate_limit,
            timeout,
            finds_tools,
            preference,
        } = stored;
        Self {
            title,
            output,
            kind,
            effect,
            idempotent,
            pure,
            sequential,
            blocking,
            permission,
            requires,
            repair: repair.unwrap_or_else(|| Repair::of_effect(effect)),
            retries,
            rate_limit,
            timeout,
            finds_tools,
            preference,
            ..Self::new(name, description, parameters)
        }
    }
}
