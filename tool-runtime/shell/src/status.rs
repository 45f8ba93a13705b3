//! The confinement of commands on this machine.

use std::fmt;

use serde::Serialize;

/// The sandbox of a [`Shell`](crate::Shell), as this machine enforces it.
///
/// Approvers see the status, and each call that runs a command records it as the effect `sandbox`.
///
/// ```
/// use tool_runtime::shell::{Sandbox, Shell};
///
/// if let Ok(status) = Shell::new(".", Sandbox::read_only()).check() {
///     assert_eq!(status.sandbox(), "read-only");
///     assert!(status.is_confined());
///     for missing in status.not_enforced() {
///         println!("not enforced: {missing}");
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SandboxStatus {
    pub(crate) sandbox: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enforced_by: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_enforced: Vec<String>,
}

impl SandboxStatus {
    /// Returns the name of the sandbox: `read-only`, `workspace-write` or `none`.
    pub fn sandbox(&self) -> &str {
        self.sandbox
    }

    /// Returns what enforces the sandbox, such as `bubblewrap 0.8.0`; `None` without a sandbox.
    pub fn enforced_by(&self) -> Option<&str> {
        self.enforced_by.as_deref()
    }

    /// Returns the limits and protections that this machine can't enforce.
    pub fn not_enforced(&self) -> &[String] {
        &self.not_enforced
    }

    /// Returns `true` if commands run in a sandbox.
    pub fn is_confined(&self) -> bool {
        self.enforced_by.is_some()
    }
}

impl fmt::Display for SandboxStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(mechanism) = &self.enforced_by else {
            return write!(f, "{}: commands have all rights of the program", self.sandbox);
        };
        write!(f, "{}, enforced by {mechanism}", self.sandbox)?;
        if self.not_enforced.is_empty() {
            return Ok(());
        }
        write!(f, "; not enforced: {}", self.not_enforced.join(", "))
    }
}
