//! The trust of the program in a server.

use std::collections::HashMap;
use std::time::Duration;

use rmcp::model::ToolAnnotations;
use tool_core::{Effect, Permission, ToolDefinition};

/// Relaxes or tightens what the client assumes about the tools of a server.
///
/// Without it, a tool has the effect [`External`](Effect::External) and is not idempotent, whatever
/// the server declares: annotations come from the server, so they only make the client stricter.
/// [`McpClient::trust`](crate::McpClient::trust) applies to all tools of a server,
/// [`trust_tool`](crate::McpClient::trust_tool) to one. A setting for a tool replaces the same
/// setting for the server; the other settings for the server still apply to the tool.
///
/// ```
/// use tool_runtime::mcp::{McpClient, Trust};
/// use tool_runtime::{Effect, Permission};
///
/// let client = McpClient::http("http://127.0.0.1:3001/mcp")
///     .trust(Trust::new().effect(Effect::Read))
///     .trust_tool(
///         "delete_page",
///         Trust::new().effect(Effect::External).permission(Permission::Ask),
///     );
/// # let _ = client;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Trust {
    effect: Option<Effect>,
    idempotent: Option<bool>,
    max_retries: Option<u32>,
    permission: Option<Permission>,
    timeout: Option<Duration>,
    unmarked: Option<bool>,
}

impl Trust {
    /// Creates a value that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the side effect of the tools.
    ///
    /// If it is set for a whole server, a tool that declares `readOnlyHint: false` or
    /// `destructiveHint: true` is still [`External`](Effect::External).
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// Declares that a repeated call with the same arguments has no further effect, so that a call
    /// whose connection was lost can be made again.
    ///
    /// If it is set for a whole server, it does not apply to a tool that declares
    /// `idempotentHint: false`.
    pub fn idempotent(mut self) -> Self {
        self.idempotent = Some(true);
        self
    }

    /// Sets how often the dispatcher retries an idempotent tool after a transient failure.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = Some(retries);
        self
    }

    /// Sets whether calls are allowed, need an approval or are denied.
    pub fn permission(mut self, permission: Permission) -> Self {
        self.permission = Some(permission);
        self
    }

    /// Sets the time limit of a call. Default: that of the
    /// [client](crate::McpClient::call_timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Passes the texts of results and descriptions to the model without the marks of
    /// [untrusted](tool_core::Untrusted) text. Invisible characters are still removed.
    pub fn unmarked_text(mut self) -> Self {
        self.unmarked = Some(true);
        self
    }
}

/// Separates the name of a connection from that of a tool in a full name.
const SEPARATOR: &str = "__";

/// Returns the name of a tool on its server, if this is its full name.
pub(super) fn own_name<'n>(server: &str, full_name: &'n str) -> Option<&'n str> {
    full_name.strip_prefix(server)?.strip_prefix(SEPARATOR)
}

/// Returns the name on the server of the tool that a name refers to: its full name, or its name on
/// the server without the separator. A server can't add a tool whose own name is the full name of
/// another one.
pub(super) fn resolve_name<'n>(server: &str, name: &'n str) -> Option<&'n str> {
    own_name(server, name).or_else(|| Some(name).filter(|name| !name.contains(SEPARATOR)))
}

/// The trust in a server and in single tools of it.
#[derive(Clone, Debug, Default)]
pub(super) struct TrustPolicy {
    pub(super) server: Trust,
    pub(super) tools: HashMap<String, Trust>,
}

impl TrustPolicy {
    /// Returns the setting for a tool, by its full name or else by its name on the server.
    fn of_tool(&self, server: &str, tool: &str) -> Option<&Trust> {
        let by_own_name = || self.tools.get(tool).filter(|_| !tool.contains(SEPARATOR));
        self.tools.get(&format!("{server}{SEPARATOR}{tool}")).or_else(by_own_name)
    }

    /// Returns the names of the settings that apply to no tool, sorted.
    pub(super) fn unmatched(&self, server: &str, is_listed: impl Fn(&str) -> bool) -> Vec<String> {
        let is_unmatched = |name: &&String| !resolve_name(server, name).is_some_and(&is_listed);
        let mut unmatched: Vec<_> = self.tools.keys().filter(is_unmatched).cloned().collect();
        unmatched.sort_unstable();
        unmatched
    }

    /// Returns whether the texts of a tool are marked as untrusted.
    pub(super) fn marks_text(&self, server: &str, tool: &str) -> bool {
        let of_tool = self.of_tool(server, tool).and_then(|trust| trust.unmarked);
        !of_tool.or(self.server.unmarked).unwrap_or_default()
    }

    /// Sets what the program and the annotations decide about a tool.
    pub(super) fn apply(
        &self,
        server: &str,
        definition: ToolDefinition,
        annotations: Option<&ToolAnnotations>,
        call_timeout: Duration,
    ) -> ToolDefinition {
        let default = Trust::default();
        let tool = self.of_tool(server, &definition.name).unwrap_or(&default);
        let has_effects = annotations.is_some_and(|hints| {
            hints.read_only_hint == Some(false) || hints.destructive_hint == Some(true)
        });
        let repeats_effects = annotations.is_some_and(|hints| hints.idempotent_hint == Some(false));
        let of_server = self.server.effect.filter(|_| !has_effects);
        let effect = tool.effect.or(of_server).unwrap_or(definition.effect);
        let of_server = self.server.idempotent.filter(|_| !repeats_effects);
        let idempotent = tool.idempotent.or(of_server).unwrap_or_default();
        let retries = tool.max_retries.or(self.server.max_retries).filter(|_| idempotent);
        let timeout = tool.timeout.or(self.server.timeout).unwrap_or(call_timeout);
        let permission = tool.permission.or(self.server.permission).unwrap_or_default();

        let mut definition = definition.effect(effect).timeout(timeout);
        definition.idempotent = idempotent;
        definition.max_retries = retries.unwrap_or_default();
        definition.permission = permission;
        definition
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(policy: &TrustPolicy, annotations: &ToolAnnotations) -> (Effect, bool, Permission) {
        let definition = ToolDefinition::new("find", "Finds.", json!({ "type": "object" }));
        let minute = Duration::from_secs(60);
        let applied = policy.apply("s", definition, Some(annotations), minute);
        assert_eq!(applied.timeout, Some(minute));
        (applied.effect, applied.idempotent, applied.permission)
    }

    #[test]
    fn annotations_only_make_a_tool_stricter() {
        let nice = ToolAnnotations::new().read_only(true).idempotent(true).destructive(false);
        let nasty = ToolAnnotations::new().read_only(false).idempotent(false);
        let none = ToolAnnotations::new();
        let strict = (Effect::External, false, Permission::Allow);
        let default = TrustPolicy::default();
        for annotations in [&nice, &nasty, &none] {
            assert_eq!(applied(&default, annotations), strict);
        }
        let server = Trust::new().effect(Effect::Read).idempotent().permission(Permission::Ask);
        let mut policy = TrustPolicy { server, tools: HashMap::new() };
        assert_eq!(applied(&policy, &none), (Effect::Read, true, Permission::Ask));
        assert_eq!(applied(&policy, &nasty), (Effect::External, false, Permission::Ask));
        let tool = Trust::new().effect(Effect::Write).permission(Permission::Deny);
        policy.tools.insert("find".into(), tool);
        assert_eq!(applied(&policy, &nasty), (Effect::Write, false, Permission::Deny));
    }

    #[test]
    fn retries_need_an_idempotent_tool() {
        let definition = || ToolDefinition::new("find", "Finds.", json!({ "type": "object" }));
        let minute = Duration::from_secs(60);
        for (trust, retries) in
            [(Trust::new().max_retries(3), 0), (Trust::new().idempotent().max_retries(3), 3)]
        {
            let policy = TrustPolicy { server: trust, tools: HashMap::new() };
            let applied = policy.apply("s", definition(), None, minute);
            assert_eq!(applied.max_retries, retries);
            assert!(applied.validate().is_ok());
        }
    }
}
