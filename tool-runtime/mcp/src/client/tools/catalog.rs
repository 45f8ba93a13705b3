//! The tools of a server, as it listed them and as they are registered.

use std::collections::{BTreeMap, HashMap};

use rmcp::model::Tool;
use tool_core::Fingerprint;

use crate::client::features::offered_features::OfferedFeatures;
use crate::client::pins::{DefinitionChange, PinnedDefinition};
use crate::client::tools::text::clean_line;

/// The number of characters of the name of a tool that are reported.
const MAX_NAME_CHARS: usize = 200;

/// The tools of a server as they were last registered.
///
/// ```
/// use tool_runtime::mcp::ToolsReport;
///
/// fn show(report: &ToolsReport) {
///     for tool in &report.skipped {
///         println!("{} was skipped: {}", tool.name.as_deref().unwrap_or("?"), tool.reason);
///     }
///     for change in &report.pending {
///         println!("{} waits for an approval:\n{}", change.tool, change.diff);
///     }
///     for name in &report.unmatched_trust {
///         println!("the trust in {name} applies to no tool");
///     }
/// }
/// # show(&ToolsReport::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolsReport {
    /// The full names of the registered tools, in the order in which the server listed them when
    /// they were registered. The order in which models are offered tools does not depend on it.
    pub registered: Vec<String>,
    /// The tools that are not registered, because they are invalid.
    pub skipped: Vec<SkippedServerTool>,
    /// The tools that are not registered until their definitions are approved.
    pub pending: Vec<DefinitionChange>,
    /// The names of the settings of [`trust_tool`](crate::McpClient::trust_tool) that apply to no
    /// tool of the list, sorted: they are misspelled, or the server has no such tool now.
    pub unmatched_trust: Vec<String>,
    /// Whether the server has more tools than the [limits](crate::ListLimits) allow.
    pub is_truncated: bool,
}

/// A tool of a server that is not registered.
///
/// ```
/// use tool_runtime::mcp::SkippedServerTool;
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
    /// The reason why the tool is not registered.
    pub reason: String,
}

/// Returns the name of a tool as it is reported.
pub(crate) fn reported_name(tool: &Tool) -> String {
    clean_line(&tool.name, MAX_NAME_CHARS)
}

/// The last list of a server, and its registration.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<(usize, Tool, PinnedDefinition)>,
    pub(crate) malformed: Vec<SkippedServerTool>,
    pub(crate) is_truncated: bool,
    pub(crate) features: OfferedFeatures,
    /// The number of the list.
    pub(crate) number: u64,
    /// The last registration, so that an equal list changes nothing, and the tools that the
    /// registry refused.
    pub(crate) registered: Option<(Registered, Vec<SkippedServerTool>)>,
    pub(crate) report: ToolsReport,
}

/// The tools of the server and the features that were registered.
#[derive(PartialEq)]
pub(crate) struct Registered {
    /// The fingerprints of the tools of the server by name, because their order changes nothing.
    pub(crate) tools: BTreeMap<String, Fingerprint>,
    pub(crate) features: OfferedFeatures,
}

impl Catalog {
    /// Returns `true` if the server lists a tool with this name, whether it is registered or not.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        let is_malformed = || {
            let mut names = self.malformed.iter().filter_map(|tool| tool.name.as_deref());
            names.any(|malformed| malformed == name)
        };
        self.tool(name).is_some() || is_malformed()
    }

    /// Returns the tool of the server with this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().map(|(_, tool, _)| tool).find(|tool| tool.name == name)
    }

    /// Returns the tools that are not registered: those that are malformed, and those that the
    /// registry refused.
    pub(crate) fn skipped(&self, refused: &[SkippedServerTool]) -> Vec<SkippedServerTool> {
        let mut skipped = self.malformed.clone();
        if !refused.is_empty() {
            // A tool can move in the list.
            let index_of: HashMap<_, _> =
                self.tools.iter().map(|(index, tool, _)| (reported_name(tool), *index)).collect();
            skipped.extend(refused.iter().cloned().map(|mut tool| {
                let index = tool.name.as_ref().and_then(|name| index_of.get(name));
                tool.index = index.copied().unwrap_or(tool.index);
                tool
            }));
        }
        skipped.sort_by_key(|tool| tool.index);
        skipped
    }
}
