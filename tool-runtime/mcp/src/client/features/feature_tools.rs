//! Tools that give a model the resources, prompts and completions of a server.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tool_core::{
    Arguments, Availability, Effect, Message, Tool, ToolContext, ToolDefinition, ToolError,
    ToolKind, ToolOutput, Tools, async_trait,
};

use crate::client::calls::content::ResultReader;
use crate::client::connect::link::Link;
use crate::client::connection::McpConnection;
use crate::client::error::McpError;
use crate::client::features::feature_error::feature_error;
use crate::client::features::offered_features::OfferedFeatures;
use crate::client::features::prompts::McpPrompt;
use crate::client::status::McpStatus;
use crate::client::tools::text::clean_line;

/// The number of resources that a connection can be subscribed to by a model.
const MAX_SUBSCRIPTIONS: usize = 50;

/// The number of characters of a description in a list.
const MAX_ABOUT_CHARS: usize = 300;

/// The number of characters of a URI or a name in a list.
const MAX_NAME_CHARS: usize = 500;

/// Adds the tools for the features of a server to a list.
pub(crate) fn feature_tools(
    link: &Arc<Link>,
    features: OfferedFeatures,
    mut tools: Tools,
) -> Tools {
    let mut offered = Vec::new();
    if features.resources {
        offered.extend([Operation::ListResources, Operation::ReadResource]);
    }
    if features.subscriptions {
        offered.extend([Operation::Subscribe, Operation::Unsubscribe]);
    }
    if features.prompts {
        offered.extend([Operation::ListPrompts, Operation::GetPrompt]);
    }
    if features.completions {
        offered.push(Operation::Complete);
    }
    for operation in offered {
        tools = tools.with(FeatureTool::new(link, operation));
    }
    tools
}

#[derive(Clone, Copy)]
enum Operation {
    ListResources,
    ReadResource,
    Subscribe,
    Unsubscribe,
    ListPrompts,
    GetPrompt,
    Complete,
}

impl Operation {
    /// Returns the name of the tool, what it does with the server, and the schema of its arguments.
    fn describe(self) -> (&'static str, &'static str, Value) {
        let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required });
        let text = |description: &str| json!({ "type": "string", "description": description });
        match self {
            Self::ListResources => (
                "list_resources",
                "Lists the resources and the resource templates of",
                object(json!({}), &[]),
            ),
            Self::ReadResource => (
                "read_resource",
                "Reads a resource of",
                object(json!({ "uri": text("The URI of the resource.") }), &["uri"]),
            ),
            Self::Subscribe => (
                "subscribe_resource",
                "Subscribes to the changes of a resource of",
                object(json!({ "uri": text("The URI of the resource.") }), &["uri"]),
            ),
            Self::Unsubscribe => (
                "unsubscribe_resource",
                "Ends the subscription to a resource of",
                object(json!({ "uri": text("The URI of the resource.") }), &["uri"]),
            ),
            Self::ListPrompts => ("list_prompts", "Lists the prompts of", object(json!({}), &[])),
            Self::GetPrompt => {
                let arguments = json!({
                    "type": "object",
                    "description": "The arguments of the prompt.",
                    "additionalProperties": { "type": "string" },
                });
                let properties =
                    json!({ "name": text("The name of the prompt."), "arguments": arguments });
                ("get_prompt", "Returns the messages of a prompt of", object(properties, &["name"]))
            }
            Self::Complete => {
                let properties = json!({
                    "of": text("The name of a prompt, or the URI template of a resource."),
                    "argument": text("The name of the argument or the variable."),
                    "value": text("The beginning of the value."),
                });
                let required = ["of", "argument", "value"];
                (
                    "complete",
                    "Suggests values for an argument of a prompt or resource template of",
                    object(properties, &required),
                )
            }
        }
    }
}

struct FeatureTool {
    definition: ToolDefinition,
    operation: Operation,
    connection: McpConnection,
}

#[derive(Deserialize)]
struct ReadArguments {
    uri: String,
}

#[derive(Deserialize)]
struct PromptArguments {
    name: String,
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct CompletionArguments {
    of: String,
    argument: String,
    value: String,
}

impl FeatureTool {
    fn new(link: &Arc<Link>, operation: Operation) -> Self {
        let (name, verb, parameters) = operation.describe();
        let description = format!("{verb} the MCP server `{}`.", link.name);
        let mut definition =
            ToolDefinition::new(name, description, parameters).effect(Effect::Read);
        definition.kind = ToolKind::Remote(link.name.clone());
        let options = &link.options;
        let definition = options.trust.apply(&link.name, definition, None, options.call_timeout);
        // A request of a tool may take as long as its call.
        let limit = definition.timeout.unwrap_or(options.call_timeout);
        let connection = McpConnection::new(Arc::clone(link)).with_request_timeout(limit);
        Self { definition, operation, connection }
    }

    fn reader(&self) -> ResultReader {
        let (server, options) = (self.connection.name(), &self.connection.link.options);
        ResultReader {
            server: server.to_owned(),
            limits: options.results,
            marks_text: options.trust.marks_text(server, &self.definition.name),
            output: None,
        }
    }

    /// Returns lines as one untrusted text.
    fn lines(&self, lines: &[String]) -> ToolOutput {
        let blocks = vec![json!({ "type": "text", "text": lines.join("\n") })];
        ToolOutput::from_parts(self.reader().parts(blocks))
    }

    async fn list_resources(&self) -> Result<ToolOutput, McpError> {
        let resources = self.connection.resources().await?;
        let mut lines: Vec<_> = resources
            .iter()
            .map(|resource| {
                let about = resource.description.as_deref().or(resource.title.as_deref());
                line(&resource.uri, about.unwrap_or(&resource.name))
            })
            .collect();
        // Many servers with resources have no templates, and return an error.
        let templates = self.connection.resource_templates().await.unwrap_or_default();
        lines.extend(templates.iter().map(|template| {
            line(&template.uri_template, template.description.as_deref().unwrap_or(&template.name))
        }));
        Ok(self.lines(&lines))
    }

    async fn read_resource(&self, args: ReadArguments) -> Result<ToolOutput, McpError> {
        let contents = self.connection.read_resource_values(args.uri).await?;
        let block = |resource| json!({ "type": "resource", "resource": resource });
        let blocks = contents.into_iter().map(block).collect();
        Ok(ToolOutput::from_parts(self.reader().parts(blocks)))
    }

    async fn subscribe(&self, args: ReadArguments) -> Result<ToolOutput, McpError> {
        let subscriptions = self.connection.link.subscriptions();
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains(&args.uri) {
            let reason = "too many subscriptions: call `unsubscribe_resource` first";
            return Err(McpError::NotAllowed(reason.to_owned()));
        }
        self.connection.subscribe(args.uri).await?;
        Ok(ToolOutput::text("Subscribed: a message will report when the resource has changed."))
    }

    async fn unsubscribe(&self, args: ReadArguments) -> Result<ToolOutput, McpError> {
        self.connection.unsubscribe(args.uri).await?;
        Ok(ToolOutput::text("The subscription has ended."))
    }

    async fn list_prompts(&self) -> Result<ToolOutput, McpError> {
        let prompts = self.connection.prompts().await?;
        Ok(self.lines(&prompts.iter().map(prompt_line).collect::<Vec<_>>()))
    }

    async fn get_prompt(&self, args: PromptArguments) -> Result<ToolOutput, McpError> {
        let arguments = args.arguments.iter().map(|(name, value)| (&**name, &**value));
        let messages = self.connection.prompt(args.name, arguments).await?;
        let lines: Vec<_> = messages
            .iter()
            .map(|message| {
                let role = match message {
                    Message::Assistant { .. } => "assistant",
                    _ => "user",
                };
                format!("{role}: {}", message.text())
            })
            .collect();
        Ok(self.lines(&lines))
    }

    async fn complete(&self, args: CompletionArguments) -> Result<ToolOutput, McpError> {
        let CompletionArguments { of, argument, value } = args;
        // A template is a URI, and names of prompts have no scheme.
        let values = if of.contains("://") {
            self.connection.complete_resource(of, argument, value).await?
        } else {
            self.connection.complete_prompt(of, argument, value).await?
        };
        let lines = values.iter().map(|value| clean_line(value, MAX_NAME_CHARS));
        Ok(self.lines(&lines.collect::<Vec<_>>()))
    }
}

fn line(name: &str, about: &str) -> String {
    format!("{}: {}", clean_line(name, MAX_NAME_CHARS), clean_line(about, MAX_ABOUT_CHARS))
}

/// Describes a prompt: `review(code, language?): Reviews code.`
fn prompt_line(prompt: &McpPrompt) -> String {
    let arguments = prompt.arguments.iter().map(|argument| {
        let mark = if argument.required { "" } else { "?" };
        format!("{}{mark}", argument.name)
    });
    let name = format!("{}({})", prompt.name, arguments.collect::<Vec<_>>().join(", "));
    let about = prompt.description.as_deref().or(prompt.title.as_deref());
    line(&name, about.unwrap_or(&prompt.name))
}

#[async_trait]
impl Tool for FeatureTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn availability(&self) -> Availability {
        match self.connection.status() {
            McpStatus::Connected { .. } => Availability::Available,
            status => {
                let (server, status) = (self.connection.name(), status.to_model_text());
                Availability::Unavailable(format!("the MCP server `{server}` is {status}"))
            }
        }
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = args.to_text();
        let output = match self.operation {
            Operation::ListResources => Box::pin(self.list_resources()).await,
            Operation::ReadResource => {
                Box::pin(self.read_resource(serde_json::from_str(&args)?)).await
            }
            Operation::Subscribe => Box::pin(self.subscribe(serde_json::from_str(&args)?)).await,
            Operation::Unsubscribe => {
                Box::pin(self.unsubscribe(serde_json::from_str(&args)?)).await
            }
            Operation::ListPrompts => Box::pin(self.list_prompts()).await,
            Operation::GetPrompt => Box::pin(self.get_prompt(serde_json::from_str(&args)?)).await,
            Operation::Complete => Box::pin(self.complete(serde_json::from_str(&args)?)).await,
        };
        let is_retry_safe = self.definition.is_retry_safe();
        output.map_err(|error| feature_error(self.connection.name(), &error, is_retry_safe))
    }
}
