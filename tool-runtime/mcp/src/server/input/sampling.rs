use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_core::ToolError;

/// The number of tokens that a reply may have, unless the tool asks for more.
const DEFAULT_MAX_TOKENS: u32 = 1024;

/// A prompt for the model of the client.
///
/// ```
/// use tool_runtime::mcp::server::SamplingRequest;
///
/// let title = SamplingRequest::new("Suggest a title.").system("You edit texts.").max_tokens(50);
/// # let _ = title;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingRequest {
    prompt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    max_tokens: u32,
}

impl SamplingRequest {
    /// Creates a prompt of one message of the user.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), system: None, max_tokens: DEFAULT_MAX_TOKENS }
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.system = Some(prompt.into());
        self
    }

    /// Sets the maximum number of tokens of the reply. Default: 1024.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = tokens;
        self
    }

    pub(crate) fn params(&self) -> Value {
        let content = json!({ "type": "text", "text": self.prompt });
        let mut params = json!({
            "messages": [{ "role": "user", "content": content }],
            "maxTokens": self.max_tokens,
        });
        if let (Some(system), Some(params)) = (&self.system, params.as_object_mut()) {
            params.insert("systemPrompt".to_owned(), json!(system));
        }
        params
    }
}

/// The reply of the model of a client.
///
/// ```
/// use tool_runtime::mcp::server::{McpRequest, SamplingRequest};
/// use tool_runtime::{ToolContext, ToolError, tool};
///
/// /// Suggests a title for a text.
/// #[tool]
/// async fn title(text: String, ctx: &ToolContext) -> Result<String, ToolError> {
///     let request = ctx.require::<McpRequest>()?;
///     let reply = request.sample(SamplingRequest::new(format!("Suggest a title: {text}"))).await?;
///     Ok(reply.text)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplingReply {
    /// The text of the reply. Other content is left out.
    pub text: String,
    /// The name of the model that replied.
    pub model: String,
}

impl SamplingReply {
    pub(crate) fn parse(reply: &Value) -> Result<Self, ToolError> {
        let content = reply.get("content");
        let (Some(content), Some(model)) = (content, reply.get("model").and_then(Value::as_str))
        else {
            return Err(ToolError::failed(
                "The client sent an invalid reply to the sampling request.",
            ));
        };
        let blocks =
            content.as_array().map_or_else(|| std::slice::from_ref(content), Vec::as_slice);
        let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
        Ok(Self { text: texts.collect::<Vec<_>>().join("\n"), model: model.to_owned() })
    }
}
