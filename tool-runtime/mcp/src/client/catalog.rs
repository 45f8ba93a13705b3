//! The tools of a server, as it listed them and as they are registered.

use rmcp::model::Tool;
use tool_runtime::Fingerprint;

use super::offered_features::OfferedFeatures;
use super::pins::{DefinitionChange, PinnedDefinition};

/// The tools of a server as they were last registered.
///
/// ```
/// use tool_mcp::ToolsReport;
///
/// fn show(report: &ToolsReport) {
///     for tool in &report.skipped {
///         println!("{} was skipped: {}", tool.name.as_deref().unwrap_or("?"), tool.reason);
///     }
///     for change in &report.pending {
///         println!("{} waits for an approval:\n{}", change.tool, change.diff);
///     }
/// }
/// # show(&ToolsReport::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolsReport {
    /// The full names of the registered tools, in the order of the server.
    pub registered: Vec<String>,
    /// The tools that are not registered, because they are invalid.
    pub skipped: Vec<SkippedServerTool>,
    /// The tools that are not registered until their definitions are approved.
    pub pending: Vec<DefinitionChange>,
    /// Whether the server has more tools than the [limits](crate::ListLimits) allow.
    pub is_truncated: bool,
}

/// A tool of a server that is not registered.
///
/// ```
/// use tool_mcp::SkippedServerTool;
///
/// fn show(tool: &SkippedServerTool) {
///     println!("tool {} was skipped: {}", tool.index, tool.reason);
/// }
/// # let _ = show;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedServerTool {
    /// The position in the list of the server.
    pub index: usize,
    /// The name, if the tool has one. It may be invalid, and a long name is truncated.
    pub name: Option<String>,
    /// Why the tool is not registered.
    pub reason: String,
}

/// The last list of a server, and its registration.
#[derive(Default)]
pub(super) struct Catalog {
    pub(super) tools: Vec<(usize, Tool, PinnedDefinition)>,
    pub(super) malformed: Vec<SkippedServerTool>,
    pub(super) is_truncated: bool,
    pub(super) features: OfferedFeatures,
    /// The names and fingerprints of the registered tools, so that an equal list changes nothing.
    pub(super) registered: Option<Vec<(String, Fingerprint)>>,
    pub(super) report: ToolsReport,
}
