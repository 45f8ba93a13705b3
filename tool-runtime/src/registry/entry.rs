use std::fmt;
use std::sync::Arc;

use super::{RegistryError, naming};
use crate::guard::catch_panic;
use crate::schema::Dialect;
use crate::tool::{Availability, Tool, ToolDefinition, ToolPreference};

/// A registered tool, and what it said of itself when it was registered: it is asked but once, so
/// that it neither changes its mind nor crashes between two calls.
#[derive(Clone)]
pub struct Entry {
    tool: Arc<dyn Tool>,
    provider: Option<Arc<str>>,
    /// As the tool has it.
    own: Arc<ToolDefinition>,
    /// What the store of descriptions says of it.
    described: Option<Arc<str>>,
    /// As models are told: under a name that is its alone, with the description of the store.
    shown: Arc<ToolDefinition>,
    is_bare: bool,
}

impl Entry {
    /// Asks a tool, which is foreign code, what it says of itself.
    pub(super) fn new(
        tool: Arc<dyn Tool>,
        provider: Option<Arc<str>>,
    ) -> Result<Self, RegistryError> {
        let of = provider.as_deref();
        // Not copied before it is known to be of a size that can be.
        let valid = || {
            let definition = tool.definition();
            definition.validate().map(|()| definition.clone())
        };
        let own =
            catch_panic(valid).map_err(|panic| RegistryError::panicked(of, &panic.to_string()))?;
        let own = own.map_err(|error| RegistryError::definition(of, error))?;
        if let Some(provider) = of {
            naming::check_length(provider, &own.name)?;
        }
        let own = Arc::new(own.under(of));
        let shown = Arc::clone(&own);
        Ok(Self { tool, provider, own, described: None, shown, is_bare: true })
    }

    /// The same tool, of which models are told in this dialect.
    pub(super) fn bent(this: &Arc<Self>, dialect: Dialect) -> Result<Arc<Self>, RegistryError> {
        if this.own.wire_parameters().dialect() == dialect {
            return Ok(Arc::clone(this));
        }
        let own = ToolDefinition::clone(&this.own).bent(dialect);
        let own = own.map_err(|error| RegistryError::definition(this.provider(), error))?;
        let own = Arc::new(own);
        Ok(Arc::new(Self { shown: Arc::clone(&own), own, ..Self::clone(this) }))
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// What models are told of it.
    pub fn definition(&self) -> &ToolDefinition {
        &self.shown
    }

    /// The same, to keep.
    pub fn shared_definition(&self) -> &Arc<ToolDefinition> {
        &self.shown
    }

    /// Under whom it is registered, if under anybody.
    pub fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// The name that models call it by. It may change when others come and go.
    pub fn name(&self) -> &str {
        &self.shown.name
    }

    /// The name that it gave itself. Another provider's tool may have the same.
    pub fn own_name(&self) -> &str {
        &self.own.name
    }

    /// The name that is its alone, whoever comes and goes: see [`ToolDefinition::full_name`].
    pub fn full_name(&self) -> &str {
        self.own.full_name()
    }

    /// Whether it can run now, and why not. A tool that panics when it is asked can't: it won't do
    /// better when it is called.
    pub fn availability(&self) -> Availability {
        catch_panic(|| self.tool.availability())
            .unwrap_or_else(|panic| Availability::Unavailable(panic.to_string()))
    }

    #[inline]
    pub(super) fn is_enabled(&self) -> bool {
        self.shown.preference.enabled
    }

    #[inline]
    pub(super) fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// Whether this is the other as it was registered, whatever it is called by now.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.own, &other.own)
    }

    pub(super) fn is_described_as(&self, other: &Self) -> bool {
        self.described == other.described
    }

    /// The same tool, described so, unless providers don't take that: nobody waits here for what is
    /// wrong with another's words.
    pub(super) fn described(&self, description: Option<Arc<str>>) -> Self {
        let fits = |text: &Arc<str>| {
            let mut told = ToolDefinition::clone(&self.own);
            told.description = text.as_ref().into();
            told.validate().is_ok()
        };
        Self { described: description.filter(fits), ..self.clone() }
    }

    /// Has models told what is known of it by now.
    pub(super) fn settle(this: &mut Arc<Self>, is_bare: bool, preference: Option<&ToolPreference>) {
        let name = if is_bare { this.own_name() } else { this.full_name() };
        let description = this.described.as_deref().unwrap_or(&this.own.description);
        let preference = preference.unwrap_or(&this.own.preference);
        let is_shown = |shown: &ToolDefinition| {
            shown.name == name
                && shown.description == description
                && shown.preference == *preference
        };
        if is_shown(&this.shown) && this.is_bare == is_bare {
            return;
        }
        let shown = if is_shown(&this.own) {
            Arc::clone(&this.own)
        } else {
            let mut shown = ToolDefinition::clone(&this.own);
            shown.name = name.to_owned();
            shown.description = description.to_owned();
            shown.preference = preference.clone();
            Arc::new(shown)
        };
        let this = Arc::make_mut(this);
        (this.shown, this.is_bare) = (shown, is_bare);
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("definition", &self.shown).finish_non_exhaustive()
    }
}
