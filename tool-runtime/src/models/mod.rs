//! The model's side of a conversation: what it is asked and what it answers.
//!
//! Nothing here knows a provider; [`ScriptedModel`] needs none.

mod error;
mod names;
mod request;
mod scripted;

use std::sync::Arc;

use async_trait::async_trait;

pub use error::ModelError;
pub use names::{NameRules, WireNames};
pub use request::{ChatReply, ChatRequest, Finish};
pub use scripted::{ScriptedModel, ScriptedTurn};

/// A model that answers a conversation.
///
/// ```
/// use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message, ModelError, async_trait};
///
/// /// Says what it was told.
/// struct Parrot;
///
/// #[async_trait]
/// impl ChatModel for Parrot {
///     async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
///         Ok(ChatReply::text(request.messages.last().map(Message::text).unwrap_or_default()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let said = Parrot.reply(ChatRequest::new(&[Message::user("Hello")])).await.unwrap();
/// assert_eq!(said, ChatReply::text("Hello"));
/// # }
/// ```
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Asks the model to go on.
    ///
    /// # Errors
    /// There is no reply: the model can't be reached, refuses, or can't be understood.
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError>;
}

/// Shared: one client for several agents, or a script that a test asks about afterwards.
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.as_ref().reply(request).await
    }
}

/// Chosen at run time.
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Box<M> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.as_ref().reply(request).await
    }
}
