//! Remote dispatch of calls.

use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::event::Recorder;
use tool_runtime::{CancellationToken, async_trait};

use super::*;

/// Logs a user in.
#[tool]
async fn enter(
    /// The password.
    #[arg(secret)]
    word: String,
) -> String {
    word
}

/// Stands for another machine: its dispatcher knows nothing of this process, and returns what the
/// test asks for.
struct Remote {
    dispatcher: Dispatcher,
    behavior: &'static str,
}

#[async_trait]
impl Dispatch for Remote {
    async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution> {
        let mut executions = Dispatch::dispatch(&self.dispatcher, batch).await;
        // Serialized, as it would be sent.
        let json = serde_json::to_string(&executions).unwrap();
        assert_eq!(serde_json::from_str::<Vec<ToolExecution>>(&json).unwrap(), executions);
        match self.behavior {
            "reverses" => executions.reverse(),
            "repeats" => executions = [executions.clone(), executions].concat(),
            "loses" => _ = executions.remove(0),
            "misnames" => executions.iter_mut().for_each(|execution| {
                execution.call = ToolCall::new("another", "another", "{}");
                execution.result.tool = "another".into();
            }),
            "panics" => panic!("on purpose"),
            _ => {}
        }
        executions
    }
}

fn agent(behavior: &'static str) -> (Agent, Recorder) {
    let reply = ChatReply::default()
        .call("enter", r#"{"word": "hunter22"}"#)
        .call("allowed", "{}")
        .call("denied", "{}");
    let model = ScriptedModel::new([reply, ChatReply::text("Done.")]);
    let tools = || tools![enter, allowed, denied];
    let recorder = Recorder::new(100);
    let agent = Agent::new(model, tools())
        .dispatch_with(Remote { dispatcher: dispatcher(tools()), behavior });
    (agent, recorder)
}

#[tokio::test]
async fn every_call_has_a_result_whatever_a_remote_dispatcher_returns() {
    support::panics::silence_panics_on_purpose();
    let lost = "TOOL_INDETERMINATE";
    for (behavior, codes) in [
        ("works", ["-", "-", "TOOL_DENIED"]),
        ("reverses", ["-", "-", "TOOL_DENIED"]),
        ("repeats", ["-", "-", "TOOL_DENIED"]),
        ("loses", [lost, "-", "TOOL_DENIED"]),
        ("misnames", ["-", "-", "TOOL_DENIED"]),
        ("panics", [lost; 3]),
    ] {
        for is_watched in [false, true] {
            let (mut agent, recorder) = agent(behavior);
            if is_watched {
                agent = agent.observer(recorder.clone());
            }
            let answer = agent.run("Go").await.unwrap();
            assert_complete(&answer.transcript);
            let tool_results = results(&answer.transcript[2]);
            let actual_codes: Vec<_> =
                tool_results.iter().map(|result| result.error.as_deref().unwrap_or("-")).collect();
            assert_eq!(actual_codes, codes, "{behavior}");
            // Secrets are redacted with and without observers.
            let text = &results(&answer.transcript[2])[0].text;
            assert_eq!(text == "[redacted]", codes[0] == "-", "{text}");
            if !is_watched {
                continue;
            }
            let events = recorder.filter(|event| event.tool_event().is_some());
            let names: Vec<_> = events.iter().map(|event| event.name()).collect();
            let (started, finished) = ("tool.started", "tool.finished");
            let mut expected = vec![started, started, started, finished, finished];
            expected.extend((codes[2] == "TOOL_DENIED").then_some("tool.blocked"));
            expected.push(finished);
            assert_eq!(names, expected, "{behavior}");
            assert!(events.iter().all(|event| event.origin.turn == 1));
            assert!(!format!("{events:?}").contains("hunter22"));
            let executions = recorder.executions();
            let ended =
                executions.iter().map(|execution| (&execution.call.id, &execution.result.tool));
            assert!(ended.eq(answer.transcript[1].calls().map(|call| (&call.id, &call.name))));
            assert!(
                executions.iter().all(|execution| execution.started_at > std::time::UNIX_EPOCH)
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_run_stops_its_remote_calls() {
    let stop = CancellationToken::new();
    let model = ScriptedModel::new([ChatReply::default().call("hang", "{}")]);
    let remote = Remote { dispatcher: dispatcher(tools![hang]), behavior: "works" };
    let agent = Agent::new(model, tools![hang]).dispatch_with(remote).cancellation(stop.clone());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.cancel();
    });
    let stopped = agent.run("Go").await.unwrap_err();
    assert_complete(&stopped.transcript);
    assert_eq!(results(&stopped.transcript[2])[0].error.as_deref(), Some("TOOL_CANCELLED"));
}
