//! What the official conformance suite expects of a server.

mod content;
mod input;
mod offers;
mod peer;
mod schemas;
mod tasks;

use tool_runtime::mcp::McpServer;
use tool_runtime::mcp::server::Tasks;
use tool_runtime::{Dispatcher, Registry};

pub fn server() -> McpServer {
    let registry = Registry::new();
    let lists = [content::tools(), peer::tools(), input::tools(), schemas::tools(), tasks::tools()];
    for tools in lists {
        registry.register_all(tools).expect("the tools are valid");
    }
    let (resources, prompts) = (offers::resources(), offers::prompts());
    let dispatcher =
        Dispatcher::new(registry.clone()).extension(registry).extension(prompts.clone());
    McpServer::new(dispatcher)
        .name("tool-runtime-conformance")
        .resources(resources)
        .prompts(prompts)
        .completion(offers::complete)
        .tasks(
            Tasks::new()
                .tools(["slow_compute", "protocol_error_job", "confirm_delete", "multi_input"])
                .required_tools(["failing_job"])
                .tools_after_input(["test_tool_with_task"]),
        )
}
