use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tool_core::{ToolContext, ToolError};

use super::{ElicitationReply, SamplingReply, Suspended};

/// The answers of a client to [`InputRequests`](super::InputRequests), and the state that was saved
/// with them.
///
/// ```
/// use tool_runtime::mcp::server::{InputRequests, InputResponses};
/// use tool_runtime::{ToolContext, ToolError, tool};
///
/// /// Lists the folders that the client works in.
/// #[tool]
/// async fn folders(ctx: &ToolContext) -> Result<String, ToolError> {
///     match InputResponses::of(ctx) {
///         None => Err(InputRequests::new().roots("folders").suspend(())),
///         Some(responses) => Ok(responses.roots("folders")?.join(", ")),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InputResponses {
    answers: BTreeMap<String, Value>,
    state: Value,
}

impl InputResponses {
    /// Returns the answers with which a call continues, or `None` when the call starts.
    pub fn of(ctx: &ToolContext) -> Option<Self> {
        let resumed = ctx.resumed()?;
        let suspended: Suspended = resumed.state_as().ok()?;
        let answers = resumed.answer_as().ok()?;
        Some(Self { answers, state: suspended.state })
    }

    pub(crate) fn new(answers: BTreeMap<String, Value>, state: Value) -> Self {
        Self { answers, state }
    }

    /// Returns the reply of the user to a question.
    ///
    /// # Errors
    /// There was no such question.
    pub fn elicited(&self, key: &str) -> Result<ElicitationReply, ToolError> {
        ElicitationReply::parse(self.answer(key)?)
    }

    /// Returns the reply of the client's model to a prompt.
    ///
    /// # Errors
    /// There was no such prompt.
    pub fn sampled(&self, key: &str) -> Result<SamplingReply, ToolError> {
        SamplingReply::parse(self.answer(key)?)
    }

    /// Returns the URIs of the roots: the folders that the client works in.
    ///
    /// # Errors
    /// There was no such question.
    pub fn roots(&self, key: &str) -> Result<Vec<String>, ToolError> {
        root_uris(self.answer(key)?)
    }

    /// Decodes the state that was saved with the questions.
    ///
    /// # Errors
    /// The state does not fit the type.
    pub fn state_as<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        Ok(T::deserialize(&self.state)?)
    }

    fn answer(&self, key: &str) -> Result<&Value, ToolError> {
        let unasked = || ToolError::failed(format!("There was no question with the key `{key}`."));
        self.answers.get(key).ok_or_else(unasked)
    }
}

/// Returns the URIs in a list of roots.
pub(crate) fn root_uris(answer: &Value) -> Result<Vec<String>, ToolError> {
    let Some(roots) = answer.get("roots").and_then(Value::as_array) else {
        return Err(ToolError::failed("The client sent an invalid list of roots."));
    };
    let uris = roots.iter().filter_map(|root| root.get("uri")?.as_str());
    Ok(uris.map(str::to_owned).collect())
}
