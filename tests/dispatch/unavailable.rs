//! Unavailable tools are not offered, and a call of one is attempted all the same.

use tool_runtime::Policy;

use super::*;

/// Unavailable for a reason or by a panic; its call behaves as the test asks.
struct Away {
    definition: ToolDefinition,
    why: &'static str,
    fails: bool,
}

impl Away {
    fn new(why: &'static str, fails: bool) -> Self {
        let definition = ToolDefinition::new("away", "Away.", json!({ "type": "object" }));
        Self { definition, why, fails }
    }
}

#[async_trait]
impl Tool for Away {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn availability(&self) -> Availability {
        assert!(!self.why.is_empty(), "secret of the operator");
        Availability::Unavailable(self.why.into())
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.fails { Err("refused".into()) } else { Ok(ToolOutput::text("it was tried")) }
    }
}

#[tokio::test]
async fn unavailable_tool_is_not_offered_but_called() {
    let long = "long ".repeat(1_000).leak();
    let told = |why: &str| format!("`away` can't run now{why}. Go on without it.");
    for (away, text, cause) in [
        (Away::new("no network", false), "it was tried".to_owned(), None),
        (Away::new("", false), "it was tried".to_owned(), None),
        (Away::new("no network", true), told(": no network"), Some("no network")),
        (Away::new("it's\ngone", true), told(": it's gone"), Some("it's\ngone")),
        (Away::new(long, true), told(&format!(": {}", &long[..200])), Some(long)),
        // The panic message is for operators.
        (Away::new("", true), told(""), Some("secret of the operator")),
    ] {
        silence_panics();
        let dispatcher = dispatcher(tools![add].with(away));
        let snapshot = dispatcher.registry().snapshot();
        let offered: Vec<_> = snapshot.definitions().iter().map(|tool| &tool.name).collect();
        assert_eq!(offered, ["add"]);
        assert_eq!(snapshot.iter().count(), 2);
        let done = dispatcher.dispatch(calls(&[("away", "{}")])).await;
        assert_eq!(texts(&done), [text]);
        assert_eq!(codes(&done), [if cause.is_some() { "TOOL_UNAVAILABLE" } else { "-" }]);
        let noted = done[0].cause.as_deref().unwrap_or_default();
        assert!(noted.contains(cause.unwrap_or_default()), "{noted}");
        assert_eq!(cause.is_some(), noted.ends_with("the call failed: refused"), "{noted}");
    }
}

#[tokio::test]
async fn truncated_unavailability_reason_is_redacted() {
    let why = format!("{}k3y-0f-th3-h0us3", "x".repeat(195)).leak();
    let dispatcher = dispatcher(tools![add].with(Away::new(why, true)));
    let done = dispatcher
        .policy(Policy::new().secrets(["k3y-0f-th3-h0us3"]))
        .dispatch(calls(&[("away", "{}")]))
        .await;
    let shown = format!("{:?}", done[0]);
    assert!(!shown.contains("k3y"), "{shown}");
}
