use std::fmt;
use std::sync::Arc;

use super::Granted;
use crate::dispatch::ApprovalRequest;
use crate::registry::Entry;
use crate::tool::{Permission, ToolDefinition, ToolError, ToolErrorKind};

type Predicate = dyn Fn(&ApprovalRequest) -> Option<Permission> + Send + Sync;

/// Which tools may run, other than what they say of themselves.
///
/// What is said of a tool goes before what is said of its provider, and both before the tool's own
/// word. A predicate that has something to say of the arguments goes before all of them, unless the
/// tool may not run at all; of several the strictest counts.
///
/// ```
/// use tool_runtime::Permission;
/// use tool_runtime::dispatch::Permissions;
///
/// let permissions = Permissions::default()
///     .provider("github", Permission::Ask)
///     .tool("read_file", Permission::Allow)
///     .when(|request| {
///         let path = request.arguments["path"].as_str()?;
///         path.starts_with("/etc").then_some(Permission::Deny)
///     });
/// # let _ = permissions;
/// ```
#[derive(Clone, Default)]
pub struct Permissions {
    tools: Vec<(String, Permission)>,
    providers: Vec<(String, Permission)>,
    predicates: Vec<Arc<Predicate>>,
}

impl Permissions {
    /// Says whether the tools that [go by](crate::registry#what-names-mean) this name may run. What
    /// forbids them, or has somebody asked, holds for all of them; what allows holds for the one that
    /// models call so or whose full name it is, so that nothing is allowed by a name that others have
    /// as well. What was said last counts.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, permission: Permission) -> Self {
        self.tools.push((name.into(), permission));
        self
    }

    /// Says whether the tools of a provider may run.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>, permission: Permission) -> Self {
        self.providers.push((name.into(), permission));
        self
    }

    /// Has this look at the arguments of each call of a tool that may run. None leaves it at what
    /// is said of the tool.
    #[must_use]
    pub fn when(
        mut self,
        predicate: impl Fn(&ApprovalRequest) -> Option<Permission> + Send + Sync + 'static,
    ) -> Self {
        self.predicates.push(Arc::new(predicate));
        self
    }

    /// Whether nothing is said.
    pub(in crate::dispatch) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.providers.is_empty() && self.predicates.is_empty()
    }

    /// Before the arguments are known.
    pub(in crate::dispatch) fn of_tool(&self, entry: &Entry) -> Permission {
        type Rule = (String, Permission);
        // What was said last counts.
        let said = |rules: &[Rule], is_meant: &dyn Fn(&Rule) -> bool| {
            rules.iter().rev().find(|rule| is_meant(rule)).map(|(_, permission)| *permission)
        };
        let definition = entry.definition();
        // A name that two providers' tools go by forbids both, and allows neither.
        let is_tool = |(name, permission): &Rule| {
            let is_it = name == definition.full_name() || *name == definition.name;
            is_it || *permission != Permission::Allow && definition.goes_by(name)
        };
        let is_provider = |(name, _): &Rule| entry.provider() == Some(name);
        let of_tool = said(&self.tools, &is_tool);
        let of_provider = || said(&self.providers, &is_provider);
        of_tool.or_else(of_provider).unwrap_or_else(|| entry.definition().permission)
    }

    pub(in crate::dispatch) fn looks_at_arguments(&self) -> bool {
        !self.predicates.is_empty()
    }

    /// With the arguments.
    pub(in crate::dispatch) fn of_call(
        &self,
        of_tool: Permission,
        request: &ApprovalRequest,
    ) -> Permission {
        let strictness = |permission: &Permission| match permission {
            Permission::Allow => 0,
            Permission::Ask => 1,
            Permission::Deny => 2,
        };
        let said = self.predicates.iter().filter_map(|predicate| predicate(request));
        said.max_by_key(strictness).unwrap_or(of_tool)
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

/// Whether a tool has all that it needs.
pub(in crate::dispatch) fn is_granted(
    tool: &ToolDefinition,
    granted: &Granted,
) -> Result<(), ToolError> {
    match tool.requires.iter().find(|needed| !granted.contains(*needed)) {
        None => Ok(()),
        Some(needed) => {
            let name = &tool.name;
            Err(denied(format!("`{name}` needs `{needed}`, which is not granted here.")))
        }
    }
}

pub(in crate::dispatch) fn not_allowed(tool: &ToolDefinition) -> ToolError {
    denied(format!("`{}` is not allowed here.", tool.name))
}

fn denied(text: String) -> ToolError {
    ToolError::new(ToolErrorKind::Denied, text)
}
