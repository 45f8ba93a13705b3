use std::sync::Arc;

use super::pins::DefinitionChange;

/// An event of a connection, for logs and user interfaces.
///
/// Texts of the server are stripped of invisible characters and truncated. They may still contain
/// secrets and are untrusted. Calls emit the usual [events](tool_core::event) of a dispatcher.
///
/// ```
/// use tool_runtime::mcp::{McpClient, McpEvent};
///
/// let client = McpClient::stdio("my-server").on_event(|server, event| match event {
///     McpEvent::Disconnected { reason } => println!("{server}: lost: {reason}"),
///     McpEvent::Stderr { line } => println!("{server}: {line}"),
///     _ => {}
/// });
/// # let _ = client;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum McpEvent {
    /// The handshake with the server succeeded.
    Connected {
        /// The negotiated revision of the protocol, such as `2025-11-25`.
        revision: String,
    },
    /// The connection was lost, or could not be established.
    Disconnected {
        /// The cause, for operators. If the program of the server ended, its exit status and the
        /// end of its standard error.
        reason: String,
    },
    /// The server demanded an authorization that could not be obtained.
    AuthorizationFailed {
        /// The cause, for operators.
        reason: String,
    },
    /// The tools of the server were registered.
    ToolsRegistered {
        /// The number of registered tools.
        registered: usize,
        /// The number of tools that were not registered, because they are invalid.
        skipped: usize,
        /// The number of tools that wait for an approval.
        pending: usize,
    },
    /// Settings of [`trust_tool`](crate::McpClient::trust_tool) apply to no tool of the list.
    UnmatchedTrust {
        /// The names of the settings, sorted.
        tools: Vec<String>,
    },
    /// The list of tools could not be renewed. The previous tools stay registered.
    ListFailed {
        /// The cause, for operators.
        reason: String,
    },
    /// A tool is not offered until its new definition is approved.
    DefinitionChanged(Box<DefinitionChange>),
    /// The server wrote a line to its standard error.
    Stderr {
        /// The line without its ending.
        line: String,
    },
    /// The server sent a log message.
    Log {
        /// The severity, such as `warning`.
        level: String,
        /// The message, or its data as JSON.
        text: String,
    },
    /// A resource that the program subscribed to has changed.
    ResourceUpdated {
        /// The URI of the resource.
        uri: String,
    },
    /// The list of resources has changed.
    ResourcesChanged,
    /// The list of prompts has changed.
    PromptsChanged,
    /// Notifications were dropped, because too many arrived.
    NotificationsDropped {
        /// The number of dropped notifications.
        count: u64,
    },
    /// The stream on which the server sends notifications over HTTP can't be opened, or a server of
    /// the revision 2026-07-28 refuses the subscription to its changes. The client tries again
    /// until it can.
    NotificationsInterrupted {
        /// The cause, for operators.
        reason: String,
    },
    /// The stream of notifications, or the subscription, is open again after it had ended. The list
    /// of tools is renewed, because the notification of a change may have been lost.
    NotificationsResumed,
}

/// Receives events.
type Hook = dyn Fn(&str, &McpEvent) + Send + Sync;

/// The function of the program that receives events, if there is one.
#[derive(Clone, Default)]
pub(super) struct EventHook(Option<Arc<Hook>>);

impl EventHook {
    pub(super) fn new(hook: impl Fn(&str, &McpEvent) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// Calls the hook. A panic of it must not end the connection.
    pub(super) fn emit(&self, server: &str, event: &McpEvent) {
        if let Some(hook) = &self.0 {
            let call = std::panic::AssertUnwindSafe(|| hook(server, event));
            let _ = std::panic::catch_unwind(call);
        }
    }
}
