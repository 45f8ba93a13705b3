//! The trait of a chat model.

use std::sync::Arc;

use async_trait::async_trait;

use super::{ChatReply, ChatRequest, DeltaSink, ModelError, ModelInfo};
use crate::message::emit_reply;

/// Answers the messages of a conversation with text, tool calls, or both.
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message, ModelError, async_trait};
///
/// /// Repeats the last message.
/// struct Echo;
///
/// #[async_trait]
/// impl ChatModel for Echo {
///     async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
///         Ok(ChatReply::text(request.messages.last().map(Message::text).unwrap_or_default()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let reply = Echo.reply(ChatRequest::new(&[Message::user("Hello")])).await.unwrap();
/// assert_eq!(reply, ChatReply::text("Hello"));
/// # }
/// ```
///
/// If your model fails, return [`ModelError::failed`], or [`ModelError::unavailable`] if the same
/// request may succeed later. An agent does not retry the request: the run stops, and its caller
/// decides.
///
/// ```
/// use tool_runtime::{
///     Agent, ChatModel, ChatReply, ChatRequest, ModelError, StopReason, Tools, async_trait,
/// };
///
/// /// Runs in this process.
/// struct Local {
///     is_loaded: bool,
/// }
///
/// #[async_trait]
/// impl ChatModel for Local {
///     async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
///         if !self.is_loaded {
///             return Err(ModelError::unavailable("the weights are being loaded"));
///         }
///         let text = String::from_utf8(vec![0xff]).map_err(ModelError::failed)?;
///         Ok(ChatReply::text(text))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let agent = Agent::new(Local { is_loaded: false }, Tools::new());
/// let stopped = agent.run("Hello").await.unwrap_err();
/// let StopReason::Model(error) = &stopped.reason else { panic!() };
/// assert_eq!(error.to_string(), "model request failed: the weights are being loaded");
/// assert!(error.is_transient());
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "pass a client such as `OpenAi::new(url, name)`, or a `ScriptedModel` in a test",
    note = "each client has its own feature, such as `openai`; \
            for a model of your own, implement `ChatModel` under `#[async_trait]`"
)]
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Sends the request and returns the reply of the model.
    ///
    /// # Errors
    /// The model can't be reached, rejects the request, or sends a response that can't be decoded.
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError>;

    /// Sends the request and passes the pieces of the reply to `deltas` as they arrive.
    ///
    /// Returns the reply that [`reply`](Self::reply) would return. The default implementation calls
    /// `reply` and passes the whole reply at once.
    ///
    /// # Errors
    /// The errors of [`reply`](Self::reply). The pieces that were passed before the error are void.
    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let reply = self.reply(request).await?;
        emit_reply(&reply.parts, deltas);
        Ok(reply)
    }

    /// Returns the name of the model, its provider and the like, for events and spans. Default:
    /// nothing is known.
    ///
    /// ```
    /// use tool_runtime::{ChatModel, ScriptedModel};
    ///
    /// assert_eq!(ScriptedModel::default().info().name, None);
    /// ```
    fn info(&self) -> ModelInfo {
        ModelInfo::default()
    }

    /// Reports what would make every request fail, without sending one.
    ///
    /// [`Agent::check`](crate::Agent::check) calls this at startup. Provider clients report a
    /// missing API key, a malformed URL and the like. Default: nothing to report.
    ///
    /// # Errors
    /// Returns the error with which the next request would fail.
    fn check(&self) -> Result<(), ModelError> {
        Ok(())
    }

    /// Reports what would make this request fail, without sending it.
    ///
    /// [`Agent::check`](crate::Agent::check) calls this at startup, for each tool and for the
    /// options of the agent with the tools that they apply to. Provider clients report a schema
    /// that they can't send, and options that contradict each other. Default: nothing to report.
    ///
    /// # Errors
    /// Returns the error with which the request would fail.
    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        let _ = request;
        Ok(())
    }
}

/// Shares one client among several agents, or keeps a script for a test to inspect afterwards.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.as_ref().reply(request).await
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        self.as_ref().stream(request, deltas).await
    }

    fn info(&self) -> ModelInfo {
        self.as_ref().info()
    }

    fn check(&self) -> Result<(), ModelError> {
        self.as_ref().check()
    }

    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        self.as_ref().check_request(request)
    }
}

/// Allows the program to choose a model at run time.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Box<M> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.as_ref().reply(request).await
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        self.as_ref().stream(request, deltas).await
    }

    fn info(&self) -> ModelInfo {
        self.as_ref().info()
    }

    fn check(&self) -> Result<(), ModelError> {
        self.as_ref().check()
    }

    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        self.as_ref().check_request(request)
    }
}
