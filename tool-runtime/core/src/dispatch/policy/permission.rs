use std::fmt;
use std::sync::Arc;

use super::Granted;
use crate::dispatch::ApprovalRequest;
use crate::registry::Entry;
use crate::tool::{Permission, RunContext, ToolDefinition, ToolError, ToolErrorKind};

/// The name of a tool or a provider, and its permission.
type Rule = (String, Permission);

type Predicate = dyn Fn(&ApprovalRequest, &RunContext<'_>) -> Option<CallPermission> + Send + Sync;

/// The permission of one call, with the reason of a denial, which the model reads.
pub(in crate::dispatch) struct CallPermission {
    pub(in crate::dispatch) permission: Permission,
    pub(in crate::dispatch) reason: Option<String>,
}

impl CallPermission {
    /// Returns the order of permissions. A denial with a reason comes last, so that no other denial
    /// hides the reason.
    fn strictness(&self) -> (u8, bool) {
        let strictness = match self.permission {
            Permission::Allow => 0,
            Permission::Ask => 1,
            Permission::Deny => 2,
        };
        (strictness, self.reason.is_some())
    }
}

impl From<Permission> for CallPermission {
    fn from(permission: Permission) -> Self {
        Self { permission, reason: None }
    }
}

/// Rules that override the permissions which tools declare for themselves.
///
/// The rules apply in this order:
///
/// 1. A rule for the tool, by [`tool`](Self::tool).
/// 2. A rule for the provider of the tool, by [`provider`](Self::provider).
/// 3. The permission that the tool declares.
///
/// If the result is not [`Permission::Deny`], the predicates of [`when`](Self::when) and
/// [`deny_when`](Self::deny_when) examine the arguments of each call. A predicate that returns a
/// permission overrides the result; of several, the strictest applies.
///
/// ```
/// use tool_runtime::dispatch::Permissions;
/// use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, tool, tools};
///
/// /// Reads a file.
/// #[tool(effect = "read")]
/// async fn read_file(path: String) -> String {
///     format!("the content of {path}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let permissions = Permissions::default()
///     .provider("github", Permission::Ask)
///     .tool("read_file", Permission::Allow)
///     .when(|request, _| {
///         let path = request.arguments["path"].as_str()?;
///         path.starts_with("/etc").then_some(Permission::Deny)
///     });
///
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![read_file])?)
///     .policy(Policy::new().permissions(permissions));
/// let calls = ["/etc/passwd", "notes.txt"]
///     .map(|path| ToolCall::new(path, "read_file", format!(r#"{{"path": "{path}"}}"#)));
/// let executions = dispatcher.dispatch(calls.into()).await;
/// assert_eq!(executions[0].result.text, "`read_file` is not allowed here.");
/// assert_eq!(executions[1].result.text, "the content of notes.txt");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Permissions {
    tools: Vec<Rule>,
    providers: Vec<Rule>,
    predicates: Vec<Arc<Predicate>>,
}

impl Permissions {
    /// Sets the permission of the tools with this [name](crate::registry#tool-names).
    ///
    /// `Deny` and `Ask` apply to every tool with the name. `Allow` matches only the model-visible
    /// name or the full name, so that a shared name never allows a tool by accident. If several
    /// rules match, the last one applies. [`Agent::check`](crate::Agent::check) reports a rule that
    /// applies to no tool.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, permission: Permission) -> Self {
        self.tools.push((name.into(), permission));
        self
    }

    /// Sets the permission of all tools of a tool provider.
    ///
    /// If several rules name the provider, the last one applies.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>, permission: Permission) -> Self {
        self.providers.push((name.into(), permission));
        self
    }

    /// Adds a predicate that examines each call that is not already denied: its arguments, and the
    /// run that it belongs to.
    ///
    /// The predicate returns `None` to leave the permission of the tool unchanged. A predicate that
    /// panics denies the call. To deny a call with a reason, use [`deny_when`](Self::deny_when).
    #[must_use]
    pub fn when(
        self,
        predicate: impl Fn(&ApprovalRequest, &RunContext<'_>) -> Option<Permission>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.predicate(move |request, run| predicate(request, run).map(Into::into))
    }

    /// Adds a predicate that denies calls, and returns the reason that the model reads.
    ///
    /// The reason follows `is not allowed here: `, so write what the model may do instead. The
    /// predicate returns `None` to leave the permission of the tool unchanged. A predicate that
    /// panics denies the call.
    ///
    /// ```
    /// use tool_runtime::dispatch::Permissions;
    /// use tool_runtime::{Dispatcher, Policy, Registry, tool, tools};
    ///
    /// /// Deletes a file.
    /// #[tool]
    /// async fn delete(path: String) {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let permissions = Permissions::default().deny_when(|request, _| {
    ///     let path = request.arguments["path"].as_str()?;
    ///     path.starts_with('/').then(|| "send a path below the workspace.".to_owned())
    /// });
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![delete])?)
    ///     .policy(Policy::new().permissions(permissions));
    /// let execution = dispatcher.call("delete", serde_json::json!({ "path": "/etc" })).await;
    /// let text = "`delete` is not allowed here: send a path below the workspace.";
    /// assert_eq!(execution.result.text, text);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deny_when(
        self,
        predicate: impl Fn(&ApprovalRequest, &RunContext<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.predicate(move |request, run| {
            let reason = predicate(request, run)?;
            Some(CallPermission { permission: Permission::Deny, reason: Some(reason) })
        })
    }

    fn predicate(
        mut self,
        predicate: impl Fn(&ApprovalRequest, &RunContext<'_>) -> Option<CallPermission>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.predicates.push(Arc::new(predicate));
        self
    }

    /// Whether there are no rules.
    pub(in crate::dispatch) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.providers.is_empty() && self.predicates.is_empty()
    }

    /// Returns the permission of a tool, before the arguments of a call are known.
    pub(in crate::dispatch) fn for_tool(&self, entry: &Entry) -> Permission {
        let last_match = |rules: &[Rule], matches: &dyn Fn(&Rule) -> bool| {
            rules.iter().rev().find(|rule| matches(rule)).map(|(_, permission)| *permission)
        };
        let is_tool = |rule: &Rule| is_about(rule, entry.definition());
        let is_provider = |(name, _): &Rule| entry.provider() == Some(name);
        let tool_rule = last_match(&self.tools, &is_tool);
        let provider_rule = || last_match(&self.providers, &is_provider);
        tool_rule.or_else(provider_rule).unwrap_or_else(|| entry.definition().permission)
    }

    /// Returns the names of the rules for tools that apply to none of these tools, in order.
    pub(in crate::dispatch) fn unmatched_tools<'p>(&'p self, tools: &[&Entry]) -> Vec<&'p str> {
        let is_unmatched =
            |rule: &&Rule| !tools.iter().any(|entry| is_about(rule, entry.definition()));
        self.tools.iter().filter(is_unmatched).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the names in the rules for providers.
    pub(in crate::dispatch) fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|(name, _)| name.as_str())
    }

    /// Whether calls are examined with their arguments.
    pub(in crate::dispatch) fn has_predicates(&self) -> bool {
        !self.predicates.is_empty()
    }

    /// Returns the permission of a call whose tool has the permission `tool_permission`.
    pub(in crate::dispatch) fn for_call(
        &self,
        tool_permission: Permission,
        request: &ApprovalRequest,
        run: RunContext<'_>,
    ) -> CallPermission {
        let matches = self.predicates.iter().filter_map(|predicate| predicate(request, &run));
        let strictest = matches.max_by_key(CallPermission::strictness);
        strictest.unwrap_or_else(|| tool_permission.into())
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permissions")
            .field("tools", &self.tools)
            .field("providers", &self.providers)
            .field("predicates", &self.predicates.len())
            .finish()
    }
}

/// Returns `true` if a rule for tools applies to this one.
fn is_about((name, permission): &Rule, tool: &ToolDefinition) -> bool {
    let is_exact = name == tool.full_name() || *name == tool.name;
    // A name that is shared by tools of two providers may restrict both, but allows neither.
    is_exact || *permission != Permission::Allow && tool.has_name(name)
}

/// Checks that every capability which a tool requires is granted.
pub(in crate::dispatch) fn check_capabilities(
    tool: &ToolDefinition,
    granted: &Granted,
) -> Result<(), ToolError> {
    match tool.requires.iter().find(|required| !granted.contains(*required)) {
        None => Ok(()),
        Some(missing) => {
            let name = &tool.name;
            Err(denied(format!("`{name}` needs `{missing}`, which is not granted here.")))
        }
    }
}

/// Returns the error of a call whose permission is `Deny`.
pub(in crate::dispatch) fn not_allowed(tool: &ToolDefinition, reason: Option<&str>) -> ToolError {
    denied(match reason {
        Some(reason) => format!("`{}` is not allowed here: {reason}", tool.name),
        None => format!("`{}` is not allowed here.", tool.name),
    })
}

fn denied(text: String) -> ToolError {
    ToolError::new(ToolErrorKind::Denied, text)
}
