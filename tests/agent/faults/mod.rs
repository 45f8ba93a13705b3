//! Failures in the agent loop: the model receives the error, or the run ends with a reason.

mod user_code;

use std::future::pending;
use std::panic;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use support::conversation::{assert_complete, calls, echo, echo_call, refuse, results};
use support::panics::silence_panics_on_purpose;
use tokio::sync::mpsc;
use tool_runtime::{
    Agent, Arguments, ChatModel, ChatReply, ChatRequest, FinishReason, Message, ModelError,
    RegistryError, ScriptedModel, ScriptedTurn, StopReason, Tool, ToolContext, ToolDefinition,
    ToolError, ToolOutput, Tools, async_trait, tool, tools,
};

/// Panics on purpose.
#[tool]
async fn crash() {
    panic!("on purpose");
}

/// Never returns.
#[tool(timeout = "5s")]
async fn hang() {
    pending().await
}

#[tokio::test(start_paused = true)]
async fn failed_calls_return_errors_and_the_run_continues() {
    silence_panics_on_purpose();
    let all = echo_call("fine")
        .call("ecko", "{}")
        .call("echo", r#"{"txt": "x"}"#)
        .call("echo", "no JSON at all")
        .call("refuse", "{}")
        .call("crash", "{}")
        .call("hang", "{}");
    let model = ScriptedModel::new([all, ChatReply::text("I see.")]);
    let answer = Agent::new(model, tools![echo, refuse, crash, hang]).run("Go").await.unwrap();

    assert_eq!(answer.text, "I see.");
    assert_complete(&answer.transcript);
    let received = results(&answer.transcript[2]);
    let codes: Vec<_> =
        received.iter().map(|result| result.error.as_deref().unwrap_or("")).collect();
    assert_eq!(
        codes,
        [
            "",
            "TOOL_NOT_FOUND",
            "TOOL_INVALID_ARGUMENTS",
            "TOOL_INVALID_ARGUMENTS",
            "TOOL_EXECUTION_FAILED",
            "TOOL_PANICKED",
            "TOOL_TIMEOUT",
        ]
    );
    let assert_text = |index: usize, text: &str| {
        assert!(received[index].text.contains(text), "{received:?}");
    };
    assert_text(1, "`echo`");
    assert_text(2, "`echo` was not called");
    assert_text(4, "out of stock");
    assert_text(6, "5s");
    assert!(!received[5].text.contains("on purpose"), "the panic message is for operators");
}

#[tokio::test(start_paused = true)]
async fn single_failed_call_returns_its_error() {
    silence_panics_on_purpose();
    for (name, code) in [
        ("nothing", "TOOL_NOT_FOUND"),
        ("refuse", "TOOL_EXECUTION_FAILED"),
        ("crash", "TOOL_PANICKED"),
        ("hang", "TOOL_TIMEOUT"),
    ] {
        let call = ChatReply::default().call(name, "{}");
        let model = ScriptedModel::new([call, ChatReply::text("I see.")]);
        let answer = Agent::new(model, tools![refuse, crash, hang]).run("Go").await.unwrap();
        assert_eq!(results(&answer.transcript[2])[0].error.as_deref(), Some(code));
    }
}

/// Model that calls a tool in every reply.
#[derive(Clone, Default)]
struct Stubborn(Arc<AtomicUsize>);

#[async_trait]
impl ChatModel for Stubborn {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let times = self.0.fetch_add(1, Ordering::Relaxed);
        Ok(echo_call(&format!("again {times}")))
    }
}

#[tokio::test]
async fn model_that_never_answers_reaches_max_iterations() {
    for (limit, times) in [(None, 20), (Some(3), 3), (Some(1), 1), (Some(0), 0)] {
        let model = Stubborn::default();
        let observed = Arc::<Mutex<Vec<_>>>::default();
        let sink = Arc::clone(&observed);
        let mut agent = Agent::new(model.clone(), tools![echo])
            .on_tool_result(move |execution| sink.lock().unwrap().push(execution.result.clone()));
        if let Some(limit) = limit {
            agent = agent.max_iterations(limit);
        }
        let stopped = agent.run("Go").await.unwrap_err();

        assert!(matches!(stopped.reason, StopReason::IterationLimit(n) if n as usize == times));
        let text = stopped.to_string();
        let expected = match times {
            0 => "iteration limit exceeded: `max_iterations` is 0",
            1 => "no answer after 1 iteration; raise `max_iterations`",
            _ => &format!("no answer after {times} iterations; raise `max_iterations`"),
        };
        assert!(text.contains(expected), "{text}");
        assert_eq!(model.0.load(Ordering::Relaxed), times);
        assert_complete(&stopped.transcript);
        assert_eq!(calls(&stopped.transcript).len(), times);
        // Observers receive every call, including the last one, which did not run.
        let observed = observed.lock().unwrap();
        assert_eq!(observed.len(), times);
        assert_eq!(observed.iter().filter(|result| result.is_success()).count(), times.max(1) - 1);
        let last = observed.last().and_then(|result| result.error.as_deref());
        assert_eq!(last, (times > 0).then_some("TOOL_CANCELLED"));
    }
}

#[tokio::test]
async fn answer_with_the_last_request_counts() {
    let model = ScriptedModel::new([echo_call("a"), ChatReply::text("Done.")]);
    let answer = Agent::new(model, tools![echo]).max_iterations(2).run("Go").await.unwrap();
    assert_eq!(answer.text, "Done.");
}

#[tokio::test]
async fn scripted_model_reports_unexpected_requests() {
    let text = || ScriptedTurn::new(ChatReply::text("Done."));
    for (script, request, problem) in [
        (vec![], 1, "the script ends after 0 replies"),
        (vec![ScriptedTurn::new(echo_call("a"))], 2, "the script ends after 1 reply"),
        (vec![text().expect_last("Bye")], 1, r#"to contain "Bye", got "Hello""#),
        (vec![text().expect_tools(["ekko"])], 1, r#"["ekko"], offered were ["echo"]"#),
        (
            vec![ScriptedTurn::new(echo_call("a")), text().expect_last("b")],
            2,
            r#"to contain "b", got "a""#,
        ),
    ] {
        let stopped =
            Agent::new(ScriptedModel::new(script), tools![echo]).run("Hello").await.unwrap_err();
        let text = stopped.to_string();
        assert!(text.contains(problem), "{text}");
        assert!(text.contains(&format!("request {request} does not match the script")), "{text}");
        // The earlier transcript stays, with a result for each call.
        assert_complete(&stopped.transcript);
        assert_eq!(stopped.transcript.len(), 2 * request - 1);
    }
}

#[tokio::test]
async fn failed_model_keeps_the_transcript() {
    let model = ScriptedModel::new([echo_call("a")]);
    let stopped = Agent::new(model, tools![echo]).system("Be brief.").run("Go").await.unwrap_err();
    assert_eq!(results(&stopped.transcript[3])[0].text, "a");
    // A `main` that returns this error prints its Debug form: the reason, not the transcript.
    assert_eq!(format!("{stopped:?}"), stopped.to_string());
}

/// Model that panics before it returns a future, or in the future.
struct PanickingModel {
    at_once: bool,
}

impl ChatModel for PanickingModel {
    fn reply<'a, 'r, 'f>(
        &'a self,
        _: ChatRequest<'r>,
    ) -> Pin<Box<dyn Future<Output = Result<ChatReply, ModelError>> + Send + 'f>>
    where
        'a: 'f,
        'r: 'f,
        Self: 'f,
    {
        assert!(!self.at_once, "on purpose");
        Box::pin(async { panic!("on purpose") })
    }
}

#[tokio::test]
async fn panicking_model_stops_the_run_and_keeps_the_transcript() {
    silence_panics_on_purpose();
    for at_once in [true, false] {
        let agent = Agent::new(PanickingModel { at_once }, tools![echo]).system("Be brief.");
        let stopped = agent.run("Go").await.unwrap_err();
        assert!(
            matches!(&stopped.reason, StopReason::ModelPanicked(message) if message == "on purpose")
        );
        assert_eq!(stopped.transcript, [Message::system("Be brief."), Message::user("Go")]);
    }
}

#[tokio::test]
async fn truncated_answer_stops_the_run() {
    for (finish, text, reason) in [
        (
            FinishReason::Length,
            "It is 4 deg",
            "the output token limit was reached; raise `ChatOptions::max_tokens`",
        ),
        (
            FinishReason::Length,
            "",
            "the output token limit was reached; raise `ChatOptions::max_tokens`",
        ),
        (
            FinishReason::ContentFilter,
            "It is",
            "the content filter of the model provider withheld the rest",
        ),
    ] {
        let model =
            ScriptedModel::new([echo_call("a"), ChatReply::text(text).finish_reason(finish)]);
        let stopped = Agent::new(model, tools![echo]).run("Go").await.unwrap_err();
        assert!(matches!(stopped.reason, StopReason::TruncatedReply(reason) if reason == finish));
        assert!(stopped.to_string().ends_with(reason), "{stopped}");
        assert_eq!(stopped.transcript[3], Message::assistant(text));
    }
    // Complete calls of a truncated reply run. A truncated call is refused.
    let cut = echo_call("a").call("echo", r#"{"text": "#).finish_reason(FinishReason::Length);
    let model =
        ScriptedModel::new([cut, ChatReply::text("Done.").finish_reason(FinishReason::Other)]);
    let answer = Agent::new(model, tools![echo]).run("Go").await.unwrap();
    let codes: Vec<_> = results(&answer.transcript[2]).iter().map(|r| r.error.as_deref()).collect();
    assert_eq!(codes, [None, Some("TOOL_INVALID_ARGUMENTS")]);
}

#[tokio::test]
async fn conversation_without_a_prompt_is_refused() {
    let model = ScriptedModel::new([
        ChatReply::text("Hi!"),
        ChatReply::text(""),
        ChatReply::text("There you are."),
    ]);
    let agent = Agent::new(model, tools![echo]);
    let answer = agent.run("Hello").await.unwrap();
    let stopped = agent.run(answer.transcript.clone()).await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::MissingUserMessage));
    assert_eq!(stopped.transcript, answer.transcript);
    let stopped = agent.run(Vec::<Message>::new()).await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::MissingUserMessage), "{stopped}");
    // After an empty reply, the run can be started again.
    let stopped = agent.run(answer.then("And?")).await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::EmptyReply));
    assert_eq!(agent.run(stopped.transcript).await.unwrap().text, "There you are.");
}

#[tokio::test]
async fn panicking_observer_is_ignored() {
    silence_panics_on_purpose();
    let count = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&count);
    let model = ScriptedModel::new([echo_call("a").call("echo", "{}"), ChatReply::text("Done.")]);
    let agent = Agent::new(model, tools![echo])
        .on_event(|_| panic!("on purpose"))
        .on_tool_result(|_| panic!("on purpose"))
        .on_event(move |_| _ = counter.fetch_add(1, Ordering::Relaxed));
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
    // The run, two model requests and two calls each emit a start and an end. The prompt and
    // the attempt of the valid call are two more.
    assert_eq!(count.load(Ordering::Relaxed), 13);
}

/// Tool that reports when it starts and when its future is dropped. It never returns.
struct PendingTool {
    definition: ToolDefinition,
    events: mpsc::UnboundedSender<&'static str>,
}

struct DropGuard(mpsc::UnboundedSender<&'static str>);

impl Drop for DropGuard {
    fn drop(&mut self) {
        let _ = self.0.send("stopped");
    }
}

#[async_trait]
impl Tool for PendingTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let _guard = DropGuard(self.events.clone());
        self.events.send("started").unwrap();
        pending().await
    }
}

#[tokio::test]
async fn dropping_a_run_stops_its_tools() {
    for count in [1, 3] {
        let (sender, mut events) = mpsc::unbounded_channel();
        let schema = json!({ "type": "object" });
        let definition = ToolDefinition::new("held", "Waits.", schema);
        let pending_tool = PendingTool { definition, events: sender };
        let reply = (0..count).fold(ChatReply::default(), |reply, _| reply.call("held", "{}"));
        let agent = Agent::new(ScriptedModel::new([reply]), Tools::new().with(pending_tool));
        {
            let mut run = Box::pin(agent.run("Go"));
            for _ in 0..count {
                tokio::select! {
                    ended = &mut run => panic!("{ended:?}"),
                    event = events.recv() => assert_eq!(event, Some("started")),
                }
            }
        }
        for _ in 0..count {
            assert_eq!(events.recv().await, Some("stopped"));
        }
    }
}

#[tokio::test]
async fn duplicate_tool_names_stop_the_run_before_its_first_request() {
    let agent = Agent::new(Stubborn::default(), tools![echo, echo]);
    let stopped = agent.run("Go").await.unwrap_err();
    let StopReason::Registry(RegistryError::Duplicate { name }) = &stopped.reason else {
        panic!("{stopped:?}")
    };
    assert_eq!(name, "echo");
    assert_eq!(stopped.transcript, [Message::user("Go")]);
    assert!(stopped.to_string().contains("duplicate tool name `echo`"), "{stopped}");
}

/// Model that fails once with the given error and then answers.
struct FailsOnce(Mutex<Option<ModelError>>);

#[async_trait]
impl ChatModel for FailsOnce {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.0.lock().unwrap().take().map_or_else(|| Ok(ChatReply::text("Here.")), Err)
    }
}

#[tokio::test]
async fn custom_model_error_is_reported_with_its_text() {
    for (error, may_pass) in [
        (ModelError::failed(std::io::Error::other("the weights are damaged")), false),
        (ModelError::unavailable("the weights are being loaded"), true),
    ] {
        let agent = Agent::new(FailsOnce(Mutex::new(Some(error))), Tools::new());
        let mut run = agent.start("Hello");
        while run.next().await.is_some() {}
        let state = run.state();
        let stopped = run.finish().await.unwrap_err();
        let StopReason::Model(error) = &stopped.reason else { panic!("{stopped}") };
        assert_eq!(error.is_transient(), may_pass);
        assert_eq!(stopped.reason.code(), "MODEL_FAILED");
        let source = std::error::Error::source(&stopped).unwrap().to_string();
        assert_eq!(stopped.to_string(), format!("the run stopped: model request failed: {source}"));
        assert_eq!(agent.resume(state).finish().await.unwrap().text, "Here.");
    }
}
