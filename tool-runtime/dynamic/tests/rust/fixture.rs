//! The folder that all tests share, and calls of tools.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tool_dynamic::{BodyLanguage, RustTools, ToolBackend, ToolSpec};
use tool_runtime::{Dispatcher, Effect, Registry, Tool, ToolCall, ToolExecution, Tools};

/// Returns the folder of all builds of these tests.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("rust-tools")
}

/// Returns a backend in the folder that all tests share. It checks once that the folder is up to
/// date, which takes a second.
pub(crate) fn backend() -> RustTools {
    static SHARED: LazyLock<RustTools> = LazyLock::new(new_backend);
    SHARED.clone()
}

/// Returns another backend in the same folder, as after a restart.
pub(crate) fn new_backend() -> RustTools {
    let tools = RustTools::new(folder());
    tools.status().expect("these tests need bubblewrap, user namespaces and a toolchain");
    tools
}

/// Returns the spec of a tool without arguments and effects.
pub(crate) fn spec(name: &str, body: &str) -> ToolSpec {
    ToolSpec::new(BodyLanguage::Rust, name, "Is made by a test.", body).effect(Effect::None)
}

/// Builds a tool.
pub(crate) async fn build(spec: ToolSpec) -> Arc<dyn Tool> {
    let spec = spec.check().unwrap();
    backend().build(&spec).await.unwrap_or_else(|error| panic!("{error:?}"))
}

/// Returns the text of the error of a build.
pub(crate) async fn build_error(tools: &RustTools, body: &str) -> String {
    let spec = spec("hostile", body).check().unwrap();
    match tools.build(&spec).await {
        Ok(_) => panic!("this was built: {body}"),
        Err(error) => error.text().to_owned(),
    }
}

/// Calls a tool through a dispatcher.
pub(crate) async fn call(tool: &Arc<dyn Tool>, arguments: Value) -> ToolExecution {
    let name = tool.definition().name.clone();
    let registry = Registry::try_from(Tools::from_iter([Arc::clone(tool)])).unwrap();
    let call = ToolCall::new("call", name, arguments.to_string());
    Dispatcher::new(registry).dispatch(vec![call]).await.remove(0)
}

/// Returns the text of the result of a call.
pub(crate) async fn text(tool: &Arc<dyn Tool>, arguments: Value) -> String {
    call(tool, arguments).await.result.text
}

/// Returns the folders of the programs that contain a text.
pub(crate) fn programs_with(text: &str) -> Vec<PathBuf> {
    // A search in this process would take a second for each program, as it is not optimized.
    let mut grep = Command::new("grep");
    let found = grep.args(["-rlF", "--", text]).arg(folder().join("programs")).output().unwrap();
    let paths = String::from_utf8(found.stdout).unwrap();
    paths.lines().map(|path| Path::new(path).parent().unwrap().to_owned()).collect()
}

/// Waits until no process with a command line lives, for at most 10 seconds.
pub(crate) async fn ends(command_line: &[u8]) -> bool {
    let start = Instant::now();
    loop {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        if !lines.into_iter().any(|line| line.ends_with(command_line)) {
            return true;
        }
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        tokio::task::yield_now().await;
    }
}
