//! Unavailable tools are not offered, and a call of one is attempted all the same.

use tool_runtime::Policy;

use super::*;

/// Unavailable for a reason or by a panic; its call behaves as the test asks.
struct Unavailable {
    definition: ToolDefinition,
    reason: &'static str,
    fails: bool,
}

impl Unavailable {
    fn new(reason: &'static str, fails: bool) -> Self {
        let definition = ToolDefinition::new("away", "Away.", json!({ "type": "object" }));
        Self { definition, reason, fails }
    }
}

#[async_trait]
impl Tool for Unavailable {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn availability(&self) -> Availability {
        assert!(!self.reason.is_empty(), "secret of the operator");
        Availability::Unavailable(self.reason.into())
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.fails { Err("refused".into()) } else { Ok(ToolOutput::text("it was tried")) }
    }
}

#[tokio::test]
async fn unavailable_tool_is_not_offered_but_called() {
    let long = "long ".repeat(1_000).leak();
    let message = |reason: &str| format!("`away` can't run now{reason}. Go on without it.");
    for (tool, text, cause) in [
        (Unavailable::new("no network", false), "it was tried".to_owned(), None),
        (Unavailable::new("", false), "it was tried".to_owned(), None),
        (Unavailable::new("no network", true), message(": no network"), Some("no network")),
        (Unavailable::new("it's\ngone", true), message(": it's gone"), Some("it's\ngone")),
        (Unavailable::new(long, true), message(&format!(": {}", &long[..200])), Some(long)),
        // The panic message is for operators.
        (Unavailable::new("", true), message(""), Some("secret of the operator")),
    ] {
        support::panics::silence_panics_on_purpose();
        let dispatcher = dispatcher(tools![add].with(tool));
        let snapshot = dispatcher.registry().snapshot();
        let offered: Vec<_> = snapshot.definitions().iter().map(|tool| &tool.name).collect();
        assert_eq!(offered, ["add"]);
        assert_eq!(snapshot.iter().count(), 2);
        let executions = dispatcher.dispatch(calls(&[("away", "{}")])).await;
        assert_eq!(texts(&executions), [text]);
        assert_eq!(codes(&executions), [if cause.is_some() { "TOOL_UNAVAILABLE" } else { "-" }]);
        let noted = executions[0].cause.as_deref().unwrap_or_default();
        assert!(noted.contains(cause.unwrap_or_default()), "{noted}");
        assert_eq!(cause.is_some(), noted.ends_with("the call failed: refused"), "{noted}");
    }
}

#[tokio::test]
async fn truncated_unavailability_reason_is_redacted() {
    let reason = format!("{}k3y-0f-th3-h0us3", "x".repeat(195)).leak();
    let dispatcher = dispatcher(tools![add].with(Unavailable::new(reason, true)));
    let executions = dispatcher
        .policy(Policy::new().secrets(["k3y-0f-th3-h0us3"]))
        .dispatch(calls(&[("away", "{}")]))
        .await;
    let debug = format!("{:?}", executions[0]);
    assert!(!debug.contains("k3y"), "{debug}");
}
