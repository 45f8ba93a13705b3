/// The state of a connection to an MCP server.
///
/// ```
/// use tool_runtime::mcp::McpStatus;
///
/// let lost = McpStatus::Down { reason: "the server ended".into() };
/// assert!(!lost.is_connected());
/// assert_eq!(lost.to_string(), "down: the server ended");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpStatus {
    /// The first handshake is in progress.
    Connecting,
    /// The tools can be called.
    Connected {
        /// The negotiated revision of the protocol, such as `2025-11-25`.
        revision: String,
    },
    /// The connection was lost or could not be established. The client tries again in the
    /// background.
    Down {
        /// The error of the last attempt.
        reason: String,
    },
    /// The connection has ended permanently.
    Disconnected,
}

impl McpStatus {
    /// Returns `true` if the tools can be called.
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Returns the state as one word.
    pub(super) fn to_label(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected { .. } => "connected",
            Self::Down { .. } => "down",
            Self::Disconnected => "disconnected",
        }
    }

    /// Returns the state for a model, without the reason, which may contain text of the server.
    pub(super) fn to_model_text(&self) -> String {
        match self {
            // A model that reads this calls the tool again later.
            Self::Connecting => "starting".to_owned(),
            Self::Down { .. } => "down".to_owned(),
            status => status.to_string(),
        }
    }
}

impl std::fmt::Display for McpStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Connected { revision } => write!(f, "connected ({revision})"),
            Self::Down { reason } => write!(f, "down: {reason}"),
            Self::Disconnected => f.write_str("disconnected"),
        }
    }
}
