//! Tools that give a model the resources of a server.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tool_runtime::{
    Arguments, Availability, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolKind,
    ToolOutput, Tools, async_trait,
};

use super::connection::McpConnection;
use super::content::ResultReader;
use super::link::Link;
use super::status::McpStatus;
use super::text::clean_line;

/// The number of characters of an error that the model reads.
const MAX_ERROR_CHARS: usize = 500;

/// Adds the tools for the resources of a server to a list.
pub(super) fn resource_tools(link: &Arc<Link>, tools: Tools) -> Tools {
    let server = &link.name;
    let define = |name: &str, description: String, parameters| {
        let mut definition =
            ToolDefinition::new(name, description, parameters).effect(Effect::Read);
        definition.kind = ToolKind::Remote(server.clone());
        definition.timeout = Some(link.options.call_timeout);
        definition
    };
    let list = define(
        "list_resources",
        format!("Lists the resources of the MCP server `{server}`."),
        json!({ "type": "object", "properties": {} }),
    );
    let read = define(
        "read_resource",
        format!("Reads a resource of the MCP server `{server}`."),
        json!({
            "type": "object",
            "properties": { "uri": { "type": "string", "description": "The URI of the resource." } },
            "required": ["uri"],
        }),
    );
    let tool = |definition, operation| ResourceTool {
        definition,
        operation,
        connection: McpConnection { link: Arc::clone(link) },
    };
    tools.with(tool(list, Operation::List)).with(tool(read, Operation::Read))
}

enum Operation {
    List,
    Read,
}

struct ResourceTool {
    definition: ToolDefinition,
    operation: Operation,
    connection: McpConnection,
}

#[derive(Deserialize)]
struct ReadArguments {
    uri: String,
}

impl ResourceTool {
    fn reader(&self) -> ResultReader {
        let options = &self.connection.link.options;
        ResultReader {
            server: self.connection.name().to_owned(),
            limits: options.results,
            marks_text: options.trust.marks_text(&self.definition.name),
            output: None,
        }
    }

    async fn list(&self) -> Result<ToolOutput, ToolError> {
        let resources = self.connection.resources().await.map_err(|error| failed(&error))?;
        let lines: Vec<_> = resources
            .iter()
            .map(|resource| {
                let about = resource.description.as_deref().or(resource.title.as_deref());
                let about = about.unwrap_or(&resource.name);
                format!("{}: {}", clean_line(&resource.uri, 500), clean_line(about, 300))
            })
            .collect();
        let blocks = vec![json!({ "type": "text", "text": lines.join("\n") })];
        Ok(ToolOutput::from_parts(self.reader().parts(blocks)))
    }

    async fn read(&self, args: &Arguments) -> Result<ToolOutput, ToolError> {
        let ReadArguments { uri } = serde_json::from_str(&args.to_text())?;
        let contents = self.connection.read_resource_values(uri).await;
        let contents = contents.map_err(|error| failed(&error))?;
        let block = |resource| json!({ "type": "resource", "resource": resource });
        let blocks = contents.into_iter().map(block).collect();
        Ok(ToolOutput::from_parts(self.reader().parts(blocks)))
    }
}

fn failed(error: &super::error::McpError) -> ToolError {
    ToolError::failed(clean_line(&error.to_string(), MAX_ERROR_CHARS))
}

#[async_trait]
impl Tool for ResourceTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn availability(&self) -> Availability {
        match self.connection.status() {
            McpStatus::Connected { .. } => Availability::Available,
            status => {
                let server = self.connection.name();
                Availability::Unavailable(format!("the MCP server `{server}` is {status}"))
            }
        }
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        match self.operation {
            Operation::List => Box::pin(self.list()).await,
            Operation::Read => Box::pin(self.read(&args)).await,
        }
    }
}
