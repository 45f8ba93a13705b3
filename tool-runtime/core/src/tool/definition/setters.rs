//! The setters of a definition, for tools that are written by hand.

use std::time::Duration;

use super::ToolDefinition;
use crate::schema::Schema;
use crate::tool::{Effect, Permission, RateLimit, Repair, RequiredExtension, ToolPreference};

/// Settings of a tool. Each sets the field of the same name.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::{Effect, Permission, RateLimit, ToolDefinition};
///
/// let schema = serde_json::json!({ "type": "object" });
/// let definition = ToolDefinition::new("sync", "Synchronizes the calendar.", schema)
///     .title("Synchronize")
///     .effect(Effect::Write)
///     .permission(Permission::Ask)
///     .requires("network")
///     .idempotent()
///     .max_retries(2)
///     .rate_limit(RateLimit::per_minute(10))
///     .timeout(Duration::from_secs(5));
/// assert_eq!(definition.requires, ["network"]);
/// assert!(definition.validate().is_ok());
/// ```
impl ToolDefinition {
    /// Sets the name for user interfaces.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the [version](Self#structfield.version) of the tool's code.
    ///
    /// ```
    /// use tool_runtime::ToolDefinition;
    ///
    /// let schema = serde_json::json!({ "type": "object" });
    /// let first = ToolDefinition::new("quote", "Returns a price.", schema).version("1");
    /// let second = first.clone().version("2");
    /// assert_ne!(first.fingerprint(), second.fingerprint());
    /// ```
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the JSON Schema of the output, for a tool that returns JSON of a known shape.
    #[must_use]
    pub fn output(mut self, schema: impl Into<Schema>) -> Self {
        self.output = Some(schema.into());
        self
    }

    /// Sets the side effect, and with it the [default level of repairs](Repair::of_effect).
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self.repair = Repair::of_effect(effect);
        self
    }

    /// Declares that a repeated call with the same idempotency key
    /// [continues the first one](Self#structfield.reattaches).
    #[must_use]
    pub fn reattaches(mut self) -> Self {
        self.reattaches = true;
        self
    }

    /// Declares that running the tool twice has the same effect as running it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Declares that the tool runs alone: after the previous calls of the batch and before the next
    /// ones.
    #[must_use]
    pub fn sequential(mut self) -> Self {
        self.sequential = true;
        self
    }

    /// Sets whether calls are allowed. Default: [`Permission::Allow`].
    #[must_use]
    pub fn permission(mut self, permission: Permission) -> Self {
        self.permission = permission;
        self
    }

    /// Adds a capability that must be granted, such as `filesystem`.
    #[must_use]
    pub fn requires(mut self, capability: impl Into<String>) -> Self {
        self.requires.push(capability.into());
        self
    }

    /// Declares that a value of the type `T` must be among the extensions of a call.
    ///
    /// `Agent::check` reports a missing extension. The tool gets the value from
    /// [`ToolContext::require`](crate::ToolContext::require).
    ///
    /// ```
    /// use tool_runtime::ToolDefinition;
    ///
    /// struct Database;
    ///
    /// let schema = serde_json::json!({ "type": "object" });
    /// let definition = ToolDefinition::new("count_orders", "Counts the orders.", schema)
    ///     .requires_extension::<Database>();
    /// assert!(definition.extensions[0].type_name().ends_with("Database"));
    /// ```
    #[must_use]
    pub fn requires_extension<T: Send + Sync + 'static>(mut self) -> Self {
        self.extensions.push(RequiredExtension::of::<T>());
        self
    }

    /// Declares that the tool finds other tools for a model that is not offered all of them.
    #[must_use]
    pub fn finds_tools(mut self) -> Self {
        self.finds_tools = true;
        self
    }

    /// Sets whether and how readily the tool is offered.
    #[must_use]
    pub fn preference(mut self, preference: ToolPreference) -> Self {
        self.preference = preference;
        self
    }

    /// Sets the time limit of one attempt.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the maximum number of retries after a transient failure. The tool must be
    /// [idempotent](Self::idempotent()).
    #[must_use]
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = retries;
        self
    }

    /// Limits the number of calls per period.
    #[must_use]
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }
}
