//! Connects to an MCP server, and keeps its tools registered.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tool_core::{Registry, Tool, ToolDefinition};
use tool_mcp::{McpClient, McpConnection, McpStatus};

use super::catalog_tool::CatalogTool;
use super::client::client;
use crate::catalog::{CatalogEntry, CatalogError, Connection};
use crate::registrar::backoff::Backoff;
use crate::registrar::event::RegistrarEvent;
use crate::registrar::registration::register_provider;
use crate::registrar::shared::{Task, TaskUpdate};
use crate::secrets::KnownSecrets;

/// How long the end of an entry waits for the store of its definitions. Without them, the tools of
/// a server that can't be reached would be missing after the next start.
const MAX_STORE_WAIT: Duration = Duration::from_secs(2);

pub(in crate::registrar) struct ConnectionTask {
    task: Task,
    connection: Connection,
    /// The tools that are registered while there is no connection.
    placeholders: Vec<Arc<CatalogTool>>,
    /// Whether the tools of the connection's name in the registry are its own.
    has_registered: bool,
}

/// An established connection. Its tools are in a separate registry, from which they are copied:
/// the registry of the program keeps them when the connection is lost, and had the stored ones
/// before.
struct Established {
    connection: McpConnection,
    listed: Registry,
    secrets: Arc<KnownSecrets>,
}

impl ConnectionTask {
    /// Creates the task of an entry, with tools for the definitions that are stored.
    pub(in crate::registrar) fn new(
        task: Task,
        connection: Connection,
        entry: &CatalogEntry,
        reason: &str,
    ) -> Self {
        let is_offered = task.shared.options.offers_unavailable;
        let tool = |definition: &ToolDefinition| {
            Arc::new(CatalogTool::new(definition.clone(), reason).offered(is_offered))
        };
        let placeholders = entry.definitions().iter().map(tool).collect();
        Self { task, connection, placeholders, has_registered: false }
    }

    /// Registers tools that are unavailable, until the server has listed its own.
    pub(in crate::registrar) fn register_placeholders(&mut self, registry: &Registry) {
        if self.task.shared.is_taken(&registry.snapshot(), &self.task.id, false)
            || self.placeholders.is_empty()
        {
            return;
        }
        let tools = self.placeholders.iter().map(|tool| Arc::clone(tool) as _);
        // Definitions of the server were valid when they were stored.
        self.has_registered = register_provider(registry, self.task.id.name(), tools).is_ok();
    }

    /// Runs until the entry is outdated. The previous connection of the name ends first.
    pub(in crate::registrar) async fn run(
        mut self,
        previous_ended: Option<CancellationToken>,
        _ended: DropGuard,
    ) {
        if let Some(previous) = previous_ended {
            previous.cancelled().await;
        }
        let options = &self.task.shared.options;
        let delays = || Backoff::new(options.first_delay, options.longest_delay);
        let mut backoff = delays();
        let task = self.task.clone();
        loop {
            let connected = tokio::select! {
                () = task.outdated.cancelled() => return,
                connected = self.connect() => connected,
            };
            let reason = match connected {
                Ok(established) => {
                    task.set_connection(Some(established.connection.clone()));
                    let end = self.keep(&established).await;
                    task.set_connection(None);
                    established.connection.disconnect().await;
                    let Some(reason) = end else { return };
                    reason
                }
                Err(reason) => reason,
            };
            let delay = backoff.next_delay();
            // A model reads it: the reason of the failure may contain text of the server.
            let unavailable = format!("the MCP server `{}` is not connected", task.id.name());
            let is_current = task.update(|_| {
                self.placeholders.iter().for_each(|tool| tool.set_unavailable(&unavailable));
                TaskUpdate::Unavailable { reason, retry_in: Some(delay) }
            });
            if !is_current || !task.sleep(delay).await {
                return;
            }
        }
    }

    async fn connect(&self) -> Result<Established, String> {
        let (limit, name) = (self.task.shared.options.attempt_timeout, self.task.id.name());
        let attempt = async {
            let (client, secrets) = self.client().await?;
            let listed = Registry::new();
            let connected = Box::pin(client.connect(name, &listed)).await;
            // A server may repeat its secrets in an error.
            let connection = connected.map_err(|error| secrets.redact(&error.to_string()))?;
            Ok(Established { connection, listed, secrets })
        };
        let attempt = timeout(limit, attempt).await;
        attempt.unwrap_or_else(|_| Err(format!("the connection timed out after {limit:?}")))
    }

    /// Creates the client in a task, so that a panic in the secret store or another function of the
    /// program is a failure of this connection.
    async fn client(&self) -> Result<(McpClient, Arc<KnownSecrets>), String> {
        let (task, connection) = (self.task.clone(), self.connection.clone());
        let mut creation = JoinSet::new();
        creation.spawn(async move { client(&task, &connection).await });
        match creation.join_next().await {
            Some(Ok(created)) => created,
            // The text of a panic may contain a secret.
            _ => Err("the secret store or the function of `configure` panicked".to_owned()),
        }
    }

    /// Copies the tools and the state of a connection until it has ended, and returns the reason;
    /// `None` if the entry is outdated.
    async fn keep(&mut self, established: &Established) -> Option<String> {
        let mut changes = established.listed.changes();
        let mut status_changes = established.connection.status_changes();
        let mut published: Option<Vec<Arc<dyn Tool>>> = None;
        let mut status = None;
        let task = self.task.clone();
        loop {
            let next = established.connection.status();
            if next == McpStatus::Disconnected {
                return Some("the connection was ended".to_owned());
            }
            let snapshot = established.listed.snapshot();
            let tools: Vec<_> = snapshot.iter().cloned().collect();
            let is_published = published.as_ref().is_some_and(|it| is_same(it, &tools));
            if !is_published || status.as_ref() != Some(&next) {
                let new = (!is_published).then_some(tools.as_slice());
                if !self.publish(established, new, &next) {
                    return None;
                }
                if !is_published {
                    let hangs = async {
                        task.outdated.cancelled().await;
                        sleep(MAX_STORE_WAIT).await;
                    };
                    tokio::select! {
                        () = self.store_definitions(&tools, &established.secrets) => {}
                        () = hangs => return None,
                    }
                }
                (published, status) = (Some(tools), Some(next));
            }
            tokio::select! {
                () = task.outdated.cancelled() => return None,
                changed = changes.changed() => changed.map(drop)?,
                changed = status_changes.changed() => {
                    // The sender lives as long as the connection.
                    changed.ok()?;
                }
            }
        }
    }

    /// Registers new tools of the server, and sets the state. Returns `false` if the entry is
    /// outdated.
    fn publish(
        &mut self,
        established: &Established,
        tools: Option<&[Arc<dyn Tool>]>,
        status: &McpStatus,
    ) -> bool {
        let mut skipped = Vec::new();
        let (task, secrets) = (self.task.clone(), &established.secrets);
        let is_current = task.update(|registry| {
            let failed = |reason: String| TaskUpdate::Unavailable { reason, retry_in: None };
            if task.shared.is_taken(&registry.snapshot(), &task.id, self.has_registered) {
                return failed("a provider of the program has its name".to_owned());
            }
            if let Some(tools) = tools {
                match register_provider(registry, task.id.name(), self.registered(tools)) {
                    Ok(reasons) => skipped = reasons,
                    Err(reason) => return failed(secrets.redact(&reason)),
                }
                self.has_registered = true;
            }
            match status {
                McpStatus::Connected { .. } => TaskUpdate::Active,
                status => failed(secrets.redact(&status.to_string())),
            }
        });
        task.shared.emit(skipped.into_iter().map(|reason| RegistrarEvent::ToolSkipped {
            id: task.id.clone(),
            reason: secrets.redact(&reason),
        }));
        is_current
    }

    /// Returns the tools of the server as they are registered.
    fn registered(&self, tools: &[Arc<dyn Tool>]) -> Vec<Arc<dyn Tool>> {
        let is_offered = self.task.shared.options.offers_unavailable;
        let always_offered = |tool: &Arc<dyn Tool>| -> Arc<dyn Tool> {
            Arc::new(CatalogTool::always_offered(Arc::clone(tool)))
        };
        if is_offered { tools.iter().map(always_offered).collect() } else { tools.to_vec() }
    }

    /// Stores the definitions, which are registered at the next start before there is a connection.
    async fn store_definitions(&self, tools: &[Arc<dyn Tool>], secrets: &KnownSecrets) {
        let definitions = tools.iter().filter_map(|tool| redacted(tool.definition(), secrets));
        let (task, definitions) = (&self.task, definitions.collect());
        let saved = task.shared.catalog.save_definitions(&task.id, task.version, definitions);
        match saved.await {
            // The entry was removed in the meantime.
            Ok(_) | Err(CatalogError::NotFound { .. }) => {}
            Err(error) => {
                let reason = error.to_string();
                task.shared.emit([RegistrarEvent::StoreFailed { reason }]);
            }
        }
    }
}

/// Returns a definition without secrets, which a server may repeat in it.
fn redacted(definition: &ToolDefinition, secrets: &KnownSecrets) -> Option<ToolDefinition> {
    let mut value = serde_json::to_value(definition).ok()?;
    secrets.redact_value(&mut value);
    serde_json::from_value(value).ok()
}

fn is_same(left: &[Arc<dyn Tool>], right: &[Arc<dyn Tool>]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| Arc::ptr_eq(left, right))
}
