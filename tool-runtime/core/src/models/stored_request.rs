//! A chat request as plain data.

use serde::{Deserialize, Serialize};

use super::{ChatModel, ChatOptions, ChatReply, ChatRequest, DeltaSink, ModelError};
use crate::message::Message;
use crate::schema::Dialect;
use crate::tool::ToolDefinition;

/// A chat request as plain data, for a process that sends it in the place of another.
///
/// A [`ChatModel`] that leaves requests to workers, or records each of them as a step of a workflow
/// engine, creates it from the [`ChatRequest`] that it receives. By its [key](Self::key), a request
/// that is repeated after a crash can be answered with the reply that was recorded before.
///
/// ```
/// use tool_runtime::models::StoredChatRequest;
/// use tool_runtime::{ChatReply, ChatRequest, Message, ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let messages = [Message::user("Hello")];
/// let request = ChatRequest::new(&messages).key("run-1-1");
/// let sent = serde_json::to_string(&StoredChatRequest::from(request))?;
///
/// // In the other process:
/// let received: StoredChatRequest = serde_json::from_str(&sent)?;
/// let model = ScriptedModel::new([ChatReply::text("Hi!")]);
/// assert_eq!(received.reply(&model).await?, ChatReply::text("Hi!"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredChatRequest {
    /// The messages of the conversation that the model receives.
    pub messages: Vec<Message>,
    /// The definitions of the offered tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// The options of the request.
    #[serde(default)]
    pub options: ChatOptions,
    /// The [key](ChatRequest::key) of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The dialect that the parameters of the tools are sent in. A definition is serialized with
    /// its own parameters.
    #[serde(default)]
    tool_dialect: Dialect,
    /// The dialect that the schema of the answer is in.
    #[serde(default)]
    output_dialect: Dialect,
}

impl From<ChatRequest<'_>> for StoredChatRequest {
    fn from(request: ChatRequest<'_>) -> Self {
        let ChatRequest { messages, tools, options, key } = request;
        let of_tool = |tool: &&ToolDefinition| tool.wire_parameters().dialect();
        Self {
            messages: messages.to_vec(),
            tools: tools.iter().copied().cloned().collect(),
            options: options.clone(),
            key: key.map(ToOwned::to_owned),
            tool_dialect: tools.first().map(of_tool).unwrap_or_default(),
            output_dialect: options.output.as_ref().map(|it| it.dialect()).unwrap_or_default(),
        }
    }
}

impl StoredChatRequest {
    /// Sends the request to a model and returns its reply.
    ///
    /// # Errors
    /// Returns the error of the model, and [`ModelError::Setup`] if the parameters of a tool can't
    /// be expressed in their dialect.
    ///
    /// ```
    /// use tool_runtime::models::StoredChatRequest;
    /// use tool_runtime::{ChatReply, ChatRequest, Message, ScriptedModel};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::ModelError> {
    /// let request = StoredChatRequest::from(ChatRequest::new(&[Message::user("Hello")]));
    /// let model = ScriptedModel::new([ChatReply::text("Hi!")]);
    /// assert_eq!(request.reply(&model).await?, ChatReply::text("Hi!"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn reply(&self, model: &dyn ChatModel) -> Result<ChatReply, ModelError> {
        let (tools, options) = self.restored()?;
        let tools: Vec<_> = tools.iter().collect();
        model.reply(self.request(&tools, &options)).await
    }

    /// Sends the request to a model and passes the pieces of its reply to `deltas` as they arrive.
    ///
    /// # Errors
    /// Returns the errors of [`reply`](Self::reply). The pieces that were passed before the error
    /// are void.
    ///
    /// ```
    /// use tool_runtime::models::StoredChatRequest;
    /// use tool_runtime::{ChatReply, ChatRequest, Message, ScriptedModel};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::ModelError> {
    /// let request = StoredChatRequest::from(ChatRequest::new(&[Message::user("Hello")]));
    /// let model = ScriptedModel::new([ChatReply::text("Hi!")]);
    /// let mut pieces = 0;
    /// request.stream(&model, &mut |_| pieces += 1).await?;
    /// assert_eq!(pieces, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn stream(
        &self,
        model: &dyn ChatModel,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let (tools, options) = self.restored()?;
        let tools: Vec<_> = tools.iter().collect();
        model.stream(self.request(&tools, &options), deltas).await
    }

    fn request<'r>(
        &'r self,
        tools: &'r [&'r ToolDefinition],
        options: &'r ChatOptions,
    ) -> ChatRequest<'r> {
        let request = ChatRequest::new(&self.messages).tools(tools).options(options);
        ChatRequest { key: self.key.as_deref(), ..request }
    }

    /// Returns the tools and the options with the dialects of their schemas, which are not
    /// serialized.
    fn restored(&self) -> Result<(Vec<ToolDefinition>, ChatOptions), ModelError> {
        let in_dialect = |tool: &ToolDefinition| tool.clone().in_dialect(self.tool_dialect);
        let tools: Result<_, _> = self.tools.iter().map(in_dialect).collect();
        let tools = tools.map_err(|error| ModelError::Setup(error.to_string()))?;
        let mut options = self.options.clone();
        options.output = options.output.map(|schema| schema.marked_as(self.output_dialect));
        Ok((tools, options))
    }
}
