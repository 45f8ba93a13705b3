//! Tests of complete runs with the ReAct driver.

use super::*;

/// The messages, the options and the number of tools of a request.
type RecordedRequest = (Vec<Message>, ChatOptions, usize);

/// A scripted model that records its requests.
#[derive(Clone, Default)]
struct RecordingModel {
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    script: Arc<Mutex<Vec<ChatReply>>>,
}

impl RecordingModel {
    fn new(script: impl IntoIterator<Item = ChatReply>) -> Self {
        let mut script: Vec<_> = script.into_iter().collect();
        script.reverse();
        Self { script: Arc::new(Mutex::new(script)), ..Self::default() }
    }

    fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait]
impl ChatModel for RecordingModel {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let recorded = (request.messages.to_vec(), request.options.clone(), request.tools.len());
        self.requests.lock().unwrap().push(recorded);
        self.script
            .lock()
            .unwrap()
            .pop()
            .ok_or_else(|| ModelError::Setup("the script has no further reply".into()))
    }
}

#[tokio::test]
async fn tools_are_in_instructions_and_results_are_observations() {
    let model = RecordingModel::new([
        ChatReply::text(call("find", &json!({ "words": "coat" }))),
        ChatReply::text(call("refuse", &json!({}))),
        answer("Two."),
    ]);
    let agent = Agent::new(model.clone(), tools![find, refuse])
        .system("Be brief.")
        .options(ChatOptions::default().temperature(0.0).parallel_calls(true))
        .driver(ReAct::new());
    let answer = agent.run("Coats?").await.unwrap();
    assert_eq!(answer.text, "Two.");
    assert_complete(&answer.transcript);
    // The transcript has the same form as with any driver.
    assert_eq!(answer.transcript.len(), 7);

    let requests = model.requests();
    let (messages, options, tools) = &requests[2];
    assert_eq!(*tools, 0, "no native tools");
    assert_eq!((options.parallel_calls, options.temperature), (None, Some(0.0)));
    let instructions = messages[0].text();
    assert!(instructions.starts_with("Be brief.\n\n"), "{instructions}");
    for part in [
        "find: Finds things.",
        "refuse: Always fails.",
        "call_tool",
        "final_answer",
        r#""minimum":1"#,
    ] {
        assert!(instructions.contains(part), "{part}: {instructions}");
    }
    // Members are requested in the order of their declaration.
    assert!(instructions.find(r#""words":"#) < instructions.find(r#""most":"#), "{instructions}");
    for (earlier, later) in requests.iter().zip(&requests[1..]) {
        assert!(later.0.starts_with(&earlier.0), "requests repeat the conversation unchanged");
    }
    let texts: Vec<_> = messages[2..].iter().map(Message::text).collect();
    assert_eq!(
        texts[0],
        r#"{"thought": "t", "type": "call_tool", "tool": "find", "args": {"words":"coat"}}"#
    );
    assert_eq!(texts[1], "Observation from find: coat None None");
    assert!(
        texts[3].starts_with(
            "Observation from refuse, which failed (TOOL_EXECUTION_FAILED): out of stock"
        ),
        "{}",
        texts[3]
    );
}

#[tokio::test]
async fn decision_schema_includes_tool_schemas() {
    let model = RecordingModel::new([answer("")]);
    let _ = Agent::new(model.clone(), tools![find, keep]).driver(ReAct::new()).run("Go").await;
    let schema = model.requests()[0].1.output.clone().unwrap();
    let check = |value: Value| schema.check(&value).is_empty();
    let oracle = jsonschema::validator_for(schema.as_value()).unwrap();
    for (args, is_right) in [
        (json!({ "words": "a" }), true),
        (
            json!({ "words": "a", "most": 9, "place": { "name": "b", "parent": { "name": "c" } } }),
            true,
        ),
        (json!({ "words": "a", "most": 10 }), false),
        (json!({ "words": "a", "place": { "name": "b", "parent": { "name": 1 } } }), false),
        (json!({}), false),
    ] {
        let decision = json!({ "thought": "", "type": "call_tool", "tool": "find", "args": args });
        assert_eq!(check(decision.clone()), is_right, "{args}");
        assert_eq!(oracle.is_valid(&decision), is_right, "{args}");
    }
    for (decision, is_right) in [
        (json!({ "thought": "", "type": "final_answer", "answer": "b" }), true),
        (json!({ "thought": "", "type": "final_answer" }), false),
        (json!({ "thought": "", "type": "call_tool", "tool": "fly", "args": {} }), false),
    ] {
        assert_eq!(check(decision.clone()), is_right, "{decision}");
        assert_eq!(oracle.is_valid(&decision), is_right, "{decision}");
    }
}

fn with_failures(agent: Agent) -> (Agent, Arc<Mutex<Vec<String>>>) {
    let failures = Arc::<Mutex<Vec<String>>>::default();
    let sink = Arc::clone(&failures);
    let agent = agent.on_event(move |event| {
        if let EventKind::Model(
            ModelEvent::ExtractionFailed { attempt, .. }
            | ModelEvent::ValidationFailed { attempt, .. },
        ) = &event.kind
        {
            sink.lock().unwrap().push(format!("{} {attempt}", event.name()));
        }
    });
    (agent, failures)
}

#[tokio::test]
async fn unparsable_replies_get_feedback_up_to_parse_attempts() {
    let model = RecordingModel::new([
        ChatReply::text("Hm.").usage(Usage::new(10, 1)),
        ChatReply::text(call("fly", &json!({}))).usage(Usage::new(20, 2)),
        answer("Well.").usage(Usage::new(30, 3)),
    ]);
    let (agent, failures) =
        with_failures(Agent::new(model.clone(), tools![find]).driver(ReAct::new()));
    let answered = agent.run("Go").await.unwrap();
    assert_eq!((answered.text.as_str(), answered.usage), ("Well.", Usage::new(60, 6)));
    assert_eq!(
        *failures.lock().unwrap(),
        ["model.extraction_failed 1", "model.validation_failed 2"]
    );
    assert_eq!(answered.transcript.len(), 2, "what went wrong is no part of the conversation");
    let requests = model.requests();
    let last: Vec<_> = requests[2].0[2..].iter().map(Message::text).collect();
    assert_eq!(last[0], "Hm.");
    assert!(last[1].contains("exactly one JSON object"), "{}", last[1]);
    assert!(last[3].contains("no tool `fly`"), "{}", last[3]);

    // In the end an invalid call gets an error result, like any call.
    let fly = || ChatReply::text(call("fly", &json!({})));
    let model = RecordingModel::new([fly(), fly(), answer("No.")]);
    let (agent, failures) = with_failures(
        Agent::new(model.clone(), tools![find]).driver(ReAct::new().max_parse_attempts(2)),
    );
    let answered = agent.run("Go").await.unwrap();
    assert_eq!(
        *failures.lock().unwrap(),
        ["model.validation_failed 1", "model.validation_failed 2"]
    );
    assert_eq!(results(&answered.transcript[2])[0].error.as_deref(), Some("TOOL_NOT_FOUND"));

    // A reply without a decision ends the run.
    let model = RecordingModel::new(["a", "b", "c"].map(ChatReply::text));
    let (agent, failures) = with_failures(Agent::new(model, tools![find]).driver(ReAct::new()));
    let stopped = agent.run("Go").await.unwrap_err();
    let StopReason::UnparsableReply(error) = &stopped.reason else { panic!("{stopped}") };
    assert_eq!((error.is_invalid(), error.reply.to_text()), (false, "c".to_owned()));
    assert_eq!(failures.lock().unwrap().len(), 3);
    assert_eq!((stopped.transcript.len(), stopped.reason.code()), (1, "UNPARSABLE_REPLY"));
}

/// The model writes calls in the format that it was trained on.
#[tokio::test]
async fn markup_of_a_call_is_never_the_answer() {
    let marked = r#"<tool_call>{"name": "find", "arguments": {"words": "coat"}}</tool_call>"#;
    let unreadable = r#"<tool_call>{"arguments": {"words": "coat"}}</tool_call>"#;
    for (reply, feedback) in [
        (answer(marked), "The answer is the markup of a tool call"),
        (answer(unreadable), "The answer is the markup of a tool call"),
        (ChatReply::text(format!("Final Answer: {unreadable}")), "exactly one JSON object"),
        (ChatReply::text(unreadable), "can't be read in the format `hermes`"),
        (ChatReply::text("Action: fi!nd\nAction Input: coat"), "in the format `react`"),
    ] {
        let model = RecordingModel::new([reply.clone(), reply.clone(), reply.clone()]);
        let agent = Agent::new(model.clone(), tools![find]).driver(ReAct::new());
        let stopped = agent.run("Go").await.unwrap_err();
        assert_eq!(stopped.reason.code(), "UNPARSABLE_REPLY", "{reply:?}");
        let last = model.requests()[2].0.last().unwrap().text();
        assert!(last.contains(feedback), "{last}");
    }
    // A call that can be read runs.
    let model = RecordingModel::new([ChatReply::text(marked), answer("Two.")]);
    let agent = Agent::new(model, tools![find]).driver(ReAct::new());
    assert_eq!(agent.run("Go").await.unwrap().text, "Two.");
}

#[tokio::test]
async fn truncated_arguments_never_run_a_write() {
    let cut = |tool: &str, arg: &str| {
        let text = call(tool, &json!({ arg: "The whole text" }));
        ChatReply::text(&text[..text.find("whole").unwrap() + 3])
            .finish_reason(FinishReason::Length)
    };
    let model = RecordingModel::new([cut("keep", "text"), cut("find", "words"), answer("Done.")]);
    let agent = Agent::new(model, tools![find, keep]).driver(ReAct::new());
    let answer = agent.run("Go").await.unwrap();
    let results: Vec<_> =
        [2, 4].iter().map(|place| results(&answer.transcript[*place])[0].clone()).collect();
    assert_eq!(results[0].error.as_deref(), Some("TOOL_INVALID_ARGUMENTS"), "{}", results[0].text);
    assert!(
        results[1].is_success() && results[1].text.starts_with("The who"),
        "{}",
        results[1].text
    );
}

#[tokio::test]
async fn repeated_decisions_count_as_iterations() {
    let wrong = || ChatReply::text(r#"{"thought": "", "type": "call_tool", "tool": "nope"}"#);
    let prose = || ChatReply::text("Hm.");
    // Without a fallback, the run stops at the limit; with one, the call has no iteration left.
    for reply in [wrong, prose] {
        let model = RecordingModel::new([reply(), reply(), reply(), reply()]);
        let driver = ReAct::new().max_parse_attempts(4);
        let agent = Agent::new(model.clone(), tools![echo]).driver(driver).max_iterations(2);
        let stopped = agent.run("Go").await.unwrap_err();
        assert!(matches!(stopped.reason, StopReason::IterationLimit(2)), "{stopped}");
        assert_eq!(model.requests().len(), 2);
    }
    // Two requests of the first turn, and one of the second.
    let echoes = || ChatReply::text(call("echo", &json!({ "text": "hi" })));
    for (limit, is_answered) in [(3, true), (2, false)] {
        let model = RecordingModel::new([prose(), echoes(), answer("Done.")]);
        let agent = Agent::new(model, tools![echo]).driver(ReAct::new()).max_iterations(limit);
        assert_eq!(agent.run("Go").await.is_ok(), is_answered, "{limit}");
    }
}

#[tokio::test]
async fn answer_is_not_requested_before_the_required_call() {
    let echoes = ChatReply::text(call("echo", &json!({ "text": "hi" })));
    let decides = RecordingModel::new([answer("draft"), echoes, answer("draft")]);
    let model = RecordingModel::new([ChatReply::text("The answer.")]);
    let options = ChatOptions::default().tool_choice(ToolChoice::Required);
    let driver = ReAct::new().answer_by(model.clone());
    let agent = Agent::new(decides, tools![echo]).options(options).driver(driver);
    assert_eq!(agent.run("Go").await.unwrap().text, "The answer.");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn answer_request_uses_another_model() {
    let decides = RecordingModel::new([
        ChatReply::text(call("echo", &json!({ "text": "hi" }))),
        answer("draft"),
    ]);
    let model = RecordingModel::new([ChatReply::text("The answer.")]);
    let driver =
        ReAct::new().answer_by(model.clone()).answer_with(ChatOptions::default().temperature(0.9));
    let agent = Agent::new(decides, tools![echo]).system("Be kind.").driver(driver);
    let answer = agent.run("Go").await.unwrap();
    assert_eq!(answer.text, "The answer.");
    let (messages, options, _) = &model.requests()[0];
    assert_eq!((options.temperature, &options.output), (Some(0.9), &None));
    let texts: Vec<_> = messages.iter().map(Message::text).collect();
    assert_eq!(texts[0], "Be kind.");
    assert!(texts.iter().any(|text| text.contains("Observation from echo: hi")), "{texts:?}");
    assert!(texts.last().unwrap().ends_with("nothing else."), "{texts:?}");
}

#[tokio::test]
async fn empty_answer_reply_keeps_decided_answer() {
    let decides = RecordingModel::new([answer("draft")]);
    let driver = ReAct::new().answer_by(RecordingModel::new([ChatReply::text(" ")]));
    let agent = Agent::new(decides, tools![echo]).driver(driver);
    assert_eq!(agent.run("Go").await.unwrap().text, "draft");
}

#[tokio::test]
async fn tool_choice_is_in_instructions() {
    for (choice, may_call, may_answer) in [
        (ToolChoice::Auto, true, true),
        (ToolChoice::Required, true, false),
        (ToolChoice::Tool("keep".into()), false, false),
        (ToolChoice::None, false, true),
    ] {
        let model = RecordingModel::new([]);
        let options = ChatOptions::default().tool_choice(choice.clone());
        let agent =
            Agent::new(model.clone(), tools![find, keep]).options(options).driver(ReAct::new());
        let _ = agent.run("Go").await;
        let schema = model.requests()[0].1.output.clone().unwrap();
        let takes = |value: Value| schema.check(&value).is_empty();
        let find =
            json!({ "thought": "", "type": "call_tool", "tool": "find", "args": { "words": "" } });
        let end = json!({ "thought": "", "type": "final_answer", "answer": "" });
        assert_eq!((takes(find), takes(end)), (may_call, may_answer), "{choice:?}");
    }
}

#[tokio::test]
async fn answer_follows_output_schema() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let decision =
        json!({ "thought": "", "type": "final_answer", "answer": { "n": 4 } }).to_string();
    let model = RecordingModel::new([ChatReply::text(decision)]);
    let options = ChatOptions::default().output(schema);
    let agent = Agent::new(model.clone(), tools![find]).options(options).driver(ReAct::new());
    assert_eq!(agent.run("Go").await.unwrap().text, r#"{"n":4}"#);
    let schema = model.requests()[0].1.output.clone().unwrap();
    assert!(
        !schema
            .check(&json!({ "thought": "", "type": "final_answer", "answer": { "n": "x" } }))
            .is_empty()
    );
}

#[test]
fn transcript_of_another_driver_is_rewritten() {
    let now = ToolDefinition::new("now", "Tells the time.", json!({ "type": "object" }));
    let calls = [ToolCall::new("1", "now", "{}"), ToolCall::new("2", "now", "{broken")];
    let image = Image { media_type: "image/png".into(), base64: "AA==".into() };
    let mut tool_results =
        vec![ToolResult::success(&calls[0], "noon"), ToolResult::success(&calls[1], "x")];
    tool_results[0].parts.push(image.clone().into());
    let messages = [
        Message::user("When?"),
        Message::Assistant {
            id: None,
            parts: std::iter::once(AssistantPart::Text { text: "I look.".into() })
                .chain(calls.map(AssistantPart::Call))
                .collect(),
        },
        Message::Tool { results: tool_results },
        Message::user("Hurry!"),
    ];
    let requests =
        ReAct::new().prepare(ChatRequest::new(&messages).tools(&[&now])).messages.into_owned();
    let sides: Vec<_> = requests
        .iter()
        .map(|message| match message {
            Message::System { .. } => 's',
            Message::User { .. } => 'u',
            Message::Assistant { .. } => 'a',
            _ => '?',
        })
        .collect();
    assert_eq!(sides, ['s', 'u', 'a', 'u', 'a', 'u'], "each side speaks once at a time");
    assert!(requests[2].text().contains(r#""thought": "I look.""#));
    let Message::User { parts, .. } = &requests[3] else { panic!() };
    assert_eq!(parts[1], ContentPart::Image(image));
    assert!(
        requests[4].text().contains(r#""args": "{broken""#)
            || requests[4].text().contains(r#""args": {"#),
        "{}",
        requests[4].text()
    );
    assert_eq!(requests[5].text(), "Observation from now: x\n\nHurry!");
}

#[tokio::test]
async fn scripted_model_checks_requests() {
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::text(call("echo", &json!({ "text": "hi" }))))
            .expect_tools([] as [&str; 0]),
        ScriptedTurn::new(answer("Done.")).expect_last("Observation from echo: hi"),
    ]);
    let agent = Agent::new(model, tools![echo]).driver(ReAct::new());
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
}

/// A model that replies once with ten tokens of unparsable text, and then never.
struct Mumbles(AtomicUsize);

#[async_trait]
impl ChatModel for Mumbles {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Ok(ChatReply::text("Hm.").usage(Usage::new(9, 1))),
            2 => std::future::pending().await,
            _ => Ok(ChatReply::text(r#"{"type": "final_answer", "answer": "Yes."}"#)
                .usage(Usage::new(1, 1))),
        }
    }
}

/// A step that is dropped during a further attempt still counts the usage of its replies.
#[tokio::test(start_paused = true)]
async fn unparsable_replies_count_in_dropped_step() {
    let agent = Agent::new(Mumbles(AtomicUsize::new(0)), Tools::new()).driver(ReAct::new());
    let mut run = agent.start("Is it?");
    let second = std::time::Duration::from_secs(1);
    assert!(tokio::time::timeout(second, run.next()).await.is_err());
    assert_eq!(run.state().turn.usage(), Usage::new(18, 2));
    let answer = run.finish().await.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage), ("Yes.", Usage::new(19, 3)));
}
