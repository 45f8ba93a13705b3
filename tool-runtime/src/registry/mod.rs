//! Which tools there are, by name.
//!
//! A [`Registry`] is shared and changes; a [`Snapshot`] is what it held at one moment and never
//! changes, so that what a model is offered and what is called for it are the same.

mod error;
mod nearest;
mod snapshot;
mod tools;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use error::RegistryError;
pub use snapshot::Snapshot;
pub use tools::Tools;

use crate::tool::Tool;
use snapshot::Entry;

/// The tools of a program. Clones share one set.
///
/// A tool is asked for its definition when it is registered; what it said then holds.
///
/// ```
/// use tool_runtime::{Registry, tool, tools};
///
/// /// Says hello.
/// #[tool]
/// async fn hello(
///     /// Whom to greet.
///     name: String,
/// ) -> String {
///     format!("Hello, {name}!")
/// }
///
/// let registry = Registry::try_from(tools![hello])?;
/// assert!(registry.snapshot().get("hello").is_some());
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    current: Arc<ArcSwap<Snapshot>>,
}

impl Registry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, or puts it in the place of the one of the same name, which comes back.
    ///
    /// # Errors
    /// The tool's definition is not one that providers take; nothing was changed.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<Option<Arc<dyn Tool>>, RegistryError> {
        let entry = Entry::new(tool)?;
        let before = self.current.rcu(|snapshot| snapshot.with(entry.clone()));
        Ok(before.get(entry.name()).cloned())
    }

    /// Takes a tool away; it comes back.
    pub fn unregister(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let before = self.current.rcu(|snapshot| snapshot.without(name));
        before.get(name).cloned()
    }

    /// What the registry holds now, without a lock.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }
}

/// What an agent takes for its tools.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of tools",
    label = "write `tools![…]` with the names of the tools, or pass a `Registry`"
)]
pub trait IntoRegistry {
    /// The registry.
    ///
    /// # Errors
    /// A definition that providers don't take, or two tools of one name.
    fn into_registry(self) -> Result<Registry, RegistryError>;
}

impl IntoRegistry for Registry {
    fn into_registry(self) -> Result<Registry, RegistryError> {
        Ok(self)
    }
}

impl IntoRegistry for Tools {
    fn into_registry(self) -> Result<Registry, RegistryError> {
        self.try_into()
    }
}

/// # Errors
/// A definition that providers don't take, or two tools of one name.
impl TryFrom<Tools> for Registry {
    type Error = RegistryError;

    fn try_from(tools: Tools) -> Result<Self, RegistryError> {
        let snapshot = Snapshot::try_from(tools)?;
        Ok(Self { current: Arc::new(ArcSwap::from_pointee(snapshot)) })
    }
}
