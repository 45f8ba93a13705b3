//! User code whose names equal those of generated code.
#![deny(warnings)]

mod serde {}
mod schemars {}
mod core {}
mod std {}

#[expect(dead_code, reason = "only the name is used")]
struct Option;
#[expect(dead_code, reason = "only the name is used")]
struct Box;
type Result<T> = ::std::result::Result<T, ::tool_runtime::ToolError>;

#[expect(dead_code, reason = "only the name is used")]
trait Everywhere: Sized {
    fn split(self) {}
    fn pick(self) {}
    fn give(&self) {}
    fn json(self) {}
    fn value(self) {}
    fn schema(self) {}
    fn or_else(self) {}
}

impl<T> Everywhere for T {}

// Names that a macro of the user could introduce.
mod tool {}
#[expect(dead_code, reason = "only the name is used")]
struct Function;
#[expect(dead_code, reason = "only the name is used")]
struct Names;

/// Is called under whatever name.
#[::tool_runtime::tool]
#[deprecated]
async fn old(_names: ::std::option::Option<bool>) {}

mod inner {
    /// Adds.
    #[::tool_runtime::tool(effect = "none")]
    pub(super) async fn ctx(r#type: i64, arguments: i64) -> super::Result<i64> {
        ::std::result::Result::Ok(r#type + arguments)
    }
}

/// Says so.
#[::tool_runtime::tool]
#[expect(clippy::unused_async, reason = "a tool that awaits nothing")]
async fn values(slot0: ::std::string::String) -> ::std::string::String {
    slot0
}

#[::tool_runtime::args]
struct ToolContext {
    city: ::std::string::String,
}

/// Takes arguments of that name.
#[::tool_runtime::tool]
async fn shadowing(context: ToolContext) -> ::std::string::String {
    context.city
}

#[test]
fn generated_code_ignores_names_of_the_user() {
    /// Lives in a function.
    #[::tool_runtime::tool]
    async fn local() {}

    let tools = ::tool_runtime::tools![inner::ctx, values, local, old, shadowing];
    let names = tools.into_iter().map(|tool| tool.definition().name.clone());
    assert_eq!(
        names.collect::<::std::vec::Vec<_>>(),
        ["ctx", "values", "local", "old", "shadowing"]
    );

    // The name can still be used for a variable, and the function can be called.
    let values = values(::std::string::String::new());
    drop(values);
}
