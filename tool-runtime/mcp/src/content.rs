//! Content of results and prompts, from the runtime to MCP.

use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use tool_core::message::{Audio, EmbeddedResource, FileData, ResourceData, ResourceLink};
use tool_core::{ContentPart, Image, ToolExecution};

/// Converts an execution into the result for the client. If `has_schema`, the tool declares a
/// schema of its output, which is then sent as structured content, too.
pub(crate) fn call_result(mut execution: ToolExecution, has_schema: bool) -> CallToolResult {
    let is_structured = has_schema || execution.result.structured.is_some();
    let structured =
        if execution.is_success() && is_structured { execution.structured_value() } else { None };
    let is_error = !execution.is_success();
    let text = std::mem::take(&mut execution.result.text);
    let parts = std::mem::take(&mut execution.result.parts);
    let mut content = Vec::with_capacity(1 + parts.len());
    if !text.is_empty() || parts.is_empty() {
        content.push(ContentBlock::text(text));
    }
    content.extend(parts.into_iter().map(block));
    let mut result = CallToolResult::success(content);
    result.is_error = Some(is_error);
    result.structured_content = structured;
    result
}

/// Creates the result of a call that failed with this text for the model.
pub(crate) fn error_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Converts one part.
pub(crate) fn block(part: ContentPart) -> ContentBlock {
    match part {
        ContentPart::Text { text } => ContentBlock::text(text),
        ContentPart::Image(Image { media_type, base64, .. }) => {
            ContentBlock::image(base64, media_type)
        }
        ContentPart::Audio(Audio { media_type, base64, .. }) => {
            ContentBlock::audio(base64, media_type)
        }
        ContentPart::File(FileData { name, media_type, base64, .. }) => {
            let uri = format!("attachment:{}", name.as_deref().unwrap_or("file"));
            ContentBlock::resource(ResourceContents::blob(base64, uri).with_mime_type(media_type))
        }
        ContentPart::Link(link) => ContentBlock::resource_link(resource(link)),
        ContentPart::Resource(embedded) => ContentBlock::resource(contents(embedded)),
        other => ContentBlock::text(other.plain_text()),
    }
}

/// Converts the description of a resource.
pub(crate) fn resource(link: ResourceLink) -> Resource {
    let mut resource = Resource::new(link.uri, link.name);
    resource.description = link.description;
    resource.mime_type = link.media_type;
    resource.size = link.size;
    resource
}

/// Converts a resource with its content.
pub(crate) fn contents(embedded: EmbeddedResource) -> ResourceContents {
    let EmbeddedResource { uri, media_type: mime_type, data, .. } = embedded;
    match data {
        ResourceData::Text(text) => {
            ResourceContents::TextResourceContents { uri, mime_type, text, meta: None }
        }
        ResourceData::Base64(blob) => {
            ResourceContents::BlobResourceContents { uri, mime_type, blob, meta: None }
        }
    }
}
