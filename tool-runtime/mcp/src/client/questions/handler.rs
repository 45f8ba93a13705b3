//! Answers the requests of a server.

use std::sync::{Arc, Weak};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ErrorCode, ErrorData, ListRootsResult, RequestId,
};
use rmcp::service::{InboundStreamOrigin, RequestContext, RoleClient};
use tokio::sync::oneshot;

use crate::client::options::Options;
use crate::client::questions::roots::Roots;
use crate::client::wire::traffic::{AnsweringCall, Question, Traffic};

/// The handler of the SDK. Questions go to the call that they belong to, which answers them in its
/// own task: they end with it, and count towards its budget.
///
/// Before 2026-07-28, a question does not name its call. Over HTTP, it arrives on the stream of the
/// call. On other transports, the newest call answers. If that call ends first, the newest of the
/// others answers.
pub(crate) struct Handler {
    pub(crate) options: Arc<Options>,
    pub(crate) roots: Roots,
    pub(crate) config: ClientConfig,
    pub(crate) traffic: Weak<Traffic>,
}

impl Handler {
    /// Lets a call answer a question.
    async fn ask<T>(
        &self,
        context: &RequestContext<RoleClient>,
        question: impl Fn(bool, Answer<T>) -> Question,
    ) -> Result<T, ErrorData> {
        let of: Option<RequestId> = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id.clone()),
            _ => None,
        };
        let (mut none_left, mut is_first) = ("no call of this client is in flight", true);
        loop {
            let traffic = self.traffic.upgrade();
            let call = traffic.and_then(|traffic| traffic.answering(of.as_ref()));
            let AnsweringCall { slot, is_certain } = call.ok_or_else(|| refused(none_left))?;
            // Once it was asked, it may belong to a call that has ended since.
            let is_of_call = is_certain && is_first;
            let (answer, answered) = oneshot::channel();
            let pushed = slot.push_question(question(is_of_call, answer));
            pushed.map_err(|_| refused("too many requests for one call"))?;
            // The question ends with the call.
            drop(slot);
            (none_left, is_first) = ("the call has ended", false);
            match answered.await {
                Ok(answer) => return answer,
                Err(_) if is_of_call => return Err(refused(none_left)),
                Err(_) => {}
            }
        }
    }
}

/// Receives the answer to a question.
type Answer<T> = oneshot::Sender<Result<T, ErrorData>>;

fn refused(message: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let question = |is_of_call, answer| {
            let params = Box::new(request.clone());
            Question::Elicit { params, is_of_call, answer }
        };
        self.ask(&context, question).await
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        if self.options.sampling.is_none() {
            return Err(refused("sampling is off"));
        }
        let question = |_, answer| Question::Sample(Box::new(request.clone()), answer);
        self.ask(&context, question).await
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots.list())
    }

    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }
}
