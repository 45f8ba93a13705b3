//! Questions to the client: what tools and prompts need to know before they can answer.
//!
//! - `elicitation.rs`, `sampling.rs`: the two kinds with content; the third asks for roots.
//! - `requests.rs`: several questions at once, which suspend a call.
//! - `responses.rs`: the answers, when the call continues.

mod elicitation;
mod requests;
mod responses;
mod sampling;

use rmcp::model::{ClientCapabilities, InputRequest, ServerRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_core::ToolError;

pub use elicitation::{ElicitationReply, ElicitationRequest};
pub use requests::InputRequests;
pub(crate) use requests::{InputRequired, Suspended};
pub use responses::InputResponses;
pub(crate) use responses::root_uris;
pub use sampling::{SamplingReply, SamplingRequest};

/// A question to the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Input {
    Elicitation(ElicitationRequest),
    Sampling(SamplingRequest),
    Roots,
}

impl Input {
    /// Returns the request as the protocol defines it.
    fn json(&self) -> Value {
        match self {
            Self::Elicitation(question) => {
                json!({ "method": "elicitation/create", "params": question.params() })
            }
            Self::Sampling(prompt) => {
                json!({ "method": "sampling/createMessage", "params": prompt.params() })
            }
            Self::Roots => json!({ "method": "roots/list" }),
        }
    }

    /// Returns the request for a result with `input_required` and for a task.
    pub(crate) fn input_request(&self) -> Result<InputRequest, ToolError> {
        serde_json::from_value(self.json()).map_err(|error| {
            ToolError::failed("The question can't be asked through MCP.").with_source(error)
        })
    }

    /// Returns the request that is sent to clients of the revision 2025-11-25.
    pub(crate) fn server_request(&self) -> Result<ServerRequest, ToolError> {
        Ok(match self.input_request()? {
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            _ => return Err(ToolError::failed("The question can't be asked through MCP.")),
        })
    }

    /// Returns the name of the capability that the question needs.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Elicitation(_) => "elicitation",
            Self::Sampling(_) => "sampling",
            Self::Roots => "roots",
        }
    }

    /// Returns the capability that the client lacks for this question.
    pub(crate) fn missing_capability(&self, client: &ClientCapabilities) -> Option<&'static str> {
        let is_supported = match self {
            Self::Elicitation(_) => client.elicitation.is_some(),
            Self::Sampling(_) => client.sampling.is_some(),
            Self::Roots => client.roots.is_some(),
        };
        (!is_supported).then(|| self.noun())
    }

    /// Whether this is an answer to the question.
    pub(crate) fn accepts(&self, answer: &Value) -> bool {
        match self {
            Self::Elicitation(question) => question.accepts(answer),
            Self::Sampling(_) => SamplingReply::parse(answer).is_ok(),
            Self::Roots => answer.get("roots").is_some_and(Value::is_array),
        }
    }
}
