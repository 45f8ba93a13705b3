use std::process::ExitStatus;

use serde::{Deserialize, Serialize};

/// A process that a tool started.
///
/// `ToolContext::command` records its processes by itself.
///
/// ```
/// use tool_runtime::event::ProcessStart;
///
/// let started = ProcessStart::new("npm run dev").pid(4711).in_background();
/// assert!(started.background);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessStart {
    /// The command line, without the environment, which often holds keys.
    pub command: String,
    /// The id that the operating system assigned, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Whether the process may outlive the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

/// The end of a process that a tool started.
///
/// ```
/// use tool_runtime::event::ProcessEnd;
///
/// let ended = ProcessEnd::new().pid(4711).code(1);
/// assert_eq!((ended.code, ended.signal), (Some(1), None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessEnd {
    /// The id of the process, as in its [`ProcessStart`], if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The exit code; `None` if a signal ended the process, or if the code is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The number of the signal that ended the process, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

impl ProcessStart {
    /// Creates the record of a process that was started by this command line.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), pid: None, background: false }
    }

    /// Sets the id of the process.
    #[must_use]
    pub fn pid(mut self, pid: u32) -> Self {
        self.pid = Some(pid);
        self
    }

    /// Marks the process as one that may outlive the call.
    #[must_use]
    pub fn in_background(mut self) -> Self {
        self.background = true;
        self
    }
}

impl ProcessEnd {
    /// Creates the record of the end of a process about which nothing else is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the id of the process.
    #[must_use]
    pub fn pid(mut self, pid: u32) -> Self {
        self.pid = Some(pid);
        self
    }

    /// Sets the exit code.
    #[must_use]
    pub fn code(mut self, code: i32) -> Self {
        self.code = Some(code);
        self
    }

    /// Sets the number of the signal that ended the process.
    #[must_use]
    pub fn signal(mut self, signal: i32) -> Self {
        self.signal = Some(signal);
        self
    }
}

impl From<ExitStatus> for ProcessEnd {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        Self { pid: None, code: status.code(), signal }
    }
}
