//! A dispatcher with the tools, on a catalog in memory.

use serde_json::{Value, json};
use tool_dynamic::{Catalog, DynamicTools, JavaScript, Registrar};
use tool_runtime::dispatch::Permissions;
use tool_runtime::records::{MemoryRecords, Records};
use tool_runtime::{
    Dispatcher, Permission, Policy, Registry, ToolCall, ToolExecution, tool, tools,
};

/// Doubles a number.
#[tool(effect = "none")]
async fn double(n: i64) -> i64 {
    2 * n
}

pub(crate) struct Fixture {
    pub(crate) registry: Registry,
    pub(crate) registrar: Registrar,
    pub(crate) dispatcher: Dispatcher,
}

/// Allows the tools that ask for approvals.
pub(crate) fn allowed() -> Policy {
    let names = ["new_tool", "unregister_tool", "tool_rollback"];
    let allow = |all: Permissions, name| all.tool(name, Permission::Allow);
    Policy::new().permissions(names.into_iter().fold(Permissions::default(), allow))
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::on(MemoryRecords::new(), allowed()).await
    }

    pub(crate) async fn on(store: impl Records + 'static, policy: Policy) -> Self {
        let registry = Registry::try_from(tools![double]).unwrap();
        let registrar = Registrar::builder(Catalog::new(store)).backend(JavaScript::new());
        let registrar = registrar.start(&registry).await.unwrap();
        registry.register_all(tools![..DynamicTools::new(registrar.clone())]).unwrap();
        let dispatcher = Dispatcher::new(registry.clone()).policy(policy);
        Self { registry, registrar, dispatcher }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolExecution {
        let call = ToolCall::new("1", name, arguments.to_string());
        self.dispatcher.dispatch(vec![call]).await.remove(0)
    }

    /// Makes a tool without arguments.
    pub(crate) async fn make(&self, name: &str, body: &str) -> ToolExecution {
        self.call("new_tool", spec(name, body)).await
    }

    /// Returns the text of a successful call.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        let execution = self.call(name, arguments).await;
        assert!(execution.is_success(), "{}", execution.result.text);
        execution.result.text
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let snapshot = self.registry.only_labeled(["dynamic"]).snapshot();
        snapshot.entries().map(|entry| entry.name().to_owned()).collect()
    }
}

pub(crate) fn spec(name: &str, body: &str) -> Value {
    json!({
        "name": name, "description": "Does something.", "language": "javascript", "effect": "read",
        "body": body,
    })
}
