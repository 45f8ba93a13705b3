//! Times of tools in JavaScript: from a spec to a registered tool on SQLite, and of calls.
//!
//! `cargo bench -p tool-dynamic --features catalog,javascript --bench javascript`

#![expect(clippy::unwrap_used, reason = "a bench stops at the first failure")]

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::Runtime;
use tool_dynamic::{
    BodyLanguage, Catalog, DynamicTools, JavaScript, Registrar, ToolBackend as _, ToolSpec,
};
use tool_runtime::dispatch::Permissions;
use tool_runtime::store::Sqlite;
use tool_runtime::{
    Dispatcher, Effect, Permission, Policy, Registry, ToolCall, ToolExecution, tool, tools,
};

/// Doubles a number.
#[tool(effect = "none")]
async fn double(n: i64) -> i64 {
    2 * n
}

/// A temporary folder for the database and the files beside it, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = format!("tool-dynamic-bench-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn spec(name: &str, body: &str) -> ToolSpec {
    ToolSpec::new(BodyLanguage::JavaScript, name, "Is made by a bench.", body).effect(Effect::Read)
}

fn call(runtime: &Runtime, dispatcher: &Dispatcher, name: &str, json: &str) -> ToolExecution {
    let call = ToolCall::new("1", name, json);
    let execution = runtime.block_on(dispatcher.dispatch(vec![call])).remove(0);
    assert!(execution.is_success(), "{}", execution.result.text);
    execution
}

async fn dispatcher(file: &Sqlite) -> Dispatcher {
    let catalog = Catalog::new(file.records().await.unwrap());
    let registry = Registry::try_from(tools![double]).unwrap();
    let builder = Registrar::builder(catalog).backend(JavaScript::new());
    let registrar = builder.start(&registry).await.unwrap();
    let composed = "return Promise.all([1, 2, 3, 4].map(n => call_tool('double', { n })));";
    registrar.create("one", spec("one", "return 1;")).await.unwrap();
    registrar.create("four", spec("four", composed).tool("double")).await.unwrap();
    registry.register_all(tools![..DynamicTools::new(registrar)]).unwrap();
    let allowed = Permissions::default().tool("new_tool", Permission::Allow);
    Dispatcher::new(registry).policy(Policy::new().permissions(allowed))
}

fn javascript(criterion: &mut Criterion) {
    // Removed after the database, which is dropped first.
    let folder = Folder::new();
    let runtime = Runtime::new().unwrap();
    let file = runtime.block_on(Sqlite::open(folder.0.join("catalog.db"))).unwrap();
    let dispatcher = runtime.block_on(dispatcher(&file));
    let mut group = criterion.benchmark_group("javascript");

    let new_spec = serde_json::to_string(&spec("new", "return 1;")).unwrap();
    group.bench_function("spec to registered", |bencher| {
        bencher.iter(|| call(&runtime, &dispatcher, "new_tool", &new_spec));
    });
    let (backend, checked) = (JavaScript::new(), spec("new", "return 1;").check().unwrap());
    group.bench_function("build", |bencher| {
        bencher.iter(|| black_box(runtime.block_on(backend.build(&checked)).is_ok()));
    });
    for (label, name) in [("call", "one"), ("call with 4 calls", "four")] {
        group.bench_function(label, |bencher| {
            bencher.iter(|| call(&runtime, &dispatcher, name, "{}"));
        });
    }
    group.finish();
}

criterion_group!(benches, javascript);
criterion_main!(benches);
