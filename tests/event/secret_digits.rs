//! Redaction of calls with a secret argument keeps the digits of numbers and the order of members.

use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver, Permissions};
use tool_runtime::event::{Recorder, ToolEvent};
use tool_runtime::{Permission, Policy, RunContext, ToolCall, async_trait, tool, tools};

use super::dispatcher;

/// Transfers an amount.
#[tool(effect = "read")]
async fn transfer(to: String, amount: i128, #[arg(secret)] pin: u128) -> String {
    format!("{amount} to {to} with {pin}")
}

#[tokio::test]
async fn call_with_a_secret_keeps_its_digits_and_the_order_of_its_members() {
    const PIN: &str = "98765432109876543210987";
    let redacted = r#"{"to":"Ada","pin":"[redacted]","amount":12345678901234567890123}"#;
    for (key, decoded) in [(r#""to""#, None), ("to", Some(redacted))] {
        let recorder = Recorder::new(10);
        let dispatcher = dispatcher(tools![transfer]).observer(recorder.clone());
        let arguments =
            format!(r#"{{{key}: "Ada", "pin": {PIN}, "amount": 12345678901234567890123}}"#);
        let executions = dispatcher.dispatch(vec![ToolCall::new("1", "transfer", arguments)]).await;
        let events = recorder.events();
        let calls = events.iter().filter_map(|event| match event.tool_event()? {
            ToolEvent::Started { call, .. } => Some(call.arguments.to_text().into_owned()),
            ToolEvent::Finished(execution) => {
                assert_eq!(execution.decoded_arguments.as_deref(), decoded);
                Some(execution.call.arguments.to_text().into_owned())
            }
            _ => None,
        });
        assert_eq!(calls.collect::<Vec<_>>(), [redacted, redacted]);
        // All digits of the secret are known, not only those of a rounded number.
        let text = "12345678901234567890123 to Ada with [redacted]";
        assert_eq!(executions[0].result.text, text);
    }
}

/// Shows the arguments to the model as an approver sees them.
struct EchoingApprover;

#[async_trait]
impl Approver for EchoingApprover {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        Approval::Deny(request.redacted_arguments_json())
    }
}

#[tokio::test]
async fn approver_is_shown_all_digits_in_the_order_of_the_model() {
    let permissions = Permissions::default().tool("transfer", Permission::Ask);
    let policy = Policy::new().permissions(permissions).approver(EchoingApprover);
    let dispatcher = dispatcher(tools![transfer]).policy(policy);
    let pin = "98765432109876543210987";
    for (amount, redacted) in [
        ("12345678901234567890123", "12345678901234567890123"),
        // The secret itself, as another number: the approver receives JSON.
        (pin, r#""[redacted]""#),
    ] {
        let arguments = format!(r#"{{"to": "Ada", "pin": {pin}, "amount": {amount}}}"#);
        let executions = dispatcher.dispatch(vec![ToolCall::new("1", "transfer", arguments)]).await;
        let expected = format!(r#"{{"to":"Ada","pin":"[redacted]","amount":{redacted}}}"#);
        assert_eq!(executions[0].result.text, format!("`transfer` was not approved: {expected}"));
    }
}

/// Opens a safe.
#[tool(effect = "read")]
async fn open_safe(#[arg(secret)] code: f64) -> String {
    format!("opened by {code}")
}

#[tokio::test]
async fn secret_number_is_redacted_in_each_spelling() {
    for code in ["90210.5", "90210.50", "9.02105e4"] {
        let dispatcher = dispatcher(tools![open_safe]);
        let arguments = format!(r#"{{"code": {code}}}"#);
        let executions =
            dispatcher.dispatch(vec![ToolCall::new("1", "open_safe", arguments)]).await;
        assert_eq!(executions[0].result.text, "opened by [redacted]", "{code}");
    }
}
