use super::Granted;
use crate::tool::{Permission, ToolDefinition, ToolError, ToolErrorKind};

/// Whether a tool may run.
pub(in crate::dispatch) fn permit(
    tool: &ToolDefinition,
    granted: &Granted,
) -> Result<(), ToolError> {
    let name = &tool.name;
    let denied = |text| Err(ToolError::new(ToolErrorKind::Denied, text));
    match tool.permission {
        Permission::Deny => return denied(format!("`{name}` is not allowed here.")),
        Permission::Ask => {
            return denied(format!("`{name}` needs approval, and there is nobody to ask."));
        }
        Permission::Allow => {}
    }
    match tool.requires.iter().find(|needed| !granted.contains(*needed)) {
        Some(needed) => denied(format!("`{name}` needs `{needed}`, which is not granted here.")),
        None => Ok(()),
    }
}
