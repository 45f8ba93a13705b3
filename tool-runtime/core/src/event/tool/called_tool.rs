use serde::{Deserialize, Serialize};

use crate::message::{Effect, ToolKind};

/// The tool that a call names, described for a screen.
///
/// ```
/// use tool_runtime::event::{Recorder, ToolEvent};
/// use tool_runtime::{Dispatcher, Effect, Registry, ToolCall, tool, tools};
///
/// /// Returns the time.
/// #[tool(title = "Clock", effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let recorder = Recorder::new(100);
/// let registry = Registry::try_from(tools![now])?;
/// let dispatcher = Dispatcher::new(registry).observer(recorder.clone());
/// dispatcher.dispatch(vec![ToolCall::new("1", "now", "{}")]).await;
/// let events = recorder.events();
/// let started = events[0].tool_event();
/// let Some(ToolEvent::Started { tool: Some(tool), .. }) = started else { panic!() };
/// assert_eq!((tool.title.as_deref(), tool.effect), (Some("Clock"), Effect::Read));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CalledTool {
    /// The name of the tool for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The side effect of the tool.
    pub effect: Effect,
    /// How the tool is implemented.
    pub kind: ToolKind,
    /// The name of the provider that registered the tool, if any, such as an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}
