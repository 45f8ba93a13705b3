//! Resources: data that a client reads by URI.

mod template;

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceTemplate as RmcpTemplate};
use tokio::sync::broadcast;
use tool_core::ToolError;
use tool_core::message::{EmbeddedResource, ResourceData, ResourceLink};

use crate::content::{contents, resource};
use crate::server::McpRequest;
use crate::server::errors::{failed, resource_not_found};

use template::Pattern;
pub use template::ResourceTemplate;

/// The number of changes that a slow session can be behind before it is only notified that
/// something changed.
const CHANGES: usize = 256;

type Reading = Pin<Box<dyn Future<Output = Result<ResourceData, ToolError>> + Send>>;
type Reader = Arc<dyn Fn(ResourceRequest) -> Reading + Send + Sync>;

/// The resources of a server. Clones share one set, which can change while it is served.
///
/// Clients are notified of added and removed resources, and of
/// [updated](Self::notify_updated) ones that they subscribed to.
///
/// ```
/// use tool_runtime::mcp::McpServer;
/// use tool_runtime::mcp::server::{ResourceRequest, ResourceTemplate, Resources};
/// use tool_runtime::message::{ResourceData, ResourceLink};
/// use tool_runtime::tools;
///
/// let resources = Resources::new();
/// resources.insert(ResourceLink::new("config://app", "config"), |_| async {
///     Ok(ResourceData::Text("debug = true".into()))
/// });
/// let orders = ResourceTemplate::new("orders://{id}", "order").media_type("text/plain");
/// resources.insert_template(orders, |request: ResourceRequest| async move {
///     let id = request.variable("id").unwrap_or_default();
///     Ok(ResourceData::Text(format!("order {id}: shipped")))
/// });
/// let server = McpServer::new(tools![]).resources(resources.clone());
///
/// resources.notify_updated("config://app");
/// # let _ = server;
/// ```
#[derive(Clone)]
pub struct Resources(Arc<Inner>);

struct Inner {
    entries: RwLock<Entries>,
    changes: broadcast::Sender<ResourceChange>,
}

#[derive(Default)]
struct Entries {
    resources: BTreeMap<String, (ResourceLink, Reader)>,
    templates: BTreeMap<String, (ResourceTemplate, Pattern, Reader)>,
}

/// A change that clients are notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceChange {
    List,
    Updated(String),
}

/// A request to read a resource.
///
/// ```
/// use tool_runtime::ToolError;
/// use tool_runtime::mcp::server::ResourceRequest;
/// use tool_runtime::message::ResourceData;
///
/// async fn read(request: ResourceRequest) -> Result<ResourceData, ToolError> {
///     let principal = request.request.principal().unwrap_or("anonymous");
///     Ok(ResourceData::Text(format!("{} for {principal}", request.uri)))
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceRequest {
    /// The URI to read.
    pub uri: String,
    /// The MCP request and a handle to its client.
    pub request: McpRequest,
    variables: BTreeMap<String, String>,
}

impl ResourceRequest {
    /// Returns the value of a variable of the template, decoded.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

impl Default for Resources {
    fn default() -> Self {
        Self::new()
    }
}

impl Resources {
    /// Creates an empty set.
    pub fn new() -> Self {
        let entries = RwLock::default();
        Self(Arc::new(Inner { entries, changes: broadcast::channel(CHANGES).0 }))
    }

    /// Adds a resource, or replaces the resource with the same URI.
    pub fn insert<F, R>(&self, resource: ResourceLink, read: F)
    where
        F: Fn(ResourceRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ResourceData, ToolError>> + Send + 'static,
    {
        let read: Reader = Arc::new(move |request| Box::pin(read(request)));
        self.change(|entries| {
            entries.resources.insert(resource.uri.clone(), (resource, read));
        });
    }

    /// Adds a template, or replaces the template with the same URI. `read` serves the URIs that
    /// match the template and are not those of a resource.
    pub fn insert_template<F, R>(&self, template: ResourceTemplate, read: F)
    where
        F: Fn(ResourceRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ResourceData, ToolError>> + Send + 'static,
    {
        let read: Reader = Arc::new(move |request| Box::pin(read(request)));
        let pattern = Pattern::new(&template.uri_template);
        self.change(|entries| {
            let uri = template.uri_template.clone();
            entries.templates.insert(uri, (template, pattern, read));
        });
    }

    /// Removes a resource or template by its URI, and returns whether there was one.
    pub fn remove(&self, uri: &str) -> bool {
        self.change(|entries| {
            entries.resources.remove(uri).is_some() || entries.templates.remove(uri).is_some()
        })
    }

    /// Notifies the clients that subscribed to a resource that its content changed.
    pub fn notify_updated(&self, uri: impl Into<String>) {
        self.send(ResourceChange::Updated(uri.into()));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> T {
        let changed = change(&mut self.0.entries.write().unwrap_or_else(PoisonError::into_inner));
        self.send(ResourceChange::List);
        changed
    }

    fn send(&self, change: ResourceChange) {
        // Without sessions, there is no receiver.
        let _ = self.0.changes.send(change);
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<ResourceChange> {
        self.0.changes.subscribe()
    }

    /// Whether there is a resource with this URI, or a template that it matches.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.find(uri).is_some()
    }

    pub(crate) fn list(&self) -> Vec<Resource> {
        self.read(|entries| {
            entries.resources.values().map(|(link, _)| resource(link.clone())).collect()
        })
    }

    pub(crate) fn list_templates(&self) -> Vec<RmcpTemplate> {
        self.read(|entries| entries.templates.values().map(|(it, ..)| it.to_mcp()).collect())
    }

    /// Reads the resource with this URI.
    pub(crate) async fn get(
        &self,
        uri: String,
        request: McpRequest,
    ) -> Result<ReadResourceResult, ErrorData> {
        let Some((media_type, variables, read)) = self.find(&uri) else {
            return Err(resource_not_found(&uri));
        };
        let data = read(ResourceRequest { uri: uri.clone(), request, variables }).await;
        let data = data.map_err(|error| failed(&error))?;
        let mut resource = match data {
            ResourceData::Text(text) => EmbeddedResource::text(uri, text),
            ResourceData::Base64(base64) => EmbeddedResource::base64(uri, base64),
        };
        resource.media_type = media_type;
        Ok(ReadResourceResult::new(vec![contents(resource)]))
    }

    fn find(&self, uri: &str) -> Option<(Option<String>, BTreeMap<String, String>, Reader)> {
        self.read(|entries| {
            if let Some((link, read)) = entries.resources.get(uri) {
                return Some((link.media_type.clone(), BTreeMap::new(), Arc::clone(read)));
            }
            entries.templates.values().find_map(|(template, pattern, read)| {
                let variables = pattern.variables(uri)?;
                Some((template.media_type.clone(), variables, Arc::clone(read)))
            })
        })
    }

    fn read<T>(&self, read: impl FnOnce(&Entries) -> T) -> T {
        read(&self.0.entries.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resources, templates) = self.read(|it| (it.resources.len(), it.templates.len()));
        f.debug_struct("Resources")
            .field("resources", &resources)
            .field("templates", &templates)
            .finish()
    }
}
