//! A call that the model may have quoted runs only if its tool changes nothing.

use tool_runtime::{Effect, Permission, Policy};

use super::*;

fn doubtful(name: &str) -> ToolCall {
    let mut call = ToolCall::new("c", name, "{}");
    call.is_doubtful = true;
    call
}

fn tool() -> ByHand<fn() -> Call<'static>> {
    ByHand::new("tool", || Box::pin(async { Ok(ToolOutput::text("it ran")) }))
}

fn refusal(name: &str) -> String {
    format!(
        "`{name}` did not run: the text around its call announces an example or a quotation. If \
         you want the call, send it again without that text."
    )
}

/// Tools by hand decode their arguments themselves or not at all, so the dispatcher decides.
#[tokio::test]
async fn effect_decides_whether_doubtful_call_runs() {
    for effect in [None, Some(Effect::None), Some(Effect::Read), Some(Effect::Write)] {
        for policy in [Policy::new(), Policy::new().batch_timeout(Duration::from_secs(9))] {
            let mut tool = tool();
            if let Some(effect) = effect {
                tool.0 = tool.0.effect(effect);
            }
            let runs = matches!(effect, Some(Effect::None | Effect::Read));
            let tools = Tools::new().with(tool);
            let dispatcher = Dispatcher::new(Registry::try_from(tools).unwrap()).policy(policy);
            let executions = dispatcher.dispatch(vec![doubtful("tool")]).await;
            let expected = if runs { "it ran".to_owned() } else { refusal("tool") };
            assert_eq!(texts(&executions), [expected], "{effect:?}");
            assert_eq!(executions[0].attempts, u32::from(runs));
            assert!(executions[0].call.is_doubtful);
        }
    }
}

/// The approver is not asked about a call that would be refused afterwards.
#[tokio::test]
async fn doubtful_call_is_refused_before_the_approver_is_asked() {
    let mut tool = tool();
    tool.0 = tool.0.permission(Permission::Ask);
    let registry = Registry::try_from(Tools::new().with(tool)).unwrap();
    let dispatcher = Dispatcher::new(registry);
    let executions = dispatcher.dispatch(vec![doubtful("tool")]).await;
    assert_eq!(texts(&executions), [refusal("tool")]);
}

#[test]
fn doubt_survives_a_saved_transcript() {
    let call = doubtful("tool");
    let json = serde_json::to_value(&call).unwrap();
    assert_eq!(json["is_doubtful"], true);
    assert_eq!(serde_json::from_value::<ToolCall>(json).unwrap(), call);
    let json = serde_json::to_value(ToolCall::new("c", "tool", "{}")).unwrap();
    assert_eq!(json.get("is_doubtful"), None);
}
