//! A workspace in a temporary folder, and calls of the tools that run commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::shell::{Sandbox, Shell};
use tool_runtime::{
    Dispatcher, Policy, Registry, RunContext, ToolCall, ToolExecution, async_trait, tools,
};

/// A workspace `inside` of a temporary folder.
pub(crate) struct Fixture {
    pub(crate) folder: PathBuf,
    pub(crate) shell: Shell,
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
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        Self::with(sandbox, |_| ())
    }

    /// Prepares the workspace before the shell is created.
    pub(crate) fn with(sandbox: Sandbox, prepare: impl FnOnce(&Path)) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool toolbox-shell-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("inside")).unwrap();
        let folder = folder.canonicalize().unwrap();
        prepare(&folder.join("inside"));
        let shell = Shell::new(folder.join("inside"), sandbox);
        shell.check().expect("these tests need bubblewrap and user namespaces");
        let dispatcher = dispatcher(&shell, Policy::new());
        Self { folder, shell, dispatcher }
    }

    /// Returns the path of a file of the workspace.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join("inside").join(path)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolExecution {
        let call = ToolCall::new("call", tool, arguments.to_string());
        self.dispatcher.dispatch(vec![call]).await.remove(0)
    }

    /// Returns the value of a call that succeeds.
    pub(crate) async fn value(&self, tool: &str, mut arguments: Value) -> Value {
        arguments["output"] = "json".into();
        let execution = self.call(tool, arguments).await;
        assert!(execution.is_success(), "{}", execution.result.text);
        serde_json::from_str(&execution.result.text).unwrap()
    }

    /// Returns the exit code and the output of a command line.
    pub(crate) async fn run(&self, command: &str) -> (i64, String) {
        let value = self.value("shell_exec", json!({ "command": command })).await;
        let output = value["output"].as_str().unwrap().to_owned();
        (value["exit_code"].as_i64().unwrap_or(-1), output)
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
pub(crate) fn dispatcher(shell: &Shell, policy: Policy) -> Dispatcher {
    let registry = Registry::try_from(tools![..shell.clone()]).unwrap();
    Dispatcher::new(registry).policy(policy.approver(ApprovesAll))
}

/// Returns whether a process lives whose command line contains a text.
pub(crate) fn is_running(text: &str) -> bool {
    fs::read_dir("/proc").unwrap().any(|entry| {
        let path = entry.unwrap().path();
        let command = fs::read(path.join("cmdline")).unwrap_or_default();
        let state = fs::read_to_string(path.join("stat")).unwrap_or_default();
        let is_zombie = state.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"));
        !is_zombie && String::from_utf8_lossy(&command).contains(text)
    })
}

/// Waits until a condition holds, for at most 10 seconds.
pub(crate) fn eventually(condition: impl Fn() -> bool) -> bool {
    let start = std::time::Instant::now();
    while !condition() {
        if start.elapsed().as_secs() >= 10 {
            return false;
        }
        std::thread::yield_now();
    }
    true
}
