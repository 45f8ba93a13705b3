use std::fmt;

use rmcp::model::Extensions;
use serde_json::{Map, Value};
use tool_core::{Dispatcher, Registry};

/// The caller of a request and what it may use.
///
/// The authenticator of a router returns it. HTTP sessions, sealed states and tasks belong to the
/// principal: no other principal can use them. The metadata of each call has the name of the
/// principal under the key `principal`.
///
/// ```
/// use tool_runtime::mcp::server::Access;
/// use tool_runtime::{Effect, Registry};
///
/// let registry = Registry::new();
/// let read_only = registry.filter(|tool| tool.definition().effect == Effect::Read);
/// let guest = Access::new("guest").registry(read_only).metadata("tenant", "acme");
/// assert_eq!(guest.principal(), "guest");
/// ```
#[derive(Clone)]
pub struct Access {
    principal: String,
    pub(crate) registry: Option<Registry>,
    pub(crate) dispatcher: Option<Dispatcher>,
    pub(crate) metadata: Map<String, Value>,
}

impl Access {
    /// Creates the access of a principal, such as a user or a service, to all tools of the server.
    pub fn new(principal: impl Into<String>) -> Self {
        Self { principal: principal.into(), registry: None, dispatcher: None, metadata: Map::new() }
    }

    /// Limits the tools to those of a registry, usually a view of the server's registry. The policy
    /// stays that of the server.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Replaces the dispatcher, and with it the tools and the policy.
    #[must_use]
    pub fn dispatcher(mut self, dispatcher: Dispatcher) -> Self {
        self.dispatcher = Some(dispatcher);
        self
    }

    /// Adds a value to the metadata of the calls.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Returns the name of the principal.
    pub fn principal(&self) -> &str {
        &self.principal
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// Returns the access with which a request was authenticated.
#[cfg(feature = "server")]
pub(crate) fn access(extensions: &Extensions) -> Option<&Access> {
    extensions.get::<axum::http::request::Parts>()?.extensions.get()
}

/// Returns the address of the client of a request over HTTP, if the service knows it.
#[cfg(feature = "server")]
pub(crate) fn address(extensions: &Extensions) -> Option<std::net::IpAddr> {
    let parts = extensions.get::<axum::http::request::Parts>()?;
    Some(parts.extensions.get::<super::connection::peer::Peer>()?.address)
}

/// Returns nothing: a stream has one client.
#[cfg(not(feature = "server"))]
pub(crate) fn address(_: &Extensions) -> Option<std::net::IpAddr> {
    None
}

/// Returns nothing: there is no authentication on streams.
#[cfg(not(feature = "server"))]
pub(crate) fn access(_: &Extensions) -> Option<&Access> {
    None
}

#[cfg(feature = "server")]
tokio::task_local! {
    /// The access of the HTTP request that the task handles.
    static CALLER: Option<Access>;
}

/// Handles a request, during which [`caller`] returns this access.
#[cfg(feature = "server")]
pub(crate) async fn with_caller<T>(access: Option<Access>, handling: impl Future<Output = T>) -> T {
    CALLER.scope(access, handling).await
}

/// Returns the access of the request that the SDK validates, before there is a context.
pub(crate) fn caller() -> Option<Access> {
    #[cfg(feature = "server")]
    let caller = CALLER.try_with(Option::clone).ok().flatten();
    #[cfg(not(feature = "server"))]
    let caller = None;
    caller
}
