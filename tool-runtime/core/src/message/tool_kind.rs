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

/// The side effect of running a tool. It determines how careful the runtime is.
///
/// ```
/// use tool_runtime::{Effect, Repair};
///
/// assert_eq!(Effect::default(), Effect::External);
/// assert_eq!(Repair::of_effect(Effect::Read), Repair::Lossy);
/// assert_eq!(Repair::of_effect(Effect::External), Repair::Inferred);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// No effect: the output depends on the arguments only.
    None,
    /// Reads state outside of the tool and does not change it.
    Read,
    /// Changes state that the program owns.
    Write,
    /// Changes state that the program does not own, such as by mail or a payment. This is the
    /// default.
    #[default]
    External,
}
