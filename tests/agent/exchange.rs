//! The agent loop with a scripted model: requests, calls, results and events.

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use support::conversation::{assert_complete, calls, echo, echo_call, refuse, results};
use tokio::sync::{Barrier, Notify};
use tool_runtime::agent::ModelHook;
use tool_runtime::drivers::PreparedRequest;
use tool_runtime::event::{EventKind, ModelEvent};
use tool_runtime::{
    Agent, AssistantPart, ChatModel, ChatOptions, ChatReply, ChatRequest, Delta, Event,
    FinishReason, Message, ModelError, Reasoning, Registry, RunContext, ScriptedModel,
    ScriptedTurn, ToolCall, ToolChoice, ToolContext, ToolResult, Tools, Usage, async_trait, tool,
    tools,
};

#[tokio::test]
async fn run_without_tools_returns_the_answer() {
    let model =
        ScriptedModel::new([ScriptedTurn::new(ChatReply::text("Hi!")).expect_last("Hello")]);
    let answer = Agent::new(model, Tools::new()).run("Hello").await.unwrap();
    assert_eq!(answer.to_string(), "Hi!");
    assert_eq!(answer.transcript, [Message::user("Hello"), Message::assistant("Hi!")]);
}

#[tokio::test]
async fn call_is_run_and_its_result_is_sent_to_the_model() {
    let model = ScriptedModel::new([
        ScriptedTurn::new(echo_call("one")).expect_tools(["echo"]),
        ScriptedTurn::new(echo_call("two")).expect_last("one"),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("two"),
    ]);
    let answer = Agent::new(model, tools![echo]).run("Go").await.unwrap();
    assert_eq!(answer.text, "Done.");
    assert_eq!(answer.transcript.len(), 6);
    assert_complete(&answer.transcript);
}

/// Returns after the tool that is called second has returned: alone it would wait forever.
#[tool]
async fn last() -> &'static str {
    FIRST_ENDED.notified().await;
    "last"
}

/// Returns first, although it is called second.
#[tool]
async fn first() -> &'static str {
    "first"
}

static FIRST_ENDED: Notify = Notify::const_new();

#[tokio::test]
async fn results_are_in_call_order_whichever_call_ends_first() {
    let two_calls = ChatReply::default().call("last", "{}").call("first", "{}");
    let model = ScriptedModel::new([two_calls, ChatReply::text("Done.")]);
    let ended = Arc::<Mutex<Vec<String>>>::default();
    let copy = Arc::clone(&ended);
    let agent = Agent::new(model, tools![first, last]).on_tool_result(move |execution| {
        copy.lock().unwrap().push(execution.result.text.clone());
        if execution.call.name == "first" {
            FIRST_ENDED.notify_one();
        }
    });
    let answer = agent.run("Go").await.unwrap();
    let texts: Vec<_> = results(&answer.transcript[2]).iter().map(|result| &result.text).collect();
    assert_eq!(texts, ["last", "first"]);
    assert_eq!(*ended.lock().unwrap(), ["first", "last"]);
}

/// Returns when all three calls of it have started.
#[tool]
async fn meet() {
    static ALL: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(3));
    ALL.wait().await;
}

#[tokio::test]
async fn calls_of_one_reply_run_concurrently() {
    let three = ChatReply::default().call("meet", "{}").call("meet", "{}").call("meet", "{}");
    let model = ScriptedModel::new([three, ChatReply::text("Done.")]);
    Agent::new(model, tools![meet]).run("Go").await.unwrap();
}

#[tokio::test]
async fn empty_and_duplicate_call_ids_are_replaced() {
    let reply = |ids: &[&str]| {
        let call = |id: &&str| AssistantPart::Call(ToolCall::new(*id, "echo", r#"{"text":"x"}"#));
        ChatReply::new(ids.iter().map(call).collect())
    };
    let model = ScriptedModel::new([
        reply(&["a", "", "a", "call_2", ""]),
        reply(&["a", "b", "call_1", ""]),
        ChatReply::text("Done."),
    ]);
    let answer = Agent::new(model, tools![echo]).run("Go").await.unwrap();
    assert_complete(&answer.transcript);
    let call_names = calls(&answer.transcript);
    assert_eq!(call_names.len(), 9);
    // Ids that were unique are unchanged.
    assert_eq!((call_names[0].id.as_str(), call_names[6].id.as_str()), ("a", "b"));
}

#[tokio::test]
async fn system_message_comes_first_unless_the_conversation_has_one() {
    let messages = [Message::user("Hi"), Message::assistant("Hello!"), Message::user("Bye")];
    let own_system = [Message::system("Mine."), Message::user("Hi")];
    for (input, expected) in [(&messages[..], "Be brief."), (&own_system[..], "Mine.")] {
        let agent = Agent::new(ScriptedModel::new([ChatReply::text("Ok")]), Tools::new());
        let answer = agent.system("Be brief.").run(input.to_vec()).await.unwrap();
        let orders: Vec<_> = answer
            .transcript
            .iter()
            .enumerate()
            .filter(|(_, message)| matches!(message, Message::System { .. }))
            .map(|(place, message)| (place, message.text()))
            .collect();
        assert_eq!(orders, [(0, expected.to_owned())]);
    }
}

#[tokio::test]
async fn conversation_continues_from_its_transcript() {
    let model = ScriptedModel::new([
        ChatReply::text("Hello, Ada."),
        echo_call("Ada"),
        ChatReply::text("You're Ada."),
    ]);
    let agent = Agent::new(model, tools![echo]).system("Be brief.");
    let mut transcript = agent.run("I'm Ada.").await.unwrap().transcript;
    transcript.push(Message::user("Who am I?"));
    let answer = agent.run(transcript).await.unwrap();
    assert_eq!(answer.text, "You're Ada.");
    assert_eq!(answer.transcript.len(), 7);
}

#[tokio::test]
async fn open_call_at_the_end_of_the_prompt_is_run_first() {
    let open = ToolCall::new("open", "echo", r#"{"text": "late"}"#);
    let conversation = vec![
        Message::user("Go"),
        Message::Assistant { id: None, parts: vec![AssistantPart::Call(open)] },
    ];
    let model = ScriptedModel::new([ScriptedTurn::new(ChatReply::text("Ok")).expect_last("late")]);
    let answer = Agent::new(model, tools![echo]).run(conversation).await.unwrap();
    assert_complete(&answer.transcript);
}

#[tokio::test]
async fn call_with_a_lost_result_is_indeterminate() {
    let open = |id: &str| AssistantPart::Call(ToolCall::new(id, "echo", r#"{"text": "x"}"#));
    let assistant = || Message::Assistant { id: None, parts: vec![open("a"), open("a")] };
    for messages in [
        vec![assistant(), Message::user("Well?")],
        vec![assistant(), Message::Tool { results: vec![] }],
    ] {
        let reply = ScriptedTurn::new(ChatReply::text("Ok"));
        let answer =
            Agent::new(ScriptedModel::new([reply]), tools![echo]).run(messages).await.unwrap();
        assert_complete(&answer.transcript);
        for result in results(&answer.transcript[1]) {
            assert_eq!(result.error.as_deref(), Some("TOOL_INDETERMINATE"));
        }
    }
}

#[tokio::test]
async fn tool_added_during_a_run_is_offered_on_the_next_turn() {
    let registry = Registry::try_from(tools![refuse]).unwrap();
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("refuse", "{}")).expect_tools(["refuse"]),
        ScriptedTurn::new(echo_call("hi")).expect_tools(["refuse", "echo"]),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("hi"),
    ]);
    let shared = registry.clone();
    let agent = Agent::new(model, registry).on_tool_result(move |_| {
        shared.register(Arc::new(echo {})).unwrap();
    });
    agent.run("Go").await.unwrap();
}

#[tokio::test]
async fn events_are_in_order_and_survive_serialization() {
    let output = Arc::<Mutex<Vec<Event>>>::default();
    let copy = Arc::clone(&output);
    let model = ScriptedModel::new([
        ChatReply::text("One moment.").call("echo", "```json\n{\"text\": \"a\"}\n```"),
        ChatReply::default().call("refuse", json!({ "why": [1, 2.5, null] })),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![echo, refuse])
        .on_event(move |event| copy.lock().unwrap().push(event.clone()));
    let answer = agent.run("Go").await.unwrap();

    let output = output.lock().unwrap();
    let written = serde_json::to_value(&*output).unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let name = |event: &Value| word(&event["event"]);
    let names: Vec<_> = written.as_array().unwrap().iter().map(name).collect();
    let turn =
        ["model.requested", "model.replied", "tool.started", "tool.running", "tool.finished"];
    let (start, end) = (["run.started", "run.message_added"], ["run.finished"]);
    assert_eq!(names, [&start[..], &turn[..], &turn[..], &turn[..2], &end[..]].concat());
    // All events are of one run, with turns and times in order.
    assert!(output.iter().all(|event| event.origin.run == output[0].origin.run));
    assert!(output.is_sorted_by_key(|event| event.at));
    let turns: Vec<_> = output.iter().map(|event| event.origin.turn).collect();
    assert_eq!(turns, [0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3]);
    assert_eq!(serde_json::from_value::<Vec<Event>>(written).unwrap(), *output);
    let text = serde_json::to_string(&*output).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Event>>(&text).unwrap(), *output);

    // The model's invalid JSON is kept beside the repairs.
    let execution = output[6].execution().unwrap();
    assert_eq!(execution.call.arguments.to_text(), "```json\n{\"text\": \"a\"}\n```");
    assert!(execution.result.is_success() && !execution.fixes.is_empty());

    let text = serde_json::to_string(&answer.transcript).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Message>>(&text).unwrap(), answer.transcript);
}

/// Calls once, then answers, and records the options of its requests.
#[derive(Default)]
struct RecordsOptions(Mutex<Vec<ChatOptions>>);

#[async_trait]
impl ChatModel for RecordsOptions {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let mut output = self.0.lock().unwrap();
        output.push(request.options.clone());
        let mut reply = match output.len() {
            1 => echo_call("one"),
            _ => ChatReply::text("Done."),
        };
        reply.usage = Some(Usage::new(10, output.len() as u64));
        Ok(reply)
    }
}

#[tokio::test]
async fn forced_tool_choice_applies_to_the_first_request_only() {
    for forced in [ToolChoice::Required, ToolChoice::Tool("echo".into())] {
        let model = Arc::new(RecordsOptions::default());
        let options = ChatOptions::default().temperature(0.5).tool_choice(forced);
        let agent = Agent::new(Arc::clone(&model), tools![echo]).options(options.clone());
        agent.run("Go").await.unwrap();
        let automatic = options.clone().tool_choice(ToolChoice::Auto);
        assert_eq!(*model.0.lock().unwrap(), [options, automatic]);
    }
    let model = Arc::new(RecordsOptions::default());
    let options = ChatOptions::default().tool_choice(ToolChoice::None);
    let agent = Agent::new(Arc::clone(&model), tools![echo]).options(options.clone());
    agent.run("Go").await.unwrap();
    assert_eq!(*model.0.lock().unwrap(), [options.clone(), options]);
}

#[tokio::test]
async fn reply_events_carry_their_usage() {
    let output = Arc::<Mutex<Vec<_>>>::default();
    let copy = Arc::clone(&output);
    let agent = Agent::new(RecordsOptions::default(), tools![echo]).on_event(move |event| {
        if let EventKind::Model(ModelEvent::Replied { usage, .. }) = &event.kind {
            copy.lock().unwrap().push(*usage);
        }
    });
    agent.run("Go").await.unwrap();
    assert_eq!(*output.lock().unwrap(), [Some(Usage::new(10, 1)), Some(Usage::new(10, 2))]);
}

#[tokio::test]
async fn default_stream_emits_the_deltas_of_a_whole_reply() {
    let mut reply = ChatReply::text("Wait.").call("echo", r#"{ "text": "a" }"#);
    reply.parts.insert(0, AssistantPart::Reasoning(Reasoning::new("lab", "Hm.", json!("seal"))));
    reply = reply.call("echo", json!({ "text": "b" }));
    let model: Box<dyn ChatModel> = Box::new(ScriptedModel::new([reply.clone()]));
    let mut output = Vec::new();
    let messages = [Message::user("Go")];
    let whole = model
        .stream(ChatRequest::new(&messages), &mut |delta| output.push(format!("{delta:?}")))
        .await
        .unwrap();
    assert_eq!(whole, reply);
    let arguments = |place, text| format!("{:?}", Delta::Arguments { index: place, text });
    let call = |place| format!("{:?}", Delta::Call { index: place, id: "", name: "echo" });
    assert_eq!(
        output,
        [
            "Reasoning(\"Hm.\")".to_owned(),
            "Text(\"Wait.\")".to_owned(),
            call(0),
            arguments(0, r#"{ "text": "a" }"#),
            call(1),
            arguments(1, r#"{"text":"b"}"#),
        ]
    );
}

/// Keeps lines.
#[tool(effect = "write")]
async fn keep(#[arg(default)] lines: Vec<String>) -> String {
    lines.join("+")
}

#[tokio::test]
async fn truncated_call_of_a_writing_tool_is_refused() {
    for text in ["{\"lines\": [\"a\", \"b\"", "{\"lines\": [\"a\"]", "{"] {
        let cut = ChatReply::default().call("keep", text).finish_reason(FinishReason::Length);
        let model = ScriptedModel::new([
            ScriptedTurn::new(cut),
            ScriptedTurn::new(ChatReply::text("Done.")).expect_last("was cut off"),
        ]);
        let copy = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&copy);
        let agent = Agent::new(model, tools![keep])
            .on_tool_result(move |result| sink.lock().unwrap().push(result.is_success()));
        assert_eq!(agent.run("Go").await.unwrap().text, "Done.", "{text}");
        assert_eq!(*copy.lock().unwrap(), [false], "{text}");
    }
}

/// A server runs agents in tasks, and a tool can run an agent.
#[tokio::test]
async fn run_future_can_be_spawned_and_boxed() {
    let answers = [ChatReply::text("One."), ChatReply::text("Two."), ChatReply::text("Three.")];
    let agent = Arc::new(Agent::new(ScriptedModel::new(answers), Tools::new()));
    let shared = Arc::clone(&agent);
    let spawned = tokio::spawn(async move { shared.run("Go").await.unwrap().text });
    assert_eq!(spawned.await.unwrap(), "One.");
    let boxed: Box<dyn Future<Output = _> + Send> = Box::new(agent.run("Go"));
    assert_eq!(Box::into_pin(boxed).await.unwrap().text, "Two.");

    /// Asks another agent.
    #[tool]
    async fn ask(ctx: &ToolContext) -> String {
        let agent: &Arc<Agent> = ctx.get().unwrap();
        agent.run("Go").await.unwrap().text
    }
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("ask", "{}")),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("Three."),
    ]);
    let outer_agent = Agent::new(model, tools![ask]).extension(agent);
    assert_eq!(outer_agent.run("Go").await.unwrap().text, "Done.");
}

/// A model that records the messages of its requests, and implements no repair of its own.
struct Recording(Arc<Mutex<Vec<Message>>>);

#[async_trait]
impl ChatModel for Recording {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        *self.0.lock().unwrap() = request.messages.to_vec();
        Ok(ChatReply::text("Hi!"))
    }
}

/// Adds a user message behind the prompt, and a result without a call.
struct AddsMessages;

#[async_trait]
impl ModelHook for AddsMessages {
    async fn before_request(
        &self,
        request: &mut PreparedRequest<'_>,
        _: &RunContext<'_>,
    ) -> ControlFlow<String> {
        let stray = ToolResult::success(&ToolCall::new("1", "echo", "{}"), "stray");
        let added = [Message::Tool { results: vec![stray] }, Message::user("It is noon.")];
        request.messages.to_mut().extend(added);
        ControlFlow::Continue(())
    }
}

#[tokio::test]
async fn every_model_receives_messages_that_providers_accept() {
    let requested = Arc::<Mutex<Vec<Message>>>::default();
    let agent =
        Agent::new(Recording(Arc::clone(&requested)), Tools::new()).model_hook(AddsMessages);
    agent.run("Hello").await.unwrap();
    let requested = requested.lock().unwrap();
    let [Message::User { parts, .. }] = requested.as_slice() else { panic!("{requested:?}") };
    let texts: Vec<_> = parts.iter().filter_map(|part| part.as_text()).collect();
    assert_eq!(texts.concat().lines().collect::<Vec<_>>(), ["Hello", "", "It is noon."]);
}
