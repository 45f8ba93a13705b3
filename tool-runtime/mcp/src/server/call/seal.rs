//! The state of a pending call, which the client keeps and sends back with its answers.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{RequestStateCodec, SealOptions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_core::dispatch::SuspendedCall;
use tool_core::{CallId, ToolDefinition};

use super::pending::{ANSWERED_BY, Outcome, Reason};
use super::resume::Resume;

/// The time after which a client can't continue a call.
const LIFETIME: Duration = Duration::from_secs(3600);

/// Seals states, so that a client can read but not change them.
#[derive(Clone, Debug)]
pub(crate) struct Seals(RequestStateCodec);

impl Seals {
    /// Creates seals with a random key: the states are valid for this process only.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self(RequestStateCodec::new_unchecked(key)))
    }

    pub(crate) fn with_key(key: &[u8; 32]) -> Self {
        Self(RequestStateCodec::new_unchecked(*key))
    }

    pub(crate) fn seal(&self, state: &impl Serialize, binding: &[u8]) -> Result<String, ErrorData> {
        let options = SealOptions::new().associated_data(binding).ttl(LIFETIME);
        let sealed = self.0.seal_json_with(state, &options);
        sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Opens a state that was sealed for the same principal and request.
    pub(crate) fn open<T: DeserializeOwned>(
        &self,
        sealed: &str,
        binding: &[u8],
    ) -> Result<T, ErrorData> {
        let opened = self.0.open_json_with(sealed, binding);
        let invalid = "the request state is invalid, expired, or of another request";
        opened.map_err(|_| ErrorData::invalid_params(invalid, None))
    }
}

/// The kind of a request that can be continued.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Tool,
    Prompt,
}

/// Returns what a state is valid for: the kind of the request, the principal, the name of the tool
/// or prompt, and the arguments.
pub(crate) fn binding(
    kind: Kind,
    principal: Option<&str>,
    name: &str,
    arguments: &Value,
) -> Vec<u8> {
    let method = match kind {
        Kind::Tool => "tools/call",
        Kind::Prompt => "prompts/get",
    };
    let whole = Value::from(vec![
        Value::from(method),
        Value::from(principal),
        Value::from(name),
        sorted(arguments),
    ]);
    whole.to_string().into_bytes()
}

/// Sorts the members of all objects, since a client may send them in another order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            members.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        scalar => scalar.clone(),
    }
}

/// The sealed state of a call.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sealed {
    pub(super) call: CallId,
    pub(super) reason: Reason,
}

impl Sealed {
    /// Returns how the call continues with the answers. Without valid ones, it asks again.
    pub(super) fn resume(
        self,
        definition: &ToolDefinition,
        answers: BTreeMap<String, Value>,
    ) -> Resume {
        let unanswered: Vec<SuspendedCall> = match &self.reason {
            Reason::Question(suspended) => vec![SuspendedCall::clone(suspended)],
            Reason::Approval { .. } => Vec::new(),
        };
        match self.reason.outcome(&self.call, definition, answers, ANSWERED_BY) {
            Outcome::Resume(resume) => resume,
            Outcome::Unanswered => Resume { suspended: unanswered, ..Resume::default() },
            Outcome::Declined(text) => Resume { declined: Some(text), ..Resume::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn state_of_a_prompt_is_invalid_for_a_tool() {
        let seals = Seals::with_key(&[7; 32]);
        let of = |kind, name| binding(kind, Some("Ada"), name, &json!({}));
        let sealed = seals.seal(&1, &of(Kind::Prompt, "review")).unwrap();
        assert_eq!(seals.open::<u8>(&sealed, &of(Kind::Prompt, "review")).unwrap(), 1);
        for name in ["review", "prompts/review"] {
            assert!(seals.open::<u8>(&sealed, &of(Kind::Tool, name)).is_err(), "{name}");
        }
    }
}
