use tool_runtime::event::{FileChange, FileOp, ProcessStart, Recorder};
use tool_runtime::{
    Agent, ChatReply, EffectRecord, ScriptedModel, ToolCall, ToolContext, ToolError, ToolOutput,
    args, tool, tools,
};

/// A payment.
#[args]
#[derive(serde::Serialize, Debug, PartialEq)]
struct Paid {
    /// To whom.
    to: String,
    /// How much.
    amount: u32,
}

/// Pays, or fails when it is half done.
#[tool]
async fn pay(args: Paid, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    ctx.record(EffectRecord::other("paid", &args)?);
    if args.amount == 0 {
        return Err(ToolError::failed("nothing to pay"));
    }
    Ok(ToolOutput::text("ok").with_effect(FileChange::new("book", FileOp::Append)))
}

/// Makes two payments.
#[tool]
async fn pay_both(ctx: &ToolContext) -> usize {
    let call = |to| ToolCall::new("", "pay", serde_json::json!({"to": to, "amount": 1}));
    ctx.record(ProcessStart::new("both").pid(7).in_background());
    ctx.dispatch(vec![call("Ada"), call("Grace")]).await.len()
}

#[tokio::test]
async fn recorder_collects_effects_by_turn() {
    let model = ScriptedModel::new([
        ChatReply::default().call("pay", r#"{"to": "Ada", "amount": 0}"#),
        ChatReply::text("Nothing."),
        ChatReply::default().call("pay_both", "{}"),
        ChatReply::text("Done."),
    ]);
    let recorder = Recorder::new(100);
    let agent = Agent::new(model, tools![pay, pay_both]).observer(recorder.clone());
    agent.run("Pay nothing.").await.unwrap();
    agent.run("Pay both.").await.unwrap();

    let turns: Vec<_> = recorder.effects_by_turn().into_iter().collect();
    assert_eq!(turns.len(), 2);
    let first = recorder.events()[0].origin.run;
    // The effects before a failure are kept.
    let [paid] = &recorder.effects_of_turn(first, 1)[..] else { panic!("{turns:?}") };
    assert_eq!(paid.other_data::<Paid>("paid"), Some(Paid { to: "Ada".into(), amount: 0 }));
    assert_eq!(paid.other_data::<Paid>("sent"), None);
    assert_eq!(paid.other_data::<u32>("paid"), None);
    assert!(recorder.effects_of_turn(first, 2).is_empty());

    let (_, second) = turns.iter().find(|((run, _), _)| *run != first).unwrap();
    let paid = second.iter().filter_map(|effect| effect.other_data::<Paid>("paid"));
    assert_eq!(paid.map(|paid| paid.to).collect::<std::collections::BTreeSet<_>>().len(), 2);
    // The outer call ends last.
    assert_eq!(second.len(), 5);
    assert_eq!(second[4], ProcessStart::new("both").pid(7).in_background().into());
    let json = serde_json::to_string(second).unwrap();
    assert_eq!(serde_json::from_str::<Vec<EffectRecord>>(&json).unwrap(), *second);
}
