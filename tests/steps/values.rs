//! Structured output: answers as values.

use tool_runtime::Policy;

use super::*;

/// The temperature of a place.
#[args]
#[derive(Debug, PartialEq)]
struct Warmth {
    /// The place.
    city: String,
    /// The temperature in degrees.
    #[schemars(range(min = -90, max = 60))]
    degrees: i32,
}

#[tokio::test]
async fn answer_is_extracted_and_retried() {
    let model = ScriptedModel::new([
        ScriptedTurn::new(echo_call("4 degrees")).expect_tools(["echo"]),
        ScriptedTurn::new(ChatReply::text("It is 4 degrees.")),
        ScriptedTurn::new(ChatReply::text("4 degrees in Oslo"))
            .expect_no_tools()
            .expect_last("JSON Schema"),
        ScriptedTurn::new(ChatReply::text(r#"{"city": "Oslo", "degrees": 400}"#))
            .expect_last("can't be read"),
        ScriptedTurn::new(ChatReply::text("```json\n{city: 'Oslo', degrees: \"4\"}\n```"))
            .expect_last("`degrees`: expected"),
    ]);
    let found = Agent::new(model, tools![echo]).extract::<Warmth>("How warm is it?").await.unwrap();
    assert_eq!(found.value, Warmth { city: "Oslo".into(), degrees: 4 });
    assert!(!found.fixes.is_empty());
    assert_complete(&found.transcript);

    let bad = || ChatReply::text("warm");
    let stopped = Agent::new(script([bad(), bad(), bad()]), Tools::new())
        .extract::<Warmth>("?")
        .await
        .unwrap_err();
    assert_eq!(stopped.why.code(), "UNFIT");
    let told = stopped.why.to_string();
    assert!(told.contains("can't be read as JSON") && !told.contains("Give the JSON"), "{told}");
    // The error states the last mismatch and the number of attempts.
    let cold = || ChatReply::text(r#"{"city": "hunter22", "degrees": -100}"#);
    let agent = Agent::new(script([bad(), cold()]), Tools::new())
        .policy(Policy::new().secrets(["hunter22"]));
    let stopped = agent.extract_attempts(2).extract::<Warmth>("?").await.unwrap_err();
    let expected = r#"the run stopped: the model's answer is not what was asked for (attempt 2 of 2): this is wrong with it:
- `degrees`: expected an integer from -90 to 60, got -100; it was: {"city": "[redacted]", "degrees": -100}"#;
    assert_eq!(stopped.to_string(), expected);
    let StopReason::ExtractionFailed { attempts, said, reason } = stopped.why else { panic!() };
    assert_eq!((attempts, said.as_str()), (2, r#"{"city": "[redacted]", "degrees": -100}"#));
    assert_eq!(
        reason,
        "this is wrong with it:\n- `degrees`: expected an integer from -90 to 60, got -100"
    );
    // Long replies are truncated.
    let agent = Agent::new(script([ChatReply::text("é".repeat(5_000))]), Tools::new());
    let stopped = agent.extract_attempts(1).extract::<Warmth>("?").await.unwrap_err();
    assert!(stopped.to_string().len() < 800, "{stopped}");

    // A value that is not an object is a member of one.
    let model = script([ChatReply::text(r#"{"value": [{"city": "Oslo", "degrees": 4}]}"#)]);
    let list = Agent::new(model, Tools::new()).extract::<Vec<Warmth>>("?").await.unwrap().value;
    assert_eq!(list.len(), 1);
    let model = script([ChatReply::text(r#"{"value": 12345678901234567890123}"#)]);
    assert_eq!(
        Agent::new(model, Tools::new()).extract::<i128>("?").await.unwrap().value,
        12_345_678_901_234_567_890_123
    );
}

/// A person.
#[args]
#[derive(Debug, PartialEq)]
struct Person {
    /// Full name.
    name: String,
    /// The age in years.
    age: u8,
}

#[tokio::test]
async fn react_value_is_accepted_without_its_decision() {
    let model = script([ChatReply::text(r#"{"name": "Ada", "age": 36}"#)]);
    let agent = Agent::new(model, Tools::new()).driver(ReAct::new());
    let ada = agent.extract::<Person>("Ada is 36.").await.unwrap();
    assert_eq!(ada.value, Person { name: "Ada".into(), age: 36 });
    assert_eq!(ada.transcript.len(), 2);
}

/// Model that returns a value if the request has a schema and no required call.
struct ExpectsSchema;

#[async_trait]
impl ChatModel for ExpectsSchema {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let options = request.options;
        assert_eq!((&options.tool_choice, request.tools.len()), (&ToolChoice::Auto, 0));
        assert!(options.output.is_some() && options.temperature == Some(0.5));
        Ok(ChatReply::text(r#"{"name": "Ada", "age": 36}"#))
    }
}

#[tokio::test]
async fn final_answer_request_has_the_schema() {
    let options = ChatOptions::default().temperature(0.5).tool_choice(ToolChoice::Required);
    let model = script([ChatReply::text(
        r#"{"thought": "", "type": "final_answer", "answer": {"name": "?", "age": 0}}"#,
    )]);
    let driver = ReAct::new().answer_by(ExpectsSchema).answer_with(options);
    let agent = Agent::new(model, Tools::new()).driver(driver);
    assert_eq!(agent.extract::<Person>("Ada is 36.").await.unwrap().value.age, 36);
}

/// A meeting of two people.
#[args]
#[derive(Debug, PartialEq)]
struct Meeting {
    day: chrono::NaiveDate,
    place: Option<String>,
}

#[tokio::test]
async fn type_errors_are_reported_with_their_path() {
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::text("Soon.")),
        ScriptedTurn::new(ChatReply::text(r#"{"day": "tomorrow"}"#)),
        ScriptedTurn::new(ChatReply::text(r#"{"day": "2026-12-24"}"#)).expect_last(
            "- `day`: expected a string in date format, such as \"2026-12-24\", got \"tomorrow\": ",
        ),
    ]);
    let found = Agent::new(model, tools![echo]).extract::<Meeting>("When?").await.unwrap();
    assert_eq!(found.value.day.to_string(), "2026-12-24");
}

/// Model that records the dialect of the requested schema.
#[derive(Clone, Default)]
struct Dialects(Arc<Mutex<Vec<Option<Dialect>>>>);

#[async_trait]
impl ChatModel for Dialects {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.0.lock().unwrap().push(request.options.output.as_ref().map(Schema::dialect));
        Ok(ChatReply::text(r#"{"day": "2026-12-24", "place": null}"#))
    }
}

#[tokio::test]
async fn value_is_requested_in_the_dialect_of_the_tools() {
    for (of_tools, of_value) in [
        (Dialect::OpenAiStrict, Dialect::OpenAiStrict),
        (Dialect::GeminiOpenApi, Dialect::GeminiOpenApi),
        // The model accepts the schema of an answer unchanged.
        (Dialect::Ollama, Dialect::Plain),
    ] {
        let model = Dialects::default();
        let agent = Agent::new(model.clone(), tools![echo].dialect(of_tools).unwrap());
        let found = agent.extract::<Meeting>("When?").await.unwrap();
        assert_eq!(found.value.place, None);
        assert_eq!(*model.0.lock().unwrap(), [None, Some(of_value)]);
    }
    // The dialect can't express a map.
    let model = Dialects::default();
    let strict = tools![echo].dialect(Dialect::OpenAiStrict).unwrap();
    let agent = Agent::new(model.clone(), strict);
    let _ = agent.extract::<BTreeMap<String, u8>>("How many?").await;
    assert_eq!(model.0.lock().unwrap()[..2], [None, Some(Dialect::Plain)]);
}

/// The events of the run, and the turns of its model requests.
type Watched = Arc<Mutex<(Vec<String>, Vec<u32>)>>;

/// Returns the agent with an observer of its runs.
fn watched(agent: Agent) -> (Agent, Watched) {
    let told = Watched::default();
    let kept = Arc::clone(&told);
    let agent = agent.on_event(move |event| {
        let (of_run, turns) = &mut *kept.lock().unwrap();
        match &event.kind {
            EventKind::Run(RunEvent::Started { .. }) => of_run.push("started".into()),
            EventKind::Run(RunEvent::Finished { error, .. }) => {
                of_run.push(format!("finished {}", error.clone().unwrap_or_default()));
            }
            EventKind::Model(ModelEvent::Asked) => turns.push(event.origin.turn),
            _ => {}
        }
    });
    (agent, told)
}

#[tokio::test]
async fn extraction_is_part_of_one_run() {
    let bad = || ChatReply::text("Ada");
    let good = || ChatReply::text(r#"{"name": "Ada", "age": 36}"#);
    let called = || [echo_call("Ada is 36."), ChatReply::text("She is 36.")];
    for (tools, replies, turns, unfit) in [
        (tools![echo], [called().to_vec(), vec![bad(), good()]].concat(), 4, None),
        (tools![echo], [called().to_vec(), vec![bad(), bad(), bad()]].concat(), 5, Some("UNFIT")),
        (Tools::new(), vec![bad(), good()], 2, None),
        (Tools::new(), vec![bad()], 2, Some("MODEL_FAILED")),
    ] {
        let (agent, told) = watched(Agent::new(ScriptedModel::new(replies), tools));
        let ended = agent.extract::<Person>("How old is Ada?").await;
        let (of_run, asked) = told.lock().unwrap().clone();
        assert_eq!(asked, (1..=turns).collect::<Vec<_>>());
        assert_eq!(ended.as_ref().err().map(|stopped| stopped.why.code()), unfit);
        let error = ended.err().map(|stopped| stopped.why.to_string()).unwrap_or_default();
        assert_eq!(of_run, ["started".to_owned(), format!("finished {error}")]);
    }
}

/// Calls in a reply to a request without tools are reported and do not run.
#[tokio::test]
async fn no_tool_runs_for_a_value() {
    let model = script([
        ChatReply::text("She is 36."),
        echo_call("Ada is 36."),
        ChatReply::text(r#"{"name": "Ada", "age": 36}"#),
    ]);
    let ada = Agent::new(model, tools![echo]).extract::<Person>("How old is Ada?").await.unwrap();
    assert_complete(&ada.transcript);
    assert_eq!(results(&ada.transcript[4])[0].error.as_deref(), Some("TOOL_NOT_FOUND"));
}

#[tokio::test]
async fn extraction_handles_limits_replies_and_open_calls() {
    let good = || ChatReply::text(r#"{"name": "Ada", "age": 36}"#);
    // The budget is empty.
    let (agent, told) = watched(Agent::new(script([good()]), Tools::new()));
    let stopped = agent.limits(Limits::default().tokens(0)).extract::<Person>("Ada is 36.").await;
    assert_eq!(stopped.unwrap_err().why.code(), "TOKENS_SPENT");
    assert!(told.lock().unwrap().0.is_empty());
    // The conversation ends with a reply.
    for tools in [Tools::new(), tools![echo]] {
        let had = vec![Message::user("How old is Ada?"), Message::assistant("She is 36.")];
        let ada = Agent::new(script([good()]), tools).extract::<Person>(had).await.unwrap();
        assert_eq!(ada.value.age, 36);
    }
    // The conversation ends with calls that can't run.
    let open = Message::Assistant { parts: echo_call("hi").parts };
    let model = script([ChatReply::text("She is 36."), good()]);
    let asked = vec![Message::user("How old is Ada?"), open];
    let ada = Agent::new(model, Tools::new()).extract::<Person>(asked).await.unwrap();
    assert_complete(&ada.transcript);
}

/// Providers accept only objects, so the value is requested as a member. Models may omit the
/// object.
#[tokio::test]
async fn non_object_value_is_accepted_without_its_wrapper() {
    let said = |text: &str| Agent::new(script([ChatReply::text(text)]), Tools::new());
    assert_eq!(said("[1, 2]").extract::<Vec<u8>>("?").await.unwrap().value, [1, 2]);
    assert_eq!(said(r#"{"value": [1]}"#).extract::<Vec<u8>>("?").await.unwrap().value, [1]);
    assert!(said("true").extract::<bool>("?").await.unwrap().value);
    let wrong = ["[400]", "[400]", r#"{"value": [400]}"#].map(ChatReply::text);
    let stopped = Agent::new(script(wrong), Tools::new()).extract::<Vec<u8>>("?").await;
    assert_eq!(stopped.unwrap_err().why.code(), "UNFIT");
}

#[tokio::test]
async fn conversation_without_input_is_refused() {
    let agent = Agent::new(script([ChatReply::text("Yes?")]), Tools::new());
    let orders = vec![Message::system("Be brief."), Message::system("Be kind.")];
    for prompt in [vec![], orders[..1].to_vec(), orders] {
        let (system, asked) = (agent.clone().system("Be brief."), prompt.clone());
        let asked_again = prompt.clone();
        for ended in [agent.run(prompt).await, system.run(asked).await] {
            assert_eq!(ended.unwrap_err().why.code(), "NOTHING_ASKED");
        }
        // Extraction is refused as well.
        let given = agent.extract::<String>(asked_again).await;
        assert_eq!(given.unwrap_err().why.code(), "NOTHING_ASKED");
    }
}

#[tokio::test]
async fn extraction_attempts_are_configurable() {
    let good = || ChatReply::text(r#"{"name": "Ada", "age": 36}"#);
    for (times, needed, fits) in
        [(0, 1, true), (0, 2, false), (1, 2, false), (3, 3, true), (5, 5, true), (5, 6, false)]
    {
        let bad = (1..needed).map(|_| ChatReply::text("Ada"));
        let model = ScriptedModel::new(bad.chain([good()]));
        let agent = Agent::new(model, Tools::new()).extract_attempts(times);
        let ended = agent.extract::<Person>("Ada is 36.").await;
        assert_eq!(
            ended.err().map(|stopped| stopped.why.code()),
            (!fits).then_some("UNFIT"),
            "{times}: {needed}"
        );
    }
}

/// Extracting from an ended run emits no second end.
#[tokio::test]
async fn run_emits_one_end_with_extraction() {
    let good = || ChatReply::text(r#"{"name": "Ada", "age": 36}"#);
    for replies in
        [vec![ChatReply::text("She is 36."), good()], vec![ChatReply::text("She is 36.")]]
    {
        let (agent, told) = watched(Agent::new(ScriptedModel::new(replies.clone()), tools![echo]));
        let mut run = agent.start("How old is Ada?");
        while run.next().await.is_some() {}
        assert_eq!(run.extract::<Person>().await.is_ok(), replies.len() == 2);
        assert_eq!(told.lock().unwrap().0, ["started", "finished "]);
    }
}

/// The transcript of a stopped extraction does not end with its request.
#[tokio::test]
async fn stopped_extraction_removes_its_request() {
    let bad = ChatReply::text("Ada");
    for (replies, tools, left) in [
        (vec![], Tools::new(), 1),
        (vec![ChatReply::text("She is 36.")], tools![echo], 2),
        // The answer in words stays.
        (vec![ChatReply::text("She is 36."), bad], tools![echo], 4),
    ] {
        let agent = Agent::new(ScriptedModel::new(replies), tools);
        let stopped = agent.extract::<Person>("How old is Ada?").await.unwrap_err();
        assert_eq!((stopped.why.code(), stopped.transcript.len()), ("MODEL_FAILED", left));
        assert_eq!(stopped.transcript[0], Message::user("How old is Ada?"));
    }
}
