//! Registers the tools of a server: requests the list, and checks it against the pins.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::Tool;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tool_core::Tools;

use crate::client::calls::content::ResultReader;
use crate::client::calls::deadline;
use crate::client::calls::remote_tool::RemoteTool;
use crate::client::connect::link::Link;
use crate::client::connect::session::Session;
use crate::client::error::McpError;
use crate::client::events::McpEvent;
use crate::client::features::feature_tools::feature_tools;
use crate::client::features::offered_features::OfferedFeatures;
use crate::client::pins::pinning::check;
use crate::client::pins::{ChangeKind, DefinitionChange, Pins};
use crate::client::tools::catalog::{
    Catalog, Registered, SkippedServerTool, ToolsReport, reported_name,
};
use crate::client::tools::definition::{definition, pinned};
use crate::client::tools::list::{ListKind, list};
use crate::client::trust::own_name;

/// The label of all tools of servers.
const LABEL: &str = "dynamic";

impl Link {
    /// Requests the list of tools and registers it. Returns how long the list is fresh.
    pub(crate) async fn refresh(
        self: &Arc<Self>,
        session: &Session,
    ) -> Result<Option<Duration>, McpError> {
        // A server may take its time: only the registration waits for others.
        let number = self.next_list();
        let mut ttl = None;
        let mut fresh = Catalog::default();
        if session.info.capabilities.tools.is_some() {
            let deadline = deadline::after(self.options.connect_timeout);
            let limits = self.options.lists;
            let listing = list::<Tool>(session, ListKind::Tools, limits, deadline).await?;
            ttl = listing.ttl;
            fresh.is_truncated = listing.is_truncated;
            let skipped = listing.malformed.into_iter().map(|item| SkippedServerTool {
                index: item.index,
                name: item.name,
                reason: item.reason,
            });
            fresh.malformed = skipped.collect();
            let mut names = HashSet::new();
            for (index, tool) in listing.items {
                if !names.insert(tool.name.clone()) {
                    let reason = "another tool of the server has the same name".to_owned();
                    let name = Some(reported_name(&tool));
                    fresh.malformed.push(SkippedServerTool { index, name, reason });
                    continue;
                }
                let pin = pinned(&tool);
                fresh.tools.push((index, tool, pin));
            }
        }
        fresh.features = OfferedFeatures::new(&self.options, &session.info.capabilities);
        let mut catalog = self.catalog.lock().await;
        // An older list must not replace a newer one.
        if number < catalog.number {
            return Ok(ttl);
        }
        fresh.number = number;
        fresh.registered = catalog.registered.take();
        fresh.report = std::mem::take(&mut catalog.report);
        *catalog = fresh;
        self.register(&mut catalog).await?;
        Ok(ttl)
    }

    /// Pins a definition as it was shown, and registers the tools again.
    pub(crate) async fn approve(
        self: &Arc<Self>,
        change: &DefinitionChange,
    ) -> Result<(), McpError> {
        let mut catalog = self.catalog.lock().await;
        if self.stopped.is_cancelled() {
            return Err(McpError::NotConnected { server: self.name.clone() });
        }
        let is_offered = catalog.tools.iter().any(|(_, tool, pin)| {
            tool.name == change.tool && pin.fingerprint == change.new.fingerprint
        });
        if !is_offered {
            let (server, tool) = (self.name.clone(), change.tool.clone());
            return Err(McpError::StaleApproval { server, tool });
        }
        let mut pins = self.load_pins().await?.unwrap_or_default();
        pins.insert(change.tool.clone(), change.new.clone());
        if let ChangeKind::Renamed { from } = &change.kind {
            pins.remove(from);
        }
        self.save_pins(&pins).await?;
        self.register(&mut catalog).await
    }

    async fn load_pins(&self) -> Result<Option<Pins>, McpError> {
        self.in_time(self.pins.load(&self.pinned_server)).await
    }

    async fn save_pins(&self, pins: &Pins) -> Result<(), McpError> {
        self.in_time(self.pins.save(&self.pinned_server, pins)).await
    }

    /// Waits for the pin store within the time limit of a connection: the catalog is locked.
    async fn in_time<T>(&self, work: impl Future<Output = io::Result<T>>) -> Result<T, McpError> {
        let limit = self.options.connect_timeout;
        let result = timeout(limit, work).await.unwrap_or_else(|_| {
            let text = format!("no answer within {limit:?}");
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        });
        result.map_err(|error| McpError::Pins { server: self.name.clone(), error })
    }

    /// Registers the tools of the catalog in one change, unless they are registered already.
    async fn register(self: &Arc<Self>, catalog: &mut Catalog) -> Result<(), McpError> {
        let pins = self.load_pins().await?;
        let offered: Vec<_> = catalog
            .tools
            .iter()
            .map(|(_, tool, pin)| (tool.name.clone().into_owned(), pin.clone()))
            .collect();
        let (server, approves_new_tools) = (self.name.clone(), self.options.approves_new_tools);
        // A hostile list has thousands of definitions to compare: other tasks run meanwhile.
        let checked =
            spawn_blocking(move || check(&server, pins.as_ref(), &offered, approves_new_tools));
        let checked = checked.await.map_err(|error| McpError::Pins {
            server: self.name.clone(),
            error: io::Error::other(error),
        })?;
        if let Some(pins) = &checked.new_pins {
            self.save_pins(pins).await?;
        }
        for change in &checked.pending {
            if !catalog.report.pending.contains(change) {
                self.emit(&McpEvent::DefinitionChanged(Box::new(change.clone())));
            }
        }
        let accepted = catalog.tools.iter();
        let accepted = accepted.filter(|(_, tool, _)| checked.accepted.contains(&*tool.name));
        let accepted: Vec<_> = accepted.collect();
        let registered = Registered {
            tools: accepted
                .iter()
                .map(|(_, tool, pin)| (tool.name.clone().into_owned(), pin.fingerprint))
                .collect(),
            features: catalog.features,
        };
        if let Some((_, refused)) =
            catalog.registered.as_ref().filter(|(earlier, _)| *earlier == registered)
        {
            catalog.report.skipped = catalog.skipped(refused);
            let unmatched = self.unmatched_trust(catalog, &catalog.report.registered);
            catalog.report.unmatched_trust = unmatched;
            catalog.report.pending = checked.pending;
            catalog.report.is_truncated = catalog.is_truncated;
            return Ok(());
        }
        let names: Vec<_> = accepted.iter().map(|(_, tool, _)| reported_name(tool)).collect();
        let mut tools = Tools::new();
        for (_, tool, _) in accepted {
            tools = tools.with(self.remote_tool(tool));
        }
        let tools = feature_tools(self, catalog.features, tools);
        let tools = tools.labeled([LABEL]).always_prefixed();
        // Nothing waits from here on, so that the supervisor removes what is registered, and a
        // connection that has ended replaces no tools of the next one.
        let registry = self.registry.upgrade().filter(|_| !self.stopped.is_cancelled());
        let Some(registry) = registry else {
            return Err(McpError::NotConnected { server: self.name.clone() });
        };
        self.has_registered.store(true, Ordering::Relaxed);
        let report = registry.replace_valid_from(&self.name, tools);
        let report =
            report.map_err(|error| McpError::Registry { server: self.name.clone(), error })?;
        let refused = report.skipped.into_iter().map(|tool| SkippedServerTool {
            index: tool.index,
            name: names.get(tool.index).cloned().or(tool.name),
            reason: tool.error.to_string(),
        });
        let refused: Vec<_> = refused.collect();
        let skipped = catalog.skipped(&refused);
        self.emit(&McpEvent::ToolsRegistered {
            registered: report.registered.len(),
            skipped: skipped.len(),
            pending: checked.pending.len(),
        });
        catalog.registered = Some((registered, refused));
        let unmatched_trust = self.unmatched_trust(catalog, &report.registered);
        catalog.report = ToolsReport {
            registered: report.registered,
            skipped,
            unmatched_trust,
            pending: checked.pending,
            is_truncated: catalog.is_truncated,
        };
        Ok(())
    }

    /// Returns the settings of the trust that apply to no tool, and reports new ones. The registry
    /// gets all of them, for the check of an agent.
    fn unmatched_trust(&self, catalog: &Catalog, registered: &[String]) -> Vec<String> {
        let server = &self.name;
        // The tools for resources and prompts are not in the list of the server.
        let is_registered =
            |name: &str| registered.iter().any(|it| own_name(server, it) == Some(name));
        let has_name = |name: &str| catalog.has_tool(name) || is_registered(name);
        let unmatched = self.options.trust.unmatched(server, has_name);
        if !unmatched.is_empty() && unmatched != catalog.report.unmatched_trust {
            self.emit(&McpEvent::UnmatchedTrust { tools: unmatched.clone() });
        }
        if let Some(registry) = self.registry.upgrade().filter(|_| !self.stopped.is_cancelled()) {
            registry.report_unmatched_settings(server, &unmatched);
        }
        unmatched
    }

    fn remote_tool(self: &Arc<Self>, tool: &Tool) -> RemoteTool {
        let options = &self.options;
        let definition = definition(&self.name, tool, &options.trust, options.call_timeout);
        let reader = ResultReader {
            server: self.name.clone(),
            limits: options.results,
            marks_text: options.trust.marks_text(&self.name, &tool.name),
            output: definition.output.clone(),
        };
        RemoteTool { definition, link: Arc::clone(self), reader }
    }
}
