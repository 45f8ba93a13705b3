//! The tools with which a model makes tools.
//!
//! 1. The spec is checked by itself and by the backend of its language (`check.rs`).
//! 2. The backend builds the tool, and its examples run (`examples.rs`).
//! 3. The [`Registrar`] stores the spec and registers the tool.
//!
//! `preview.rs` shows an approver the definition and the source. `connections.rs` keeps the
//! connections that a model makes to servers.
//!
//! # Invariants
//! - A tool is registered only if its spec is valid, it was built, and its examples passed.
//! - No tool changes, removes or replaces a tool that is not dynamic.

mod check;
mod connections;
mod examples;
mod preview;

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use tool_core::{Availability, Fingerprint, ToolContext, ToolError, ToolErrorKind, tool};

use crate::backend::availability;
use crate::catalog::{CatalogEntry, CatalogError, EntryContent, EntryId, EntryKind, EntryVersion};
use crate::registrar::{EntryState, EntryStatus, Registrar, RegistrarError};
use crate::spec::{CheckedSpec, ExampleCall, ToolSpec};
pub use connections::CatalogConnections;
use examples::{ExampleResult, accepted, call_examples, run_examples};

/// The characters of a description in the list of tools.
const MAX_LISTED_CHARS: usize = 200;

/// Tools with which a model makes tools at run time.
///
/// | tool | what it does |
/// |---|---|
/// | `new_tool` | makes a tool from its [`ToolSpec`], or a new version of one |
/// | `unregister_tool` | removes a tool with all of its versions |
/// | `tool_rollback` | returns to an earlier version of a tool |
/// | `tool_list` | lists the tools that were made |
/// | `tool_source` | returns the spec of a version |
/// | `tool_test` | calls a tool with its examples, or with others |
///
/// The first three ask for an approval, unless the policy
/// [allows](tool_core::dispatch::Permissions::tool) them. An approval is bound to the spec.
/// Add a clone to [`Policy::previewer`](tool_core::Policy::previewer): it shows the definition
/// and the source of each change to the approver. These tools can't change or remove a tool that is
/// not dynamic.
///
/// ```
/// use tool_runtime::dispatch::Permissions;
/// use tool_runtime::dynamic::{Catalog, DynamicTools, Registrar};
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::new();
/// let registrar = Registrar::builder(Catalog::new(MemoryRecords::new())).start(&registry).await?;
/// registry.register_all(tools![..DynamicTools::new(registrar)])?;
/// let allowed = Permissions::default().tool("new_tool", Permission::Allow);
/// let dispatcher = Dispatcher::new(registry).policy(Policy::new().permissions(allowed));
///
/// let spec = r#"{"name": "Sum", "description": "", "language": "rust", "body": "Ok(())"}"#;
/// let call = ToolCall::new("1", "new_tool", spec);
/// let text = &dispatcher.dispatch(vec![call]).await[0].result.text;
/// assert!(text.contains("`name`: expected") && text.contains("`description`: expected"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DynamicTools {
    registrar: Registrar,
    granted: BTreeSet<String>,
}

/// Returns the [`DynamicTools`] of a registrar, such as for `tools![..tools(&registrar)]`.
///
/// ```
/// use tool_runtime::dynamic::{Catalog, Registrar};
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::{Registry, tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
/// let registry = Registry::new();
/// let registrar = Registrar::builder(Catalog::new(MemoryRecords::new())).start(&registry).await?;
/// assert_eq!(tools![..tool_runtime::dynamic::tools(&registrar)].into_iter().count(), 6);
/// # Ok(())
/// # }
/// ```
pub fn tools(registrar: &Registrar) -> DynamicTools {
    DynamicTools::new(registrar.clone())
}

/// A tool in the list of dynamic tools.
#[derive(Debug, Serialize)]
struct ListedTool {
    name: String,
    version: u64,
    state: String,
    language: String,
    description: String,
}

/// A version of a tool with its source.
#[derive(Debug, Serialize)]
struct ToolSource {
    version: u64,
    versions: Vec<u64>,
    fingerprint: Option<Fingerprint>,
    spec: ToolSpec,
}

impl DynamicTools {
    /// Creates the tools with which a model makes, changes and removes the tools of a registrar.
    pub fn new(registrar: Registrar) -> Self {
        Self { registrar, granted: BTreeSet::new() }
    }

    /// Allows dynamic tools to declare a capability, such as `network`. Default: none.
    ///
    /// The policy has to grant it as well, before such a tool can be called. The examples of
    /// `new_tool` run with it.
    #[must_use]
    pub fn grant(mut self, capability: impl Into<String>) -> Self {
        self.granted.insert(capability.into());
        self
    }

    /// Checks and builds a tool, and runs its examples.
    async fn make(&self, spec: &ToolSpec, ctx: &ToolContext) -> Result<CheckedSpec, ToolError> {
        let (spec, backend) = self.check(spec)?;
        if let Availability::Unavailable(reason) = availability(&backend).await {
            let text = format!("No tool in {} can be made now: {reason}", spec.language());
            return Err(ToolError::new(ToolErrorKind::Unavailable, text));
        }
        let tool = backend.build(&spec).await?;
        let ran = run_examples(tool.as_ref(), &spec, ctx).await;
        ran.map_err(|error| match self.missing_tools(&spec) {
            Some(missing) => ToolError::new(error.kind(), format!("{}\n{missing}", error.text())),
            None => error,
        })?;
        Ok(spec)
    }

    /// Returns the spec of a version, whose fingerprint has to be this one.
    async fn earlier_version(
        &self,
        name: &str,
        version: u64,
        fingerprint: &str,
    ) -> Result<CheckedSpec, ToolError> {
        let spec = source(&self.entry(name).await?, Some(version))?.spec;
        let checked = spec.check().map_err(|errors| errors.to_tool_error())?;
        if checked.fingerprint().to_string() == fingerprint {
            return Ok(checked);
        }
        let text = "`fingerprint` is not the one of this version: call `tool_source` for it.";
        Err(ToolError::invalid_arguments(text))
    }

    /// Returns a dynamic tool.
    async fn entry(&self, name: &str) -> Result<CatalogEntry, ToolError> {
        let id = EntryId::tool(name);
        let entry = self.registrar.catalog().entry(&id).await;
        let entry = entry.map_err(|error| model_error(&error.into()))?;
        entry.ok_or_else(|| model_error(&CatalogError::NotFound { id }.into()))
    }
}

#[tool]
impl DynamicTools {
    /// Makes a tool from its spec, runs its examples, and registers it. You can call the tool
    /// from your next turn on. To change a tool that you made, send its whole spec again.
    #[tool(effect = "write", permission = "ask")]
    async fn new_tool(&self, spec: ToolSpec, ctx: &ToolContext) -> Result<String, ToolError> {
        let spec = self.make(&spec, ctx).await?;
        let (name, content) = (spec.name(), spec.spec().clone());
        let entry = self.registrar.catalog().entry(&EntryId::tool(name)).await;
        let is_new = entry.map_err(|error| model_error(&error.into()))?.is_none();
        let status = if is_new {
            self.registrar.create(name, content).await
        } else {
            self.registrar.replace(name, content).await
        };
        if let Err(RegistrarError::Catalog(
            CatalogError::AlreadyExists { .. } | CatalogError::NotFound { .. },
        )) = &status
        {
            let text = format!(
                "`{name}` was made or removed by another call at the same time. See `tool_list`, \
                 and call `new_tool` again if you still need the tool."
            );
            return Err(ToolError::failed(text));
        }
        let text = report(status)?;
        Ok(match self.missing_tools(&spec) {
            Some(missing) => format!("{text}\n{missing}"),
            None => text,
        })
    }

    /// Removes a tool that was made by `new_tool`, with all of its versions.
    #[tool(effect = "write", permission = "ask")]
    async fn unregister_tool(&self, name: String) -> Result<String, ToolError> {
        let removed = self.registrar.remove(&EntryId::tool(&name)).await;
        removed.map_err(|error| model_error(&error))?;
        Ok(format!("`{name}` was removed."))
    }

    /// Returns to an earlier version of a tool that was made by `new_tool`.
    #[tool(effect = "write", permission = "ask")]
    async fn tool_rollback(
        &self,
        name: String,
        /// The number of the version.
        version: u64,
        /// The fingerprint of the version, as `tool_source` returns it.
        fingerprint: String,
    ) -> Result<String, ToolError> {
        let spec = self.earlier_version(&name, version, &fingerprint).await?;
        self.check(spec.spec())?;
        let (id, content) = (EntryId::tool(&name), spec.spec().clone().into());
        let text = report(self.registrar.roll_back_to(&id, version, content).await)?;
        Ok(format!("{text} It has the content of version {version}."))
    }

    /// Lists the tools that were made by `new_tool`.
    #[tool(effect = "read")]
    async fn tool_list(&self) -> Result<Vec<ListedTool>, ToolError> {
        let contents = self.registrar.catalog().contents().await;
        let contents = contents.map_err(|error| model_error(&error.into()))?;
        let entries = contents.entries.iter().filter(|it| it.id().kind() == EntryKind::Tool);
        Ok(entries.filter_map(|entry| self.listed(entry)).collect())
    }

    /// Returns the spec of a tool that was made by `new_tool`, with its body.
    #[tool(effect = "read")]
    async fn tool_source(
        &self,
        name: String,
        /// The number of an earlier version.
        version: Option<u64>,
    ) -> Result<ToolSource, ToolError> {
        source(&self.entry(&name).await?, version)
    }

    /// Calls a tool that was made by `new_tool` with its examples, or with others, and compares
    /// the outputs.
    #[tool(effect = "external")]
    async fn tool_test(
        &self,
        name: String,
        /// Calls to make instead of the examples of the tool, at most 16.
        examples: Option<Vec<ExampleCall>>,
        ctx: &ToolContext,
    ) -> Result<Vec<ExampleResult>, ToolError> {
        let entry = self.entry(&name).await?;
        let examples = match examples {
            Some(examples) => accepted(examples)?,
            None => source(&entry, None)?.spec.examples,
        };
        if examples.is_empty() {
            let text = format!("`{name}` has no examples: send the calls to make as `examples`.");
            return Err(ToolError::invalid_arguments(text));
        }
        let status = self.registrar.status(entry.id());
        let registered = status.and_then(|status| status.tools.into_iter().next());
        let Some(tool_name) = registered else {
            let text = format!("`{name}` is not registered now. See `tool_list`.");
            return Err(ToolError::new(ToolErrorKind::Unavailable, text));
        };
        Ok(call_examples(&tool_name, &examples, ctx).await)
    }
}

impl DynamicTools {
    fn listed(&self, entry: &CatalogEntry) -> Option<ListedTool> {
        let EntryContent::Tool(spec) = &entry.current().content else { return None };
        let status = self.registrar.status(entry.id());
        Some(ListedTool {
            name: spec.name.clone(),
            version: entry.current().number,
            state: status.map_or_else(|| "not applied".into(), |status| status.state.to_string()),
            language: spec.language.to_string(),
            description: spec.description.chars().take(MAX_LISTED_CHARS).collect(),
        })
    }
}

/// Returns a version of a tool, by default the current one.
fn source(entry: &CatalogEntry, version: Option<u64>) -> Result<ToolSource, ToolError> {
    let versions: Vec<_> = entry.versions().map(|version| version.number).collect();
    let number = version.unwrap_or_else(|| entry.current().number);
    let found = entry.versions().find(|version| version.number == number);
    match found {
        Some(EntryVersion { content: EntryContent::Tool(spec), .. }) => Ok(ToolSource {
            version: number,
            versions,
            fingerprint: spec.check().ok().map(|spec| spec.fingerprint()),
            spec: ToolSpec::clone(spec),
        }),
        _ => {
            let text = format!("There is no version {number}, only {versions:?}.");
            Err(ToolError::invalid_arguments(text))
        }
    }
}

/// Describes a change to the model.
fn report(status: Result<EntryStatus, RegistrarError>) -> Result<String, ToolError> {
    let status = status.map_err(|error| model_error(&error))?;
    let name = status.id.name();
    let version = status.version;
    match status.state {
        EntryState::Unavailable { reason } => {
            let text =
                format!("`{name}` was stored as version {version}, but it can't run: {reason}");
            Err(ToolError::new(ToolErrorKind::Unavailable, text))
        }
        _ => {
            let tool_name = status.tools.first().map_or(name, String::as_str);
            Ok(format!(
                "Version {version} is registered. Call it as `{tool_name}` from your next turn on."
            ))
        }
    }
}

/// Returns an error for the model that asked for a change.
fn model_error(error: &RegistrarError) -> ToolError {
    match error {
        RegistrarError::Catalog(CatalogError::NotFound { id }) => {
            let name = id.name();
            ToolError::invalid_arguments(format!(
                "No tool `{name}` was made by `new_tool`: see `tool_list`."
            ))
        }
        RegistrarError::NameTaken { id } => {
            let name = id.name();
            ToolError::invalid_arguments(format!(
                "The program has a tool or provider `{name}`, which can't be changed: use another \
                 `name`."
            ))
        }
        RegistrarError::NoBackend { language, .. } => ToolError::failed(format!(
            "The tool was not made: the program has no backend for `{language}`. Use another `language`."
        )),
        other => ToolError::failed(format!(
            "The change failed: {other}. Call `tool_list` for what is stored."
        )),
    }
}

impl fmt::Debug for DynamicTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicTools").field("granted", &self.granted).finish_non_exhaustive()
    }
}
