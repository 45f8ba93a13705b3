use std::fmt;
use std::sync::Arc;

use crate::event::CalledTool;
use crate::guard::catch_panic;
use crate::registry::tools::RegistrationOptions;
use crate::registry::{RegistryError, labels, naming};
use crate::schema::SchemaConversion;
use crate::tool::{Availability, Tool, ToolDefinition, ToolPreference};

/// A registered tool and its definition.
///
/// The definition is read once, when the tool is registered, so that it can neither change nor
/// panic between two calls.
///
/// ```
/// use tool_runtime::{Registry, tool, tools};
///
/// /// Finds issues.
/// #[tool(effect = "read")]
/// async fn find(query: String) -> String {
///     query
/// }
///
/// let registry = Registry::new();
/// registry.register_all_from("github", tools![find])?;
/// let tools = registry.snapshot();
/// let entry = tools.entry("find").unwrap();
/// assert_eq!(entry.provider(), Some("github"));
/// assert_eq!((entry.name(), entry.full_name()), ("find", "github__find"));
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone)]
pub struct Entry {
    tool: Arc<dyn Tool>,
    provider: Option<Arc<str>>,
    options: RegistrationOptions,
    /// The definition of the tool itself.
    registered: Arc<ToolDefinition>,
    /// The description in a store.
    description: Option<Arc<str>>,
    /// The preference in a store.
    preference: Option<Arc<ToolPreference>>,
    /// The definition that models receive: with a unique name, the description in a store, and the
    /// preference in a store or the one that was set.
    effective: Arc<ToolDefinition>,
    is_called_by_own_name: bool,
    decodes_arguments: bool,
}

impl Entry {
    /// Reads the definition of a tool, which is foreign code.
    pub(crate) fn new(
        tool: Arc<dyn Tool>,
        provider: Option<Arc<str>>,
        options: RegistrationOptions,
    ) -> Result<Self, RegistryError> {
        let provider_name = provider.as_deref();
        // Validated before it is cloned, because it may be arbitrarily large.
        let validated = || {
            let definition = tool.definition();
            let decodes_arguments = tool.decodes_arguments();
            definition.validate().map(|()| (definition.clone(), decodes_arguments))
        };
        let registered = catch_panic(validated)
            .map_err(|panic| RegistryError::panicked(provider_name, &panic.to_string()))?;
        let (registered, decodes_arguments) =
            registered.map_err(|error| RegistryError::definition(provider_name, error))?;
        if let Some(provider) = provider_name {
            naming::check_length(provider, &registered.name)?;
        }
        let registered = Arc::new(registered.with_provider(provider_name));
        labels::check(registered.full_name(), &options.labels)?;
        let effective = Arc::clone(&registered);
        Ok(Self {
            tool,
            provider,
            options,
            registered,
            description: None,
            preference: None,
            effective,
            is_called_by_own_name: true,
            decodes_arguments,
        })
    }

    /// Returns the entry with its parameters expressed in this dialect.
    pub(crate) fn in_dialect(
        entry: &Arc<Self>,
        conversion: SchemaConversion,
    ) -> Result<Arc<Self>, RegistryError> {
        if entry.registered.wire_parameters().dialect() == conversion.dialect() {
            return Ok(Arc::clone(entry));
        }
        let registered = ToolDefinition::clone(&entry.registered).for_dialect(conversion);
        let registered =
            registered.map_err(|error| RegistryError::definition(entry.provider(), error))?;
        let registered = Arc::new(registered);
        Ok(Arc::new(Self { effective: Arc::clone(&registered), registered, ..Self::clone(entry) }))
    }

    /// Returns the implementation of the tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// Returns whether the tool repairs, validates and decodes its arguments itself.
    pub(crate) fn decodes_arguments(&self) -> bool {
        self.decodes_arguments
    }

    /// Returns the definition that models receive.
    pub fn definition(&self) -> &ToolDefinition {
        &self.effective
    }

    /// Returns the definition that models receive, as a shared pointer.
    pub fn shared_definition(&self) -> &Arc<ToolDefinition> {
        &self.effective
    }

    /// Returns what observers receive of the tool at the start of a call.
    pub(crate) fn called_tool(&self) -> CalledTool {
        let definition = self.definition();
        CalledTool {
            title: definition.title.clone(),
            effect: definition.effect,
            kind: definition.kind.clone(),
            provider: self.provider().map(ToOwned::to_owned),
        }
    }

    /// Returns the name of the provider under which the tool is registered.
    pub fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// Returns the labels with which the tool is registered, sorted.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.options.labels.iter().map(AsRef::as_ref)
    }

    /// Returns `true` if the tool is registered with this label.
    pub fn has_label(&self, label: &str) -> bool {
        self.options.labels.contains(label)
    }

    /// Returns the name by which models call the tool. It can change when other tools are added or
    /// removed.
    pub fn name(&self) -> &str {
        &self.effective.name
    }

    /// Returns the name in the definition of the tool itself. Tools of other providers can have the
    /// same own name.
    pub fn own_name(&self) -> &str {
        &self.registered.name
    }

    /// Returns the name that is unique and never changes: see [`ToolDefinition::full_name`].
    pub fn full_name(&self) -> &str {
        self.registered.full_name()
    }

    /// Returns whether the tool can run now, and the reason if not.
    ///
    /// If [`Tool::availability`] panics, the tool is unavailable.
    pub fn availability(&self) -> Availability {
        catch_panic(|| self.tool.availability())
            .unwrap_or_else(|panic| Availability::Unavailable(panic.to_string()))
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.effective.preference.enabled
    }

    pub(crate) fn is_called_by_own_name(&self) -> bool {
        self.is_called_by_own_name
    }

    /// Whether the tool is called by its full name, whatever other tools there are.
    pub(crate) fn is_always_prefixed(&self) -> bool {
        self.options.is_always_prefixed && self.provider.is_some()
    }

    /// Whether both entries stem from the same registration.
    pub(crate) fn is_same_registration(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.registered, &other.registered)
    }

    pub(crate) fn has_same_overrides(&self, other: &Self) -> bool {
        self.description == other.description && self.preference == other.preference
    }

    /// Whether the tool can have this description. An invalid one is ignored, because there is no
    /// caller to which the error could be returned.
    pub(crate) fn accepts_description(&self, text: &str) -> bool {
        let mut definition = ToolDefinition::clone(&self.registered);
        definition.description = text.into();
        definition.validate().is_ok()
    }

    /// Whether the tool can have this preference.
    pub(crate) fn accepts_preference(&self, preference: &ToolPreference) -> bool {
        let definition = ToolDefinition::clone(&self.registered);
        definition.preference(preference.clone()).validate().is_ok()
    }

    /// Returns the entry with the description and the preference of a store.
    pub(crate) fn with_overrides(
        &self,
        description: Option<Arc<str>>,
        preference: Option<ToolPreference>,
    ) -> Self {
        Self { description, preference: preference.map(Arc::new), ..self.clone() }
    }

    /// Updates the definition that models receive.
    pub(crate) fn update(
        entry: &mut Arc<Self>,
        is_called_by_own_name: bool,
        preference: Option<&ToolPreference>,
    ) {
        let name = if is_called_by_own_name { entry.own_name() } else { entry.full_name() };
        let description = entry.description.as_deref().unwrap_or(&entry.registered.description);
        let preference = entry.preference.as_deref().or(preference);
        let preference = preference.unwrap_or(&entry.registered.preference);
        let is_current = |definition: &ToolDefinition| {
            definition.name == name
                && definition.description == description
                && definition.preference == *preference
        };
        let is_unchanged = entry.is_called_by_own_name == is_called_by_own_name;
        if is_unchanged && is_current(&entry.effective) {
            return;
        }
        let effective = if is_current(&entry.registered) {
            Arc::clone(&entry.registered)
        } else {
            let mut effective = ToolDefinition::clone(&entry.registered);
            effective.name = name.to_owned();
            effective.description = description.to_owned();
            effective.preference = preference.clone();
            Arc::new(effective)
        };
        let entry = Arc::make_mut(entry);
        entry.effective = effective;
        entry.is_called_by_own_name = is_called_by_own_name;
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("definition", &self.effective).finish_non_exhaustive()
    }
}
