//! The model's side of a conversation: what it is asked and what it answers.
//!
//! Nothing here knows a provider; [`ScriptedModel`] needs none.

pub(crate) mod delta;
mod error;
pub(crate) mod history;
mod names;
mod options;
mod request;
mod scripted;

use std::sync::Arc;

use async_trait::async_trait;

pub use delta::{Delta, Deltas};
pub use error::{ModelError, Refusal, RefusalKind};
pub use names::{NameRules, WireNames};
pub use options::{ChatOptions, ToolChoice};
pub use request::{ChatReply, ChatRequest, Finish};
pub use scripted::{ScriptedFailure, ScriptedModel, ScriptedTurn};

/// A model that answers a conversation.
///
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
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
///
/// One that fails for a reason of its own says so by [`ModelError::failed`]; or by [`ModelError::unavailable`], where the
/// same may go well later. It is not asked again by itself: the run ends, and whoever has it can tell.
///
/// ```
/// use tool_runtime::{Agent, ChatModel, ChatReply, ChatRequest, ModelError, StopReason, Tools, async_trait};
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
///             return Err(ModelError::unavailable("its weights are being loaded"));
///         }
///         let text = String::from_utf8(vec![0xff]).map_err(ModelError::failed)?;
///         Ok(ChatReply::text(text))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let agent = Agent::new(Local { is_loaded: false }, Tools::new());
/// let stopped = agent.run("Hello").await.unwrap_err();
/// assert_eq!(stopped.to_string(), "the run stopped: the model failed: its weights are being loaded");
/// let StopReason::Model(error) = &stopped.reason else { panic!() };
/// assert!(error.may_pass());
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model",
    label = "pass a client, such as `OpenAi::new(url, name)`, or a `ScriptedModel` in a test",
    note = "a client is there under its feature, such as `openai`; \
            for a model of your own, implement `ChatModel` under `#[async_trait]`"
)]
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Asks the model to go on.
    ///
    /// # Errors
    /// There is no reply: the model can't be reached, refuses, or can't be understood.
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError>;

    /// The same, told of piece by piece while it is being said. The reply is the one that
    /// [`reply`](Self::reply) would have given; unless a model says otherwise, it is told of at once.
    ///
    /// # Errors
    /// As above; what was told of by then is void.
    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut Deltas<'_>,
    ) -> Result<ChatReply, ModelError> {
        let reply = self.reply(request).await?;
        delta::tell(&reply.parts, deltas);
        Ok(reply)
    }

    /// Reports what would make every request fail, without sending one.
    ///
    /// [`Agent::check`](crate::Agent::check) calls this at startup. Provider clients report a missing
    /// API key, a malformed URL and the like. Default: nothing to report.
    ///
    /// # Errors
    /// Returns the error with which the next request would fail.
    fn check(&self) -> Result<(), ModelError> {
        Ok(())
    }

    /// Reports what would make this request fail, without sending it.
    ///
    /// [`Agent::check`](crate::Agent::check) calls this at startup, for each tool and for all of them
    /// with the options of the agent. Provider clients report a schema that they can't send, and
    /// options that contradict each other. Default: nothing to report.
    ///
    /// # Errors
    /// Returns the error with which the request would fail.
    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        let _ = request;
        Ok(())
    }
}

/// Shared: one client for several agents, or a script that a test asks about afterwards.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.as_ref().reply(request).await
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut Deltas<'_>,
    ) -> Result<ChatReply, ModelError> {
        self.as_ref().stream(request, deltas).await
    }

    fn check(&self) -> Result<(), ModelError> {
        self.as_ref().check()
    }

    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        self.as_ref().check_request(request)
    }
}

/// Chosen at run time.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Box<M> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.as_ref().reply(request).await
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut Deltas<'_>,
    ) -> Result<ChatReply, ModelError> {
        self.as_ref().stream(request, deltas).await
    }

    fn check(&self) -> Result<(), ModelError> {
        self.as_ref().check()
    }

    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        self.as_ref().check_request(request)
    }
}
