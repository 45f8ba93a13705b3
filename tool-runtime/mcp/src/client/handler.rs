//! Answers the requests of a server.

use std::sync::{Arc, Weak};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ErrorCode, ErrorData, ListRootsResult, RequestId,
};
use rmcp::service::{InboundStreamOrigin, RequestContext, RoleClient};
use tokio::sync::oneshot;

use super::options::Options;
use super::roots::Roots;
use super::traffic::{Question, RequestSlot, Traffic};

/// The handler of the SDK. Questions go to the call that they belong to, which answers them in its
/// own task: they end with it, and count towards its budget.
pub(super) struct Handler {
    pub(super) options: Arc<Options>,
    pub(super) roots: Roots,
    pub(super) config: ClientConfig,
    pub(super) traffic: Weak<Traffic>,
}

impl Handler {
    /// Returns where the questions of a request go.
    fn questions(
        &self,
        context: &RequestContext<RoleClient>,
    ) -> Result<Arc<RequestSlot>, ErrorData> {
        let call: Option<RequestId> = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id.clone()),
            _ => None,
        };
        let traffic = self.traffic.upgrade();
        let questions = traffic.and_then(|traffic| traffic.answering(call.as_ref()));
        questions.ok_or_else(|| refused("no call of this client is in flight"))
    }
}

fn refused(message: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)
}

async fn ask<T>(
    call: Arc<RequestSlot>,
    question: impl FnOnce(oneshot::Sender<Result<T, ErrorData>>) -> Question,
) -> Result<T, ErrorData> {
    let (answer, answered) = oneshot::channel();
    let pushed = call.push_question(question(answer));
    pushed.map_err(|_| refused("too many requests for one call"))?;
    // The question ends with the call.
    drop(call);
    answered.await.unwrap_or_else(|_| Err(refused("the call has ended")))
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let questions = self.questions(&context)?;
        ask(questions, |answer| Question::Elicit(Box::new(request), answer)).await
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        if self.options.sampling.is_none() {
            return Err(refused("sampling is off"));
        }
        let questions = self.questions(&context)?;
        ask(questions, |answer| Question::Sample(Box::new(request), answer)).await
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
