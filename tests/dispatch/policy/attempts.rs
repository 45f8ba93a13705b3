//! The attempts of a call for every kind of failure, and their idempotency keys.

use std::collections::BTreeSet;

use tool_runtime::{DefinitionError, Policy, RegistryError, Tool, ToolDefinition, async_trait};

use super::*;

const FAULTS: [&str; 8] = [
    "timeout",
    "transient",
    "failed",
    "panic",
    "cancelled",
    "unavailable",
    "validation",
    "indeterminate",
];

/// Fails in one way, and records its idempotency keys.
struct Faulty {
    definition: ToolDefinition,
    fault: &'static str,
    keys: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Tool for Faulty {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(
        &self,
        _: tool_runtime::Arguments,
        ctx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        self.keys.lock().unwrap().push(ctx.idempotency_key());
        assert_eq!(ctx.attempt() as usize, self.keys.lock().unwrap().len());
        let kind = match self.fault {
            "timeout" => return std::future::pending().await,
            "panic" => panic!("on purpose"),
            "transient" => ToolErrorKind::TransientFailure,
            "failed" => ToolErrorKind::ExecutionFailed,
            "cancelled" => ToolErrorKind::Cancelled,
            "unavailable" => ToolErrorKind::Unavailable,
            "validation" => ToolErrorKind::InvalidArguments,
            _ => ToolErrorKind::Indeterminate,
        };
        Err(ToolError::new(kind, "no"))
    }
}

type Keys = Arc<Mutex<Vec<String>>>;

fn faulty(fault: &'static str, is_idempotent: bool, retries: u32) -> (Faulty, Keys) {
    let schema = json!({ "type": "object" });
    let mut definition = ToolDefinition::new("faulty", "Fails.", schema);
    definition.timeout = Some(Duration::from_secs(1));
    (definition.idempotent, definition.max_retries) = (is_idempotent, retries);
    let keys = Keys::default();
    (Faulty { definition, fault, keys: Arc::clone(&keys) }, keys)
}

#[tokio::test(start_paused = true)]
async fn only_transient_failures_of_idempotent_tools_are_retried() {
    support::panics::silence_panics_on_purpose();
    let mut known_keys = BTreeSet::new();
    for fault in FAULTS {
        for is_idempotent in [false, true] {
            for retries in 0..=3 {
                let (tool, keys) = faulty(fault, is_idempotent, retries);
                let tools = Tools::new().with(tool);
                if retries > 0 && !is_idempotent {
                    let refused =
                        DefinitionError::RetriesNotIdempotent { name: "faulty".into(), retries };
                    let registered = Registry::try_from(tools).map(drop);
                    assert_eq!(registered, Err(RegistryError::Definition(refused)));
                    continue;
                }
                let execution = run(&dispatcher(tools), &["faulty"]).await.remove(0);
                let is_retried = is_idempotent && ["timeout", "transient"].contains(&fault);
                let expected = if is_retried { 1 + retries } else { 1 };
                let case = format!("{fault}, idempotent {is_idempotent}, {retries} retries");
                assert_eq!(execution.attempts, expected, "{case}");
                let keys = std::mem::take(&mut *keys.lock().unwrap());
                assert_eq!(keys.len() as u32, expected, "{case}");
                // One key for all attempts, and another for each call.
                assert!(keys.iter().all(|key| *key == keys[0]), "{case}");
                assert!(known_keys.insert(keys[0].clone()), "{case}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn max_retries_of_the_policy_only_lowers_the_retries_of_a_tool() {
    for (declared, allowed, attempts) in [(3, 0, 1), (3, 1, 2), (3, 3, 4), (1, 9, 2), (0, 9, 1)] {
        let (tool, _) = faulty("transient", true, declared);
        let policy = Policy::new().max_retries(allowed);
        let dispatcher = dispatcher(Tools::new().with(tool)).policy(policy);
        let execution = run(&dispatcher, &["faulty"]).await.remove(0);
        assert_eq!(execution.attempts, attempts, "{declared} declared, {allowed} allowed");
    }
}

/// Records its idempotency key.
#[tool]
async fn keyed(ctx: &ToolContext) {
    ctx.get::<Keys>().unwrap().lock().unwrap().push(ctx.idempotency_key());
}

#[tokio::test]
async fn idempotency_keys_differ_between_calls_and_runs() {
    let calls = || ChatReply::default().call("keyed", "{}").call("keyed", "{}");
    let run = || [calls(), calls(), ChatReply::text("Done.")];
    let keys = Keys::default();
    let model = ScriptedModel::new([run(), run()].concat());
    let agent = Agent::new(model, tools![keyed]).extension(Arc::clone(&keys));
    agent.run("Go").await.unwrap();
    agent.run("Go").await.unwrap();
    let keys: BTreeSet<_> = keys.lock().unwrap().iter().cloned().collect();
    assert_eq!(keys.len(), 8);
}

/// Fails with a `retry_after` hint.
#[tool(idempotent, max_retries = 1)]
async fn busy(millis: u64) -> Result<(), ToolError> {
    Err(ToolError::transient("busy").retry_after(Duration::from_millis(millis)))
}

#[tokio::test(start_paused = true)]
async fn retry_waits_for_the_hint_of_the_tool() {
    for (millis, attempts, millis_taken) in [(3_000, 2, 3_000), (10_000, 2, 10_000), (60_000, 1, 0)]
    {
        let call = ToolCall::new("c", "busy", json!({ "millis": millis }));
        let execution = dispatcher(tools![busy]).dispatch(vec![call]).await.remove(0);
        assert_eq!((execution.attempts, execution.duration.as_millis()), (attempts, millis_taken));
    }
}

#[tokio::test(start_paused = true)]
async fn retry_is_skipped_after_deadline() {
    let dispatcher =
        dispatcher(tools![busy]).policy(Policy::new().batch_timeout(Duration::from_secs(5)));
    for (millis, attempts, millis_taken) in [(4_000, 2, 4_000), (5_000, 1, 0), (8_000, 1, 0)] {
        let call = ToolCall::new("c", "busy", json!({ "millis": millis }));
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert_eq!((execution.attempts, execution.duration.as_millis()), (attempts, millis_taken));
        assert_eq!(
            (code(&execution), execution.result.text.as_str()),
            ("TOOL_TRANSIENT_FAILURE", "busy")
        );
    }
}

/// Calls the tool that records its key.
#[tool]
async fn keyed_within(ctx: &ToolContext) {
    ctx.dispatch(vec![ToolCall::new("", "keyed", "{}")]).await;
}

#[tokio::test]
async fn idempotency_keys_differ_for_equal_call_ids() {
    let keys = Keys::default();
    let reply = [
        ToolCall::new("a", "keyed_within", "{}"),
        ToolCall::new("a/1", "keyed", "{}"),
        ToolCall::new("a/1/1", "keyed", "{}"),
        ToolCall::new("a/1.1", "keyed_within", "{}"),
    ];
    let dispatcher = dispatcher(tools![keyed, keyed_within]).extension(Arc::clone(&keys));
    let mut batch = tool_runtime::dispatch::Batch::from(reply.to_vec());
    batch.origin = tool_runtime::event::Origin::new(7.into(), 1);
    tool_runtime::dispatch::Dispatch::dispatch(&dispatcher, batch).await;
    let keys: BTreeSet<_> = keys.lock().unwrap().iter().cloned().collect();
    assert_eq!(keys.len(), 4, "{keys:?}");
}
