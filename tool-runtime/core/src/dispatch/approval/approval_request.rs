//! The request for a decision on a call.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::message::{Arguments, ToolCall, visible_json, visible_value};
use crate::secret::Redactor;
use crate::tool::ToolDefinition;

/// A call that awaits a decision, with the validated arguments to decide on.
///
/// `Debug` prints the [redacted arguments](Self::redacted_arguments).
///
/// ```
/// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
/// use tool_runtime::{RunContext, async_trait};
///
/// struct Terminal;
///
/// #[async_trait]
/// impl Approver for Terminal {
///     async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
///         println!("{} {}", request.call.name, request.redacted_arguments_json());
///         Approval::Deny("the operator is away".into())
///     }
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call as the model sent it, or as an interceptor changed it.
    pub call: ToolCall,
    /// The arguments that the tool will receive, including secrets.
    ///
    /// Numbers that don't fit into 64 bits are rounded; [`arguments_json`](Self::arguments_json)
    /// has all digits. To show the arguments to a person, use
    /// [`redacted_arguments_json`](Self::redacted_arguments_json).
    pub arguments: Value,
    pub(crate) json: Arguments,
    /// The definition of the tool.
    pub tool: Arc<ToolDefinition>,
    /// The provider of the tool, if it has one.
    pub provider: Option<String>,
    /// The preview of the call by a [`Previewer`](crate::dispatch::Previewer) of the policy, to
    /// show to a person. Secrets are redacted, and deceptive characters are made
    /// [visible](crate::message::visible).
    pub preview: Option<String>,
    pub(crate) redactor: Option<Redactor>,
}

impl ApprovalRequest {
    /// Returns the exact JSON text that the tool will receive, including secrets.
    ///
    /// An approval is valid for this text only.
    pub fn arguments_json(&self) -> &str {
        match &self.json {
            Arguments::Text(text) => text,
            // Validated arguments are a text.
            Arguments::Value(_) => "",
        }
    }

    /// Returns the exact JSON text with its secrets replaced by `[redacted]`, to show to a person.
    /// Characters that could deceive are made [visible](crate::message::visible).
    pub fn redacted_arguments_json(&self) -> String {
        visible_json(match &self.redactor {
            Some(redactor) => redactor.redact_json(&self.call.name, self.arguments_json()),
            None => self.arguments_json().to_owned(),
        })
    }

    /// Returns the arguments with their secrets replaced by `[redacted]`, as in events, and with
    /// deceptive characters made [visible](crate::message::visible).
    ///
    /// Secrets are the arguments that the tool marks as secret, and the values of
    /// [`Policy::secrets`](crate::Policy::secrets).
    ///
    /// ```
    /// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
    /// use tool_runtime::{
    ///     Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tool, tools,
    /// };
    ///
    /// struct Denies;
    ///
    /// #[async_trait]
    /// impl Approver for Denies {
    ///     async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
    ///         Approval::Deny(format!("no payment with {}", request.redacted_arguments()))
    ///     }
    /// }
    ///
    /// /// Pays by card.
    /// #[tool(permission = "ask")]
    /// async fn pay(amount: u32, #[arg(secret)] card: String) -> String {
    ///     format!("{amount} paid by {card}")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let policy = Policy::new().approver(Denies);
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![pay])?).policy(policy);
    /// let call = ToolCall::new("1", "pay", r#"{"amount": 5, "card": "4111 1111"}"#);
    /// let executions = dispatcher.dispatch(vec![call]).await;
    /// let text = r#"`pay` was not approved: no payment with {"amount":5,"card":"[redacted]"}"#;
    /// assert_eq!(executions[0].result.text, text);
    /// # Ok(())
    /// # }
    /// ```
    pub fn redacted_arguments(&self) -> Value {
        let mut redacted = self.arguments.clone();
        if let Some(redactor) = &self.redactor {
            redactor.redact_arguments(&self.call.name, &mut redacted);
        }
        visible_value(redacted)
    }
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("call", &self.call.id)
            .field("tool", &self.tool.name)
            .field("arguments", &self.redacted_arguments())
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}
