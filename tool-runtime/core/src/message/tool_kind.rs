use std::fmt;

use serde::{Deserialize, Serialize};

/// The way in which a tool is implemented. Events, executions, reports and spans record it. It does
/// not change how the tool runs.
///
/// ```
/// use tool_runtime::{Registry, ToolKind, tool, tools};
///
/// /// Shows the last commits.
/// #[tool(effect = "read", cli = "git")]
/// async fn last_commits() {}
///
/// let tools = Registry::try_from(tools![last_commits])?.snapshot();
/// let kind = &tools.definition("last_commits").unwrap().kind;
/// assert_eq!(*kind, ToolKind::Program("git".into()));
/// assert_eq!((kind.name(), kind.to_string().as_str()), ("program", "program git"));
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Rust code of the program itself.
    #[default]
    Function,
    /// An executable of this name, which must be on `PATH`.
    Program(String),
    /// A tool that the server of this name runs.
    Remote(String),
    /// A tool that was made at run time, with a body in this language.
    Dynamic(String),
}

impl ToolKind {
    /// Returns the serialized name of the kind, such as `remote`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Program(_) => "program",
            Self::Remote(_) => "remote",
            Self::Dynamic(_) => "dynamic",
        }
    }

    /// Returns the name of the executable, the server or the language.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Function => None,
            Self::Program(detail) | Self::Remote(detail) | Self::Dynamic(detail) => Some(detail),
        }
    }
}

/// Writes the name and the detail, such as `remote github`.
impl fmt::Display for ToolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.detail().map_or(Ok(()), |detail| write!(f, " {detail}"))
    }
}
