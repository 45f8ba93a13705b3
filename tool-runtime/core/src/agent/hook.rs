//! Hooks before and after each model request.

use std::ops::ControlFlow;

use async_trait::async_trait;

use crate::drivers::PreparedRequest;
use crate::guard::catch_panic;
use crate::models::ChatReply;
use crate::tool::RunContext;

/// The part of a reply that a [`ModelHook`] changes.
///
/// ```
/// use tool_runtime::agent::{ModelHook, ReplyChanges, StreamItem};
/// use tool_runtime::{Agent, ChatReply, RunContext, ScriptedModel, Tools, async_trait};
///
/// /// Replaces the name of a project, which may arrive in several pieces.
/// struct Rename;
///
/// #[async_trait]
/// impl ModelHook for Rename {
///     fn reply_changes(&self) -> ReplyChanges {
///         ReplyChanges::Pieces
///     }
///
///     fn on_delta(&self, pending: &mut String, is_last: bool, _: &RunContext<'_>) -> String {
///         // The last word may be incomplete.
///         let end = if is_last { pending.len() } else { pending.rfind(' ').unwrap_or(0) };
///         let rest = pending.split_off(end);
///         std::mem::replace(pending, rest).replace("Orion", "the project")
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let model = ScriptedModel::new([ChatReply::text("We call Orion a success.")]);
/// let mut stream = Agent::new(model, Tools::new()).model_hook(Rename).stream("How is it?");
/// let mut text = String::new();
/// while let Some(item) = stream.next().await {
///     if let StreamItem::Text(piece) = item {
///         text.push_str(&piece);
///     }
/// }
/// assert_eq!(text, "We call the project a success.");
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyChanges {
    /// The hook changes no reply. Replies are streamed as they arrive.
    Nothing,
    /// The hook changes the text and the reasoning piece by piece, by [`ModelHook::on_delta`]. What
    /// that returns is streamed as it arrives.
    Pieces,
    /// The hook may replace a reply by [`ModelHook::after_reply`]. Nothing of it is streamed before
    /// that.
    #[default]
    Whole,
}

/// Hook that sees each model request and each reply, and may change them or stop the run.
///
/// Set it with [`Agent::model_hook`](crate::Agent::model_hook). To see tool calls, use an
/// [`Interceptor`](crate::dispatch::Interceptor).
///
/// Several hooks run in the order in which they were added before a request, and in reverse order
/// after the reply. If a hook returns `Break`, the run ends with
/// [`StopReason::StopRequested`](crate::StopReason::StopRequested) and the given reason. A hook
/// that panics ends the run in the same way. To report a problem without ending the run, call
/// [`RunContext::warn`].
///
/// Put `#[async_trait]`, which this crate re-exports, on the `impl` block.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use tool_runtime::agent::ModelHook;
/// use tool_runtime::drivers::PreparedRequest;
/// use tool_runtime::{Agent, ChatReply, RunContext, ScriptedModel, Tools, async_trait};
///
/// /// Stops runs that mention a secret project.
/// struct Embargo;
///
/// #[async_trait]
/// impl ModelHook for Embargo {
///     async fn before_request(
///         &self,
///         request: &mut PreparedRequest<'_>,
///         _: &RunContext<'_>,
///     ) -> ControlFlow<String> {
///         match request.messages.iter().any(|message| message.text().contains("Project X")) {
///             true => ControlFlow::Break("Project X is secret".into()),
///             false => ControlFlow::Continue(()),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let model = ScriptedModel::new([ChatReply::text("It is …")]);
/// let agent = Agent::new(model, Tools::new()).model_hook(Embargo);
/// let stopped = agent.run("What is Project X?").await.unwrap_err();
/// assert!(stopped.to_string().ends_with("Project X is secret"));
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `ModelHook`",
    label = "implement `ModelHook` for a type of your own, under `#[async_trait]`",
    note = "a closure can't be a model hook: a hook has one method before the request and one after the reply"
)]
#[async_trait]
pub trait ModelHook: Send + Sync {
    /// Called before the model request of each turn.
    ///
    /// Changes apply to this request only and are not kept in the transcript. `ctx` describes the
    /// run that sends the request.
    async fn before_request(
        &self,
        request: &mut PreparedRequest<'_>,
        ctx: &RunContext<'_>,
    ) -> ControlFlow<String> {
        let _ = (request, ctx);
        ControlFlow::Continue(())
    }

    /// Returns what the hook changes in replies, which decides when they are streamed.
    ///
    /// Default: [`ReplyChanges::Whole`], under which nothing of a reply is streamed before
    /// [`after_reply`](Self::after_reply) has returned. A hook that changes no reply returns
    /// [`ReplyChanges::Nothing`].
    fn reply_changes(&self) -> ReplyChanges {
        ReplyChanges::Whole
    }

    /// Takes what can be passed on out of `pending`, and returns it in changed form.
    ///
    /// Called if [`reply_changes`](Self::reply_changes) returns [`ReplyChanges::Pieces`]: for each
    /// piece of a streamed text or reasoning, and for each complete text of a reply. `pending` is
    /// the text that has arrived and was not taken. What the hook leaves in it comes first in the
    /// next call, unless `is_last` is true: then the text is complete, or a call follows, and what
    /// is left of it is removed. The default passes everything on.
    ///
    /// The event of a reply that the driver can't parse has its text unchanged.
    fn on_delta(&self, pending: &mut String, is_last: bool, ctx: &RunContext<'_>) -> String {
        let _ = (is_last, ctx);
        std::mem::take(pending)
    }

    /// Called after each reply of the model.
    ///
    /// Changes replace the reply in the transcript and for all further steps. The usage of the
    /// original reply still counts. If the text was streamed before, because
    /// [`reply_changes`](Self::reply_changes) says so, a change is reported by
    /// [`ModelEvent::ReplyReplaced`](crate::event::ModelEvent::ReplyReplaced).
    async fn after_reply(
        &self,
        reply: &mut ChatReply,
        ctx: &RunContext<'_>,
    ) -> ControlFlow<String> {
        let _ = (reply, ctx);
        ControlFlow::Continue(())
    }
}

/// Returns what a hook changes in replies. A hook that panics may change anything.
pub(super) fn reply_changes(hook: &dyn ModelHook) -> ReplyChanges {
    catch_panic(|| hook.reply_changes()).unwrap_or_default()
}
