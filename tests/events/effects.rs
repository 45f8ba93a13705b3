use tool_runtime::event::Recorder;
use tool_runtime::{
    Agent, ChatReply, EffectRecord, ScriptedModel, ToolCall, ToolContext, ToolError, ToolOutput,
    args, tool, tools,
};

/// What was paid.
#[args]
#[derive(serde::Serialize, Debug, PartialEq)]
struct Paid {
    /// To whom.
    to: String,
    /// How much.
    amount: u32,
}

/// Pays somebody, or fails when it is half done.
#[tool]
async fn pay(args: Paid, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    ctx.record(EffectRecord::other("paid", &args)?);
    if args.amount == 0 {
        return Err(ToolError::failed("nothing to pay"));
    }
    Ok(ToolOutput::text("ok").with_effect(EffectRecord::FileWritten { path: "book".into() }))
}

/// Pays two.
#[tool]
async fn pay_both(ctx: &ToolContext) -> usize {
    let call = |to| ToolCall::new("", "pay", serde_json::json!({"to": to, "amount": 1}));
    ctx.record(EffectRecord::ProcessStarted { command: "both".into() });
    ctx.dispatch(vec![call("Ada"), call("Grace")]).await.len()
}

#[tokio::test]
async fn the_effects_of_a_turn_are_gathered() {
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

    let turns: Vec<_> = recorder.effects().into_iter().collect();
    assert_eq!(turns.len(), 2);
    let first = recorder.events()[0].origin.run;
    // A failure keeps what was done before it.
    let [paid] = &recorder.effects_of(first, 1)[..] else { panic!("{turns:?}") };
    assert_eq!(paid.data_of::<Paid>("paid"), Some(Paid { to: "Ada".into(), amount: 0 }));
    assert_eq!(paid.data_of::<Paid>("sent"), None);
    assert_eq!(paid.data_of::<u32>("paid"), None);
    assert!(recorder.effects_of(first, 2).is_empty());

    let (_, second) = turns.iter().find(|((run, _), _)| *run != first).unwrap();
    let paid = second.iter().filter_map(|effect| effect.data_of::<Paid>("paid"));
    assert_eq!(paid.map(|paid| paid.to).collect::<std::collections::BTreeSet<_>>().len(), 2);
    // The outer call ends last.
    assert_eq!(second.len(), 5);
    assert_eq!(second[4], EffectRecord::ProcessStarted { command: "both".into() });
    let json = serde_json::to_string(second).unwrap();
    assert_eq!(serde_json::from_str::<Vec<EffectRecord>>(&json).unwrap(), *second);
}
