//! The lookup of the tools that a text may call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::callee::Callee;
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// Namespaces that models write before a tool's name.
const NAMESPACES: [&str; 6] =
    ["functions.", "default_api.", "tools.", "tool.", "functions_", "functions:"];
/// Suffixes that models write after a tool's name, besides an index.
const SUFFIXES: [&str; 3] = ["_json", ".json", "json"];
/// Characters between a tool's name and an index.
const INDEX_SEPARATORS: [char; 4] = ['_', ':', '.', '#'];

/// Looks up the offered tools by the names that a model writes.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct ToolLookup<'d> {
    /// The first tool of each name.
    by_name: HashMap<&'d str, &'d ToolDefinition>,
    /// The only tool of each normalized name; `None` if several have it.
    by_normalized_name: HashMap<String, Option<&'d ToolDefinition>>,
    is_truncated: bool,
}

impl<'d> ToolLookup<'d> {
    /// Creates a lookup of `tools`, for a reply that is not truncated.
    pub fn new(tools: &[&'d ToolDefinition]) -> Self {
        let (mut by_name, mut by_normalized_name) = (HashMap::new(), HashMap::new());
        for tool in tools.iter().copied() {
            by_name.entry(tool.name.as_str()).or_insert(tool);
            match by_normalized_name.entry(normalized(&tool.name)) {
                Entry::Vacant(entry) => _ = entry.insert(Some(tool)),
                Entry::Occupied(mut entry) => _ = entry.insert(None),
            }
        }
        Self { by_name, by_normalized_name, is_truncated: false }
    }

    /// Sets whether the reply was truncated because the model ran out of tokens. Default: false.
    #[must_use]
    pub fn truncated(self, is_truncated: bool) -> Self {
        Self { is_truncated, ..self }
    }

    /// Returns true if the reply was truncated. A call that only the end of the text ends may then
    /// be incomplete.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Returns the tool with this name.
    ///
    /// An exact match takes precedence. Otherwise the lookup ignores, in this order:
    ///
    /// 1. a namespace such as `functions.`,
    /// 2. letter case, `-`, `_` and blanks, so that `getTime` is `get_time`,
    /// 3. the word `json` or an index at the end, as in `get_timejson` and `get_time_2`.
    ///
    /// The first step at which exactly one tool matches decides. If several match, none is
    /// returned.
    pub fn find(&self, name: &str) -> Option<&'d ToolDefinition> {
        let name = name.trim();
        if let Some(tool) = self.by_name.get(name) {
            return Some(tool);
        }
        let bare_name =
            NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace)).unwrap_or(name);
        if let Some(tool) = self.by_name.get(bare_name) {
            return Some(tool);
        }
        let own_name = without_suffix(bare_name);
        self.only_similar(bare_name).or_else(|| self.only_similar(own_name?))
    }

    /// Returns the only tool whose name differs in case and separators alone.
    fn only_similar(&self, name: &str) -> Option<&'d ToolDefinition> {
        self.by_normalized_name.get(&normalized(name)).copied().flatten()
    }

    /// Returns the tool that a marked call names, offered or not. Returns `None` if the name can't
    /// be that of a tool, or if no tools are offered.
    pub(crate) fn callee(&self, name: &str) -> Option<Callee<'d>> {
        if let Some(tool) = self.find(name) {
            return Some(Callee::offered(tool));
        }
        let bare_name = NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace));
        Callee::unknown(bare_name.unwrap_or(name).trim()).filter(|_| !self.by_name.is_empty())
    }

    /// Builds the call of the tool with this name, with the arguments as the model wrote them.
    ///
    /// Returns `None` if no such tool is offered, if the arguments are a placeholder such as
    /// `{...}`, or if they are the tool's own definition. Other arguments that can't be parsed are
    /// kept: the error of the tool names what the model has to correct.
    pub fn call(&self, name: &str, arguments: impl Into<String>) -> Option<ToolCall> {
        Callee::offered(self.find(name)?).call(arguments.into())
    }
}

/// Normalizes a name for comparison: `getTime`, `get-time` and `get_time` are the same.
fn normalized(name: &str) -> String {
    let letters = name.chars().filter(|c| !['-', '_', ' '].contains(c));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns a name without what a model wrote after it, if there is anything.
fn without_suffix(name: &str) -> Option<&str> {
    let own_name = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
    let own_name = own_name.or_else(|| {
        let rest = name.trim_end_matches(|c: char| c.is_ascii_digit());
        rest.strip_suffix(INDEX_SEPARATORS).filter(|_| rest.len() < name.len())
    });
    own_name.filter(|name| !name.is_empty())
}
