//! A workspace in a temporary folder, and calls of its tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::files::Files;
use serde_json::Value;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::event::Observer;
use tool_runtime::{
    Dispatcher, Policy, Registry, RunContext, ToolCall, ToolExecution, async_trait, tools,
};

/// A workspace `inside` of a temporary folder.
pub(crate) struct Fixture {
    pub(crate) folder: PathBuf,
    pub(crate) files: Files,
    pub(crate) dispatcher: Dispatcher,
}

/// Approves every call.
pub(crate) struct ApprovesAll;

#[async_trait]
impl Approver for ApprovesAll {
    async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        Approval::Once
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool-files-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("inside")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let files = Files::open(folder.join("inside")).unwrap();
        let dispatcher = dispatcher(&files, Policy::new());
        Self { folder, files, dispatcher }
    }

    /// Adds an observer of the calls.
    pub(crate) fn observed(mut self, observer: impl Observer + 'static) -> Self {
        self.dispatcher = self.dispatcher.clone().observer(observer);
        self
    }

    /// Returns the path of a file of the workspace.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join("inside").join(path)
    }

    /// Writes a file of the workspace, and the folders above it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolExecution {
        let call = ToolCall::new("call", tool, arguments.to_string());
        self.dispatcher.dispatch(vec![call]).await.remove(0)
    }

    /// Returns the text of a call that succeeds.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let execution = self.call(tool, arguments).await;
        assert!(execution.is_success(), "{}", execution.result.text);
        execution.result.plain_text().into_owned()
    }

    /// Returns the text of a call that fails.
    pub(crate) async fn error(&self, tool: &str, arguments: Value) -> String {
        let execution = self.call(tool, arguments).await;
        assert!(!execution.is_success(), "{}", execution.result.text);
        execution.result.text
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns a dispatcher of the tools that approves every call.
pub(crate) fn dispatcher(files: &Files, policy: Policy) -> Dispatcher {
    let registry = Registry::try_from(tools![..files.clone()]).unwrap();
    Dispatcher::new(registry).policy(policy.approver(ApprovesAll))
}

/// Returns the names and contents of all files below a folder, and the targets of links.
pub(crate) fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut entries = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, file_type) = (entry.path(), entry.file_type().unwrap());
            if file_type.is_dir() {
                folders.push(path);
            } else if file_type.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                entries.push((path, target.into_os_string().into_encoded_bytes()));
            } else if file_type.is_file() {
                let content = fs::read(&path).unwrap();
                entries.push((path, content));
            } else {
                entries.push((path, Vec::new()));
            }
        }
    }
    entries.sort();
    entries
}
