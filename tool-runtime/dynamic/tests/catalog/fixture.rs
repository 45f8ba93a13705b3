//! Folders, backends and waits of tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tool_dynamic::{
    BodyLanguage, Catalog, CheckedSpec, Registrar, RegistrarBuilder, RegistrarEvent, ToolBackend,
    ToolSpec,
};
use tool_runtime::records::MemoryRecords;
use tool_runtime::store::Sqlite;
use tool_runtime::{
    Arguments, Availability, Dispatcher, Effect, Registry, Tool, ToolCall, ToolContext,
    ToolDefinition, ToolError, ToolExecution, ToolOutput, async_trait,
};

/// A temporary folder, which is removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool-dynamic-catalog-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Returns the path of the store in the folder.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("store.db")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) async fn open(path: &Path) -> Catalog {
    let file = Sqlite::open(path).await.unwrap();
    Catalog::new(file.records().await.unwrap())
}

pub(crate) fn memory() -> Catalog {
    Catalog::new(MemoryRecords::new())
}

/// Makes tools that return their body, which can also say how the build fails.
#[derive(Clone, Default)]
pub(crate) struct Templates {
    /// The number of builds of each body.
    builds: Arc<Mutex<BTreeMap<String, u32>>>,
    /// Why no tool can be built now.
    pub(crate) unavailable: Arc<Mutex<Option<String>>>,
}

impl Templates {
    pub(crate) fn builds(&self, body: &str) -> u32 {
        self.builds.lock().unwrap().get(body).copied().unwrap_or_default()
    }
}

struct Template(CheckedSpec);

#[async_trait]
impl Tool for Template {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self.0.body()))
    }
}

#[async_trait]
impl ToolBackend for Templates {
    fn language(&self) -> BodyLanguage {
        BodyLanguage::JavaScript
    }

    fn availability(&self) -> Availability {
        match &*self.unavailable.lock().unwrap() {
            Some(reason) => Availability::Unavailable(reason.clone()),
            None => Availability::Available,
        }
    }

    async fn build(&self, spec: &CheckedSpec) -> Result<Arc<dyn Tool>, ToolError> {
        let number = {
            let mut builds = self.builds.lock().unwrap();
            let number = builds.entry(spec.body().to_owned()).or_default();
            *number += 1;
            *number
        };
        match spec.body() {
            "invalid" => Err(ToolError::invalid_arguments("line 1: unknown name `x`")),
            "flaky" if number <= 2 => Err(ToolError::transient("the disk is full")),
            "panic" => panic!("a bug of the backend"),
            "hang" => std::future::pending().await,
            _ => Ok(Arc::new(Template(spec.clone()))),
        }
    }
}

pub(crate) fn spec(name: &str, body: &str) -> ToolSpec {
    // A tool that reads needs no approval.
    ToolSpec::new(BodyLanguage::JavaScript, name, format!("Returns {body}."), body)
        .effect(Effect::Read)
}

/// The events that a registrar emitted.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<RegistrarEvent>>>);

impl Events {
    pub(crate) fn all(&self) -> Vec<RegistrarEvent> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn text(&self) -> String {
        format!("{:?}", self.all())
    }
}

/// Returns a builder that records its events, and tries again at once.
pub(crate) fn builder(catalog: Catalog) -> (RegistrarBuilder, Events) {
    let events = Events::default();
    let recorded = events.clone();
    let builder = Registrar::builder(catalog)
        .retry_delays(Duration::from_millis(1), Duration::from_millis(20))
        .on_event(move |event| recorded.0.lock().unwrap().push(event.clone()));
    (builder, events)
}

pub(crate) async fn start(catalog: Catalog, registry: &Registry) -> Registrar {
    builder(catalog).0.backend(Templates::default()).start(registry).await.unwrap()
}

/// Calls a tool through a dispatcher.
pub(crate) async fn call(registry: &Registry, name: &str) -> ToolExecution {
    let call = ToolCall::new("1", name, "{}");
    Dispatcher::new(registry.clone()).dispatch(vec![call]).await.remove(0)
}

pub(crate) async fn output(registry: &Registry, name: &str) -> String {
    call(registry, name).await.result.text
}

/// Returns the names under which models call the tools of a registry.
pub(crate) fn names(registry: &Registry) -> Vec<String> {
    registry.snapshot().entries().map(|entry| entry.name().to_owned()).collect()
}

/// Waits until a condition holds.
pub(crate) async fn wait_until(event: &str, mut holds: impl FnMut() -> bool) {
    let waited = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waited).await;
    assert!(waited.is_ok(), "{event} did not happen");
}
