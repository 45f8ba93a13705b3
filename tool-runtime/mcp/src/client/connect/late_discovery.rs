//! A discovery that takes longer than the SDK waits for it.
//!
//! The SDK waits 10 seconds for the answer to `server/discover`, then sends `initialize` and takes
//! a late answer for a violation of the protocol. A server of the newest revision that starts
//! slowly does not know `initialize`: its late answer is what counts. So the answers to both
//! requests are awaited here, and the SDK receives the one of `initialize`, or else the discovery
//! in its form.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, DiscoverResult, Implementation,
    InitializeResult, JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use tokio::time::{Sleep, sleep};

/// How long `initialize` may remain unanswered once the discovery was answered.
const GRACE: Duration = Duration::from_secs(2);

/// Follows the two requests of a handshake.
#[derive(Default)]
pub(crate) struct LateDiscovery {
    /// The discovery that has no answer yet.
    discovery: Option<RequestId>,
    /// The `initialize` that the SDK sent before the discovery was answered.
    initialize: Option<RequestId>,
    /// The request `initialize`, which a sequential wire carries after the discovery is answered.
    deferred: Option<ClientJsonRpcMessage>,
    /// The late answer to the discovery.
    discovered: Option<InitializeResult>,
    /// The error that answered `initialize`, while the discovery has no answer.
    refused: Option<ServerJsonRpcMessage>,
    /// Ends the wait for an answer to `initialize`.
    grace: Option<Pin<Box<Sleep>>>,
    /// Whether the SDK received the discovery as the answer to `initialize`.
    is_modern: bool,
}

/// The step that follows a message of the server.
pub(crate) enum Next {
    /// The SDK receives this message.
    Deliver(ServerJsonRpcMessage),
    /// The server receives this message.
    Send(ClientJsonRpcMessage),
    /// Another message is awaited.
    Wait,
}

impl LateDiscovery {
    /// Records a message of the SDK. Returns the message if it is to be sent now. If the wire is
    /// sequential, it carries no request before the first one is answered.
    pub(crate) fn record_sent(
        &mut self,
        message: ClientJsonRpcMessage,
        is_sequential: bool,
    ) -> Option<ClientJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::DiscoverRequest(_) => self.discovery = Some(request.id.clone()),
                ClientRequest::InitializeRequest(_) if self.discovery.is_some() => {
                    self.initialize = Some(request.id.clone());
                    if is_sequential {
                        self.deferred = Some(message);
                        return None;
                    }
                }
                _ => {}
            },
            // The revisions that have a discovery have no such notification.
            JsonRpcMessage::Notification(notification)
                if self.is_modern
                    && matches!(
                        notification.notification,
                        ClientNotification::InitializedNotification(_)
                    ) =>
            {
                return None;
            }
            _ => {}
        }
        Some(message)
    }

    /// Handles a message of the server.
    pub(crate) fn received(&mut self, message: ServerJsonRpcMessage) -> Next {
        if self.discovery.is_none() && self.initialize.is_none() {
            return Next::Deliver(message);
        }
        match message {
            JsonRpcMessage::Response(response) if self.discovery.as_ref() == Some(&response.id) => {
                self.discovery = None;
                match (&self.initialize, response.result) {
                    (Some(_), ServerResult::DiscoverResult(result)) => self.discovered(result),
                    (Some(_), _) => self.not_discovered(),
                    (None, result) => Next::Deliver(JsonRpcMessage::response(result, response.id)),
                }
            }
            JsonRpcMessage::Error(error) if error.id.is_some() && self.discovery == error.id => {
                self.discovery = None;
                match self.initialize {
                    Some(_) => self.not_discovered(),
                    None => Next::Deliver(JsonRpcMessage::Error(error)),
                }
            }
            JsonRpcMessage::Error(error) if error.id.is_some() && self.initialize == error.id => {
                let error = JsonRpcMessage::Error(error);
                if let Some(discovered) = self.discovered.take() {
                    return self.deliver(discovered);
                }
                if self.discovery.is_some() {
                    self.refused = Some(error);
                    return Next::Wait;
                }
                *self = Self::default();
                Next::Deliver(error)
            }
            JsonRpcMessage::Response(response)
                if self.initialize.as_ref() == Some(&response.id) =>
            {
                *self = Self::default();
                Next::Deliver(JsonRpcMessage::Response(response))
            }
            other => Next::Deliver(other),
        }
    }

    /// Waits until `initialize` has been unanswered for too long after the discovery.
    pub(crate) fn poll_grace(&mut self, cx: &mut Context<'_>) -> Poll<ServerJsonRpcMessage> {
        let Some(grace) = &mut self.grace else { return Poll::Pending };
        std::task::ready!(grace.as_mut().poll(cx));
        self.grace = None;
        match self.discovered.take().map(|discovered| self.deliver(discovered)) {
            Some(Next::Deliver(message)) => Poll::Ready(message),
            _ => Poll::Pending,
        }
    }

    fn discovered(&mut self, result: DiscoverResult) -> Next {
        if !result.supported_versions.contains(&ProtocolVersion::V_2026_07_28) {
            return self.not_discovered();
        }
        let info = result.server_info();
        let mut initialized = InitializeResult::new(result.capabilities)
            .with_server_info(info.unwrap_or_else(|| Implementation::new("", "")))
            .with_protocol_version(ProtocolVersion::V_2026_07_28);
        initialized.instructions = result.instructions;
        initialized.meta = result.meta;
        if self.deferred.is_some() || self.refused.is_some() {
            return self.deliver(initialized);
        }
        self.discovered = Some(initialized);
        self.grace = Some(Box::pin(sleep(GRACE)));
        Next::Wait
    }

    /// The server knows no discovery: `initialize` decides.
    fn not_discovered(&mut self) -> Next {
        match (self.deferred.take(), self.refused.take()) {
            (Some(initialize), _) => {
                *self = Self::default();
                Next::Send(initialize)
            }
            (None, Some(refused)) => {
                *self = Self::default();
                Next::Deliver(refused)
            }
            (None, None) => Next::Wait,
        }
    }

    fn deliver(&mut self, initialized: InitializeResult) -> Next {
        let id = self.initialize.take();
        *self = Self { is_modern: true, ..Self::default() };
        match id {
            Some(id) => {
                let result = ServerResult::InitializeResult(initialized);
                Next::Deliver(JsonRpcMessage::response(result, id))
            }
            None => Next::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        DiscoverRequest, DiscoverRequestParams, ErrorCode, ErrorData, InitializeRequest,
        InitializeRequestParams, InitializedNotification, ServerCapabilities,
    };

    use super::*;

    /// Sends the two requests of a handshake on a wire that is sequential.
    fn handshake() -> LateDiscovery {
        let mut late = LateDiscovery::default();
        let discover = DiscoverRequest::new(DiscoverRequestParams {});
        let discover = JsonRpcMessage::request(discover.into(), RequestId::Number(0));
        assert!(late.record_sent(discover, true).is_some());
        let initialize = InitializeRequest::new(InitializeRequestParams::default());
        let initialize = JsonRpcMessage::request(initialize.into(), RequestId::Number(1));
        assert!(late.record_sent(initialize, true).is_none(), "the request is not deferred");
        late
    }

    #[test]
    fn late_discovery_of_a_sequential_wire_answers_the_deferred_request() {
        let mut late = handshake();
        let versions = vec![ProtocolVersion::V_2026_07_28];
        let result = DiscoverResult::new(versions, ServerCapabilities::default());
        let result = ServerResult::DiscoverResult(result);
        let answer = JsonRpcMessage::response(result, RequestId::Number(0));
        let Next::Deliver(JsonRpcMessage::Response(response)) = late.received(answer) else {
            panic!("no answer");
        };
        assert_eq!(response.id, RequestId::Number(1));
        let ServerResult::InitializeResult(result) = response.result else { panic!("no result") };
        assert_eq!(result.protocol_version, ProtocolVersion::V_2026_07_28);
        let initialized = JsonRpcMessage::notification(InitializedNotification::default().into());
        assert!(late.record_sent(initialized, true).is_none());
    }

    #[test]
    fn held_request_is_sent_once_the_discovery_is_refused() {
        for versions in [None, Some(vec![ProtocolVersion::V_2025_11_25])] {
            let mut late = handshake();
            let id = RequestId::Number(0);
            let answer: ServerJsonRpcMessage = match versions {
                Some(versions) => {
                    let result = DiscoverResult::new(versions, ServerCapabilities::default());
                    JsonRpcMessage::response(ServerResult::DiscoverResult(result), id)
                }
                None => {
                    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "unknown", None);
                    JsonRpcMessage::error(error, Some(id))
                }
            };
            let Next::Send(JsonRpcMessage::Request(request)) = late.received(answer) else {
                panic!("nothing is sent");
            };
            assert!(matches!(request.request, ClientRequest::InitializeRequest(_)));
            let initialized =
                JsonRpcMessage::notification(InitializedNotification::default().into());
            assert!(late.record_sent(initialized, true).is_some());
        }
    }
}
