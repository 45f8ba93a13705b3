//! Extensions that a tool requires: declared by `extensions(…)`, read by `ctx.require()`.

use tool_runtime::__private::RequiredExtension;
use tool_runtime::{Dispatcher, Extensions, ToolCall};

use super::*;

struct Database(&'static str);

struct Settings;

/// Reads the orders.
#[tool(effect = "read", extensions(Database, super::extensions::Settings))]
async fn orders(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    let _: &Settings = ctx.require()?;
    Ok(ctx.require::<Database>()?.0)
}

struct Cached<T>(T);

#[tool]
impl<T: Clone + Send + Sync + 'static> Cached<T> {
    /// Reads the cache.
    #[tool(effect = "read", extensions(Vec<T>, Database))]
    async fn read(&self) {
        let _ = self.0.clone();
    }
}

#[test]
fn required_extensions_are_in_the_definition() {
    let definition = orders {}.definition().clone();
    let names: Vec<_> = definition.extensions.iter().map(RequiredExtension::type_name).collect();
    assert_eq!(
        names,
        ["runtime::tool::extensions::Database", "runtime::tool::extensions::Settings"]
    );
    let extensions = Extensions::default().with(Settings);
    let missing: Vec<_> = definition
        .extensions
        .iter()
        .filter(|required| !required.is_provided_by(&extensions))
        .collect();
    assert_eq!(missing, [&RequiredExtension::of::<Database>()]);
    // Rust types are not serialized.
    assert!(!serde_json::to_string(&definition).unwrap().contains("Database"));

    let registry = Registry::try_from(tools![..Cached(1_u8)]).unwrap();
    let snapshot = registry.snapshot();
    let of_generic = &snapshot.definition("read").unwrap().extensions;
    assert_eq!(
        *of_generic,
        [RequiredExtension::of::<Vec<u8>>(), RequiredExtension::of::<Database>()]
    );
}

#[tokio::test]
async fn require_returns_the_extension_of_the_dispatcher() {
    let dispatcher = Dispatcher::new(Registry::try_from(tools![orders]).unwrap())
        .extension(Database("two orders"))
        .extension(Settings);
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", "orders", "{}")]).await;
    assert_eq!(executions[0].result.text, "two orders");
}

#[tokio::test]
async fn missing_extension_is_named_for_operators_alone() {
    let dispatcher =
        Dispatcher::new(Registry::try_from(tools![orders]).unwrap()).extension(Settings);
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", "orders", "{}")]).await;
    assert!(executions[0].failed_with(ToolErrorKind::Unavailable.code()));
    assert_eq!(executions[0].result.text, "`orders` can't run now. Go on without it.");
    assert_eq!(
        executions[0].cause.as_deref(),
        Some(
            "tool `orders` requires the extension `runtime::tool::extensions::Database`, which is not \
             set: add it with `Agent::extension` or `Dispatcher::extension`, or a \
             `Steering` with `Agent::steering`"
        )
    );
}
