//! The options of a registrar as a builder, and its start.

use std::sync::Arc;
use std::time::Duration;

use tool_core::Registry;
use tool_mcp::McpClient;

use super::error::RegistrarError;
use super::event::{EventHook, RegistrarEvent};
use super::follow::{contents, follow};
use super::handle::Registrar;
use super::options::Options;
use super::shared::Shared;
use crate::backend::ToolBackend;
use crate::catalog::Catalog;
use crate::secrets::SecretStore;

/// Collects the options of a [`Registrar`] and starts it.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::Registry;
/// use tool_runtime::dynamic::{Catalog, EnvironmentSecrets, Registrar};
/// use tool_runtime::records::MemoryRecords;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
/// let registry = Registry::new();
/// let registrar = Registrar::builder(Catalog::new(MemoryRecords::new()))
///     .secrets(EnvironmentSecrets::new("MCP_SECRET_"))
///     .attempt_timeout(Duration::from_secs(30))
///     .start(&registry)
///     .await?;
/// assert!(registrar.statuses().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a registrar does nothing until `start` is called"]
pub struct RegistrarBuilder {
    catalog: Catalog,
    options: Options,
}

impl Registrar {
    /// Creates a builder for the registrar of a catalog.
    pub fn builder(catalog: Catalog) -> RegistrarBuilder {
        RegistrarBuilder { catalog, options: Options::default() }
    }
}

impl RegistrarBuilder {
    /// Adds the backend that builds the tools of its [language](ToolBackend::language). A tool in
    /// another language is unavailable.
    pub fn backend(self, backend: impl ToolBackend + 'static) -> Self {
        self.shared_backend(Arc::new(backend))
    }

    /// Adds a backend that other parts of the program share.
    pub fn shared_backend(mut self, backend: Arc<dyn ToolBackend>) -> Self {
        self.options.backends.insert(backend.language(), backend);
        self
    }

    /// Refuses entries of tools and connections with these names.
    ///
    /// A policy can name tools that this program does not register, such as in a configuration that
    /// programs share. Reserve their names: otherwise a tool that is made under such a name gets
    /// the permission of the other tool.
    ///
    /// ```
    /// use tool_runtime::Registry;
    /// use tool_runtime::dynamic::{Catalog, Connection, Registrar, RegistrarError};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), RegistrarError> {
    /// let registry = Registry::new();
    /// let registrar = Registrar::builder(Catalog::new(MemoryRecords::new()))
    ///     .reserve(["git", "git_commit"])
    ///     .start(&registry)
    ///     .await?;
    /// let created = registrar.create("git", Connection::stdio("git-server")).await;
    /// assert!(matches!(created, Err(RegistrarError::NameTaken { .. })));
    /// # Ok(())
    /// # }
    /// ```
    pub fn reserve(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.reserved.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the store for the secrets of connections. Default: environment variables that begin
    /// with `TOOL_SECRET_`.
    pub fn secrets(mut self, store: impl SecretStore + 'static) -> Self {
        self.options.secrets = Arc::new(store);
        self
    }

    /// Sets a function that changes the options of a client before it connects, such as its trust.
    /// It receives the name of the connection. By default, definitions are pinned in the catalog.
    pub fn configure(
        mut self,
        configure: impl Fn(&str, McpClient) -> McpClient + Send + Sync + 'static,
    ) -> Self {
        self.options.configure = Some(Arc::new(configure));
        self
    }

    /// Calls a function for each event. It must not block. If it panics, the panic is caught.
    pub fn on_event(mut self, hook: impl Fn(&RegistrarEvent) + Send + Sync + 'static) -> Self {
        self.options.events = EventHook::new(hook);
        self
    }

    /// Sets the time limit of an attempt to build a tool, to connect, or to read the catalog.
    /// Default: 2 minutes.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.options.attempt_timeout = timeout;
        self
    }

    /// Sets the delay after the first failure of an entry, which doubles after each further
    /// failure, up to `longest`. Default: half a second, up to one minute.
    pub fn retry_delays(mut self, first: Duration, longest: Duration) -> Self {
        (self.options.first_delay, self.options.longest_delay) = (first, longest);
        self
    }

    /// Offers models the tools of an entry even while the entry is unavailable. Default: tools are
    /// offered only while they can be called.
    ///
    /// The definitions that a model receives then stay the same while a server is down, so that a
    /// cached prompt stays valid. The result of a call is `TOOL_UNAVAILABLE`. The policy decides on
    /// such a call first, so an approver can be asked about a call that can't run.
    ///
    /// ```
    /// use tool_runtime::Registry;
    /// use tool_runtime::dynamic::{BodyLanguage, Catalog, Registrar, ToolSpec};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let spec = ToolSpec::new(BodyLanguage::Rust, "one", "Returns 1.", "Ok(1)");
    /// catalog.create("one", spec).await?;
    /// let registry = Registry::new();
    /// // This program has no backend for Rust.
    /// Registrar::builder(catalog).offer_unavailable().start(&registry).await?;
    /// assert_eq!(registry.snapshot().definitions()[0].name, "one");
    /// # Ok(())
    /// # }
    /// ```
    pub fn offer_unavailable(mut self) -> Self {
        self.options.offers_unavailable = true;
        self
    }

    /// Registers everything that the catalog contains, and follows its changes in the background.
    ///
    /// When it returns, all tools whose definitions are known are registered. They are unavailable
    /// until they are built or connected, which happens in the background:
    /// [`Registrar::wait_until_settled`] waits for that. If an entry fails, the registrar emits an
    /// [event](Self::on_event) and retries; other entries are not affected. The background work
    /// ends with [`Registrar::stop`], or when the last clone of the registry is dropped.
    ///
    /// Pass the whole registry: tools that a view does not contain are not protected against an
    /// entry of the same name. A registry has one registrar.
    ///
    /// # Errors
    /// Returns an error if the catalog can't be read within the
    /// [time limit](Self::attempt_timeout). Then nothing is registered.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    ///
    /// ```
    /// use tool_runtime::Registry;
    /// use tool_runtime::dynamic::{Catalog, Registrar};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
    /// let registry = Registry::new();
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let registrar = Registrar::builder(catalog).start(&registry).await?;
    /// assert!(registrar.statuses().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start(self, registry: &Registry) -> Result<Registrar, RegistrarError> {
        let contents = contents(&self.catalog, self.options.attempt_timeout).await?;
        let revision = contents.revision;
        let shared = Arc::new(Shared::new(self.catalog, registry, self.options));
        shared.apply_contents(&contents);
        tokio::spawn(follow(Arc::clone(&shared), revision));
        Ok(Registrar { shared })
    }
}
