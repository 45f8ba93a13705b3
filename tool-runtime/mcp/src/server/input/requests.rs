use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use rmcp::model::ClientCapabilities;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_core::ToolError;

use super::{ElicitationRequest, Input, SamplingRequest};

/// Questions to the client, each under a key that the tool chooses. A call is suspended until all
/// are answered.
///
/// The call is made again with the answers: [`InputResponses::of`](super::InputResponses::of)
/// returns them. This is supported with clients of all revisions, because no connection has to stay
/// open meanwhile. Prompts can ask questions, too.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::mcp::server::{ElicitationRequest, InputRequests, InputResponses};
/// use tool_runtime::{ToolContext, ToolError, tool};
///
/// /// Greets the user.
/// #[tool]
/// async fn greet(ctx: &ToolContext) -> Result<String, ToolError> {
///     let Some(responses) = InputResponses::of(ctx) else {
///         let name = json!({ "type": "string" });
///         let schema = json!({ "type": "object", "properties": { "name": name } });
///         let question = ElicitationRequest::new("What is your name?", schema);
///         return Err(InputRequests::new().elicit("name", question).suspend(()));
///     };
///     let name = responses.elicited("name")?.content().map(|content| content["name"].to_string());
///     Ok(format!("Hello, {}!", name.as_deref().unwrap_or("stranger")))
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InputRequests(pub(crate) BTreeMap<String, Input>);

impl InputRequests {
    /// Creates an empty set of questions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question to the user.
    #[must_use]
    pub fn elicit(mut self, key: impl Into<String>, question: ElicitationRequest) -> Self {
        self.0.insert(key.into(), Input::Elicitation(question));
        self
    }

    /// Adds a prompt for the model of the client.
    #[must_use]
    pub fn sample(mut self, key: impl Into<String>, prompt: SamplingRequest) -> Self {
        self.0.insert(key.into(), Input::Sampling(prompt));
        self
    }

    /// Adds a request for the roots: the folders that the client works in.
    #[must_use]
    pub fn roots(mut self, key: impl Into<String>) -> Self {
        self.0.insert(key.into(), Input::Roots);
        self
    }

    /// Returns `true` if there are no questions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Suspends the call until the questions are answered, with the state from which the tool
    /// continues.
    ///
    /// The client may receive the state, which is sealed against changes but readable: put no
    /// secrets in it.
    pub fn suspend(self, state: impl Serialize) -> ToolError {
        let state = match serde_json::to_value(state) {
            Ok(state) => state,
            Err(error) => return ToolError::from(error),
        };
        let questions: Vec<&str> = self.0.values().filter_map(Input::text).collect();
        let text = if questions.is_empty() {
            "The client has to provide input.".to_owned()
        } else {
            questions.join("\n")
        };
        let suspended = Suspended { mcp_input_requests: self.clone(), state };
        ToolError::suspended(text, &suspended).with_source(InputRequired(suspended))
    }

    /// Returns the capability that the client lacks for one of the questions.
    pub(crate) fn missing_capability(&self, client: &ClientCapabilities) -> Option<&'static str> {
        self.0.values().find_map(|input| input.missing_capability(client))
    }

    /// Whether there is an answer to each question.
    pub(crate) fn are_answered_by(&self, answers: &BTreeMap<String, Value>) -> bool {
        let is_answered = |(key, input): (&String, &Input)| {
            answers.get(key).is_some_and(|answer| input.accepts(answer))
        };
        self.0.iter().all(is_answered)
    }
}

impl Input {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Elicitation(question) => Some(question.message()),
            Self::Sampling(_) | Self::Roots => None,
        }
    }
}

/// The state of a call that asked questions, as the runtime keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Suspended {
    pub(crate) mcp_input_requests: InputRequests,
    pub(crate) state: Value,
}

/// Carries the questions in the error of a prompt, which no dispatcher suspends.
#[derive(Debug)]
pub(crate) struct InputRequired(pub(crate) Suspended);

impl fmt::Display for InputRequired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("input required from the client")
    }
}

impl Error for InputRequired {}
