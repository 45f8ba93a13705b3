//! Resources, prompts and completion.

use tool_runtime::mcp::server::{
    CompletionRequest, CompletionTarget, InputRequests, Prompt, PromptMessage, PromptRequest,
    Prompts, ResourceRequest, ResourceTemplate, Resources,
};
use tool_runtime::message::{EmbeddedResource, ResourceData, ResourceLink};

use super::content::{PNG, image};
use super::input::{field, form};

pub fn resources() -> Resources {
    let resources = Resources::new();
    let text = ResourceLink::new("test://static-text", "Static Text Resource");
    let text = text.description("A static text resource for testing").media_type("text/plain");
    resources.insert(text, |_| async {
        Ok(ResourceData::Text("This is the content of the static text resource.".into()))
    });
    let binary = ResourceLink::new("test://static-binary", "Static Binary Resource");
    let binary = binary.description("A static image for testing").media_type("image/png");
    resources.insert(binary, |_| async { Ok(ResourceData::Base64(PNG.into())) });
    let watched = ResourceLink::new("test://watched-resource", "Watched Resource");
    resources.insert(watched.media_type("text/plain"), |_| async {
        Ok(ResourceData::Text("Watched resource content".into()))
    });
    let template = ResourceTemplate::new("test://template/{id}/data", "Dynamic Resource");
    let template =
        template.description("A resource with a parameter").media_type("application/json");
    resources.insert_template(template, |request: ResourceRequest| async move {
        let id = request.variable("id").unwrap_or_default();
        let data = serde_json::json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
        Ok(ResourceData::Text(data.to_string()))
    });
    resources
}

pub fn prompts() -> Prompts {
    let prompts = Prompts::new();
    let simple = Prompt::new("test_simple_prompt").description("A prompt without arguments");
    prompts.insert(simple, |_| async {
        Ok(vec![PromptMessage::user("This is a simple test prompt.")])
    });
    let with_arguments = Prompt::new("test_prompt_with_arguments")
        .description("A prompt with arguments")
        .required_argument("arg1", "First test argument")
        .required_argument("arg2", "Second test argument");
    prompts.insert(with_arguments, |request: PromptRequest| async move {
        let argument = |name| request.argument(name).unwrap_or_default();
        let (first, second) = (argument("arg1"), argument("arg2"));
        let text = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
        Ok(vec![PromptMessage::user(text)])
    });
    let with_resource = Prompt::new("test_prompt_with_embedded_resource")
        .description("A prompt with a resource")
        .required_argument("resourceUri", "The URI of the resource");
    prompts.insert(with_resource, |request: PromptRequest| async move {
        let uri = request.argument("resourceUri").unwrap_or("test://static-text").to_owned();
        let resource = EmbeddedResource::text(uri, "Embedded resource content for testing.");
        Ok(vec![
            PromptMessage::user(resource.media_type("text/plain")),
            PromptMessage::user("Please process the embedded resource above."),
        ])
    });
    let with_image = Prompt::new("test_prompt_with_image").description("A prompt with an image");
    prompts.insert(with_image, |_| async {
        Ok(vec![
            PromptMessage::user(image()),
            PromptMessage::user("Please analyze the image above."),
        ])
    });
    let interactive =
        Prompt::new("test_input_required_result_prompt").description("A prompt that asks");
    prompts.insert(interactive, |request: PromptRequest| async move {
        let Some(responses) = &request.responses else {
            let question = form("What context should the prompt use?", "context", "string");
            return Err(InputRequests::new().elicit("user_context", question).suspend(()));
        };
        let context = field(responses, "user_context", "context")?;
        Ok(vec![PromptMessage::user(format!("Prompt with elicited context: {context}"))])
    });
    prompts
}

/// Completes the arguments of the prompts above.
pub async fn complete(request: CompletionRequest) -> Vec<String> {
    let values: &[&str] = match &request.target {
        CompletionTarget::Prompt(_) => &["paris", "park", "party"],
        _ => &["1", "2", "3"],
    };
    let fits = |value: &&&str| value.starts_with(&request.value);
    values.iter().filter(fits).map(|value| (*value).to_owned()).collect()
}
