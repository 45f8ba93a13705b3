//! Tools that return content of each kind.

use tool_runtime::message::{Audio, EmbeddedResource};
use tool_runtime::{ContentPart, Image, ToolError, ToolOutput, Tools, tool, tools};

/// A red image of 1 by 1 pixel.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A sound without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub fn image() -> Image {
    Image { media_type: "image/png".into(), base64: PNG.into() }
}

/// Returns text.
#[tool(effect = "none")]
async fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool(effect = "none")]
async fn test_image_content() -> ToolOutput {
    ToolOutput::from_parts([image().into()])
}

/// Returns a sound.
#[tool(effect = "none")]
async fn test_audio_content() -> ToolOutput {
    ToolOutput::from_parts([Audio::new("audio/wav", WAV).into()])
}

/// Returns a resource with its content.
#[tool(effect = "none")]
async fn test_embedded_resource() -> ToolOutput {
    let text = "This is an embedded resource content.";
    let resource = EmbeddedResource::text("test://embedded-resource", text);
    ToolOutput::from_parts([resource.media_type("text/plain").into()])
}

/// Returns text, an image and a resource.
#[tool(effect = "none")]
async fn test_multiple_content_types() -> ToolOutput {
    let json = r#"{"test":"data","value":123}"#;
    let resource = EmbeddedResource::text("test://mixed-content-resource", json);
    let text = ContentPart::text("Multiple content types test:");
    let resource = resource.media_type("application/json");
    ToolOutput::from_parts([text, image().into(), resource.into()])
}

/// Fails.
#[tool(effect = "none")]
async fn test_error_handling() -> Result<(), ToolError> {
    Err(ToolError::failed("This tool intentionally returns an error for testing"))
}

pub fn tools() -> Tools {
    tools![
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
    ]
}
