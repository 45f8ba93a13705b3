//! Extraction of values.

use std::net::IpAddr;

use chrono::NaiveDate;
use tool_runtime::Policy;

use super::*;

/// A city and its temperature.
#[args]
#[derive(Debug, PartialEq)]
struct Warmth {
    /// City name.
    city: String,
    /// Degrees Celsius.
    #[schemars(range(min = -90, max = 60))]
    degrees: i32,
}

#[tokio::test]
async fn answer_is_extracted_as_a_value() {
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
    assert_eq!(stopped.reason.code(), "EXTRACTION_FAILED");
    let error_text = stopped.reason.to_string();
    assert!(
        error_text.contains("can't be read as JSON") && !error_text.contains("Give the JSON"),
        "{error_text}"
    );
    // The error names the problem of the last attempt, and the number of attempts.
    let cold = || ChatReply::text(r#"{"city": "hunter22", "degrees": -100}"#);
    let agent = Agent::new(script([bad(), cold()]), Tools::new())
        .policy(Policy::new().secrets(["hunter22"]));
    let stopped = agent.max_answer_attempts(2).extract::<Warmth>("?").await.unwrap_err();
    let expected = r#"the run stopped: extraction failed after 2 attempts: this is wrong with it:
- `degrees`: expected an integer from -90 to 60, got -100; last reply: {"city": "[redacted]", "degrees": -100}"#;
    assert_eq!(stopped.to_string(), expected);
    let StopReason::ExtractionFailed { attempts, text: message, reason } = stopped.reason else {
        panic!()
    };
    assert_eq!((attempts, message.as_str()), (2, r#"{"city": "[redacted]", "degrees": -100}"#));
    assert_eq!(
        reason,
        "this is wrong with it:\n- `degrees`: expected an integer from -90 to 60, got -100"
    );
    // A long reply is shortened.
    let agent = Agent::new(script([ChatReply::text("é".repeat(5_000))]), Tools::new());
    let stopped = agent.max_answer_attempts(1).extract::<Warmth>("?").await.unwrap_err();
    assert!(stopped.to_string().len() < 800, "{stopped}");

    // A value that is no object is wrapped in one.
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
    /// Age in years.
    age: u8,
}

#[tokio::test]
async fn value_without_a_react_decision_is_accepted() {
    let model = script([ChatReply::text(r#"{"name": "Ada", "age": 36}"#)]);
    let agent = Agent::new(model, Tools::new()).driver(ReAct::new());
    let ada = agent.extract::<Person>("Ada is 36.").await.unwrap();
    assert_eq!(ada.value, Person { name: "Ada".into(), age: 36 });
    assert_eq!(ada.transcript.len(), 2);
}

/// Replies once, and asserts that the request has a schema and no forced call.
struct RequiresSchema;

#[async_trait]
impl ChatModel for RequiresSchema {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let options = request.options;
        assert_eq!((&options.tool_choice, request.tools.len()), (&ToolChoice::Auto, 0));
        assert!(options.output.is_some() && options.temperature == Some(0.5));
        Ok(ChatReply::text(r#"{"name": "Ada", "age": 36}"#))
    }
}

#[tokio::test]
async fn answering_model_gets_the_schema() {
    let options = ChatOptions::default().temperature(0.5).tool_choice(ToolChoice::Required);
    let model = script([ChatReply::text(
        r#"{"thought": "", "type": "final_answer", "answer": {"name": "?", "age": 0}}"#,
    )]);
    let driver = ReAct::new().answer_by(RequiresSchema).answer_with(options);
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
async fn error_of_the_type_names_the_path() {
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

/// Returns a value, and records the schema of the request.
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
        // The provider accepts any schema.
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

/// Returns the events of the run as a whole, and the turns of the model requests.
type RunEvents = Arc<Mutex<(Vec<String>, Vec<u32>)>>;

/// An agent and the events of its runs.
fn with_run_events(agent: Agent) -> (Agent, RunEvents) {
    let run_events = RunEvents::default();
    let copy = Arc::clone(&run_events);
    let agent = agent.on_event(move |event| {
        let (of_run, turns) = &mut *copy.lock().unwrap();
        match &event.kind {
            EventKind::Run(RunEvent::Started { .. }) => of_run.push("started".into()),
            EventKind::Run(RunEvent::Finished { error, .. }) => {
                of_run.push(format!("finished {}", error.clone().unwrap_or_default()));
            }
            EventKind::Model(ModelEvent::Requested { .. }) => turns.push(event.origin.turn),
            _ => {}
        }
    });
    (agent, run_events)
}

#[tokio::test]
async fn extraction_is_one_run() {
    let bad = || ChatReply::text("Ada");
    let good = || ChatReply::text(r#"{"name": "Ada", "age": 36}"#);
    let replies = || [echo_call("Ada is 36."), ChatReply::text("She is 36.")];
    for (tools, replies, turns, unfit) in [
        (tools![echo], [replies().to_vec(), vec![bad(), good()]].concat(), 4, None),
        (
            tools![echo],
            [replies().to_vec(), vec![bad(), bad(), bad()]].concat(),
            5,
            Some("EXTRACTION_FAILED"),
        ),
        (Tools::new(), vec![bad(), good()], 2, None),
        (Tools::new(), vec![bad()], 2, Some("MODEL_SCRIPT")),
    ] {
        let (agent, run_events) = with_run_events(Agent::new(ScriptedModel::new(replies), tools));
        let ended = agent.extract::<Person>("How old is Ada?").await;
        let (of_run, turns_run) = run_events.lock().unwrap().clone();
        assert_eq!(turns_run, (1..=turns).collect::<Vec<_>>());
        assert_eq!(ended.as_ref().err().map(|stopped| stopped.reason.code()), unfit);
        let error = ended.err().map(|stopped| stopped.reason.to_string()).unwrap_or_default();
        assert_eq!(of_run, ["started".to_owned(), format!("finished {error}")]);
    }
}

/// Calls without offered tools are refused and not run.
#[tokio::test]
async fn calls_in_the_value_phase_are_not_run() {
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
async fn value_is_requested_only_if_there_is_a_message_to_answer() {
    let good = || ChatReply::text(r#"{"name": "Ada", "age": 36}"#);
    // A budget of zero.
    let (agent, run_events) = with_run_events(Agent::new(script([good()]), Tools::new()));
    let stopped =
        agent.limits(Limits::default().max_tokens(0)).extract::<Person>("Ada is 36.").await;
    assert_eq!(stopped.unwrap_err().reason.code(), "TOKEN_LIMIT");
    assert!(run_events.lock().unwrap().0.is_empty());
    // A conversation that ends with a reply of the model.
    for tools in [Tools::new(), tools![echo]] {
        let transcript = vec![Message::user("How old is Ada?"), Message::assistant("She is 36.")];
        let ada = Agent::new(script([good()]), tools).extract::<Person>(transcript).await.unwrap();
        assert_eq!(ada.value.age, 36);
    }
    // Open calls that cannot be run.
    let open = Message::Assistant { id: None, parts: echo_call("hi").parts };
    let model = script([ChatReply::text("She is 36."), good()]);
    let messages = vec![Message::user("How old is Ada?"), open];
    let ada = Agent::new(model, Tools::new()).extract::<Person>(messages).await.unwrap();
    assert_complete(&ada.transcript);
}

/// Providers accept object schemas only, so the value is requested as a member of an object. A
/// model may omit the object.
#[tokio::test]
async fn non_object_value_is_accepted_without_its_wrapper() {
    let message = |text: &str| Agent::new(script([ChatReply::text(text)]), Tools::new());
    assert_eq!(message("[1, 2]").extract::<Vec<u8>>("?").await.unwrap().value, [1, 2]);
    assert_eq!(message(r#"{"value": [1]}"#).extract::<Vec<u8>>("?").await.unwrap().value, [1]);
    assert!(message("true").extract::<bool>("?").await.unwrap().value);
    let wrong = ["[400]", "[400]", r#"{"value": [400]}"#].map(ChatReply::text);
    let stopped = Agent::new(script(wrong), Tools::new()).extract::<Vec<u8>>("?").await;
    assert_eq!(stopped.unwrap_err().reason.code(), "EXTRACTION_FAILED");
}

/// A way to travel.
#[args]
#[derive(Debug)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(dead_code, reason = "no value is valid")]
enum Leg {
    Flight { day: NaiveDate, seat: u8, gate: IpAddr },
    Ride { coach: u8 },
}

#[tokio::test]
async fn all_wrong_members_of_an_unwrapped_value_are_reported() {
    let flight = r#"{"kind": "flight", "day": "24.12.2026", "seat": "w", "gate": "no"}"#;
    let ride = r#"{"kind": "ride", "coach": -1}"#;
    let members = |path: &str| ["day", "gate", "seat"].map(|name| format!("- `{path}{name}`: "));
    let reason = async |text: String, is_list: bool| {
        let agent =
            Agent::new(script([ChatReply::text(text)]), Tools::new()).max_answer_attempts(1);
        let stopped = if is_list {
            agent.extract::<Vec<Leg>>("?").await.unwrap_err()
        } else {
            agent.extract::<Leg>("?").await.unwrap_err()
        };
        let StopReason::ExtractionFailed { reason, .. } = stopped.reason else { panic!() };
        reason
    };
    let list = format!("[{flight}, {ride}]");
    for (text, is_list, paths) in [
        (flight.to_owned(), false, members("").to_vec()),
        (format!(r#"{{"value": {flight}}}"#), false, members("value.").to_vec()),
        (list.clone(), true, [&members("[0].")[..], &["- `[1].coach`: ".to_owned()]].concat()),
        (format!(r#"{{"value": {list}}}"#), true, members("value[0].").to_vec()),
    ] {
        let reason = reason(text.clone(), is_list).await;
        assert!(paths.iter().all(|path| reason.contains(path)), "{text}: {reason}");
    }
}

#[tokio::test]
async fn conversation_without_messages_stops_with_nothing_asked() {
    let agent = Agent::new(script([ChatReply::text("Yes?")]), Tools::new());
    let orders = vec![Message::system("Be brief."), Message::system("Be kind.")];
    for prompt in [vec![], orders[..1].to_vec(), orders] {
        let (system, question) = (agent.clone().system("Be brief."), prompt.clone());
        let repeated_prompt = prompt.clone();
        for ended in [agent.run(prompt).await, system.run(question).await] {
            assert_eq!(ended.unwrap_err().reason.code(), "MISSING_USER_MESSAGE");
        }
        // The wrapper has no value.
        let value = agent.extract::<String>(repeated_prompt).await;
        assert_eq!(value.unwrap_err().reason.code(), "MISSING_USER_MESSAGE");
    }
}

#[tokio::test]
async fn answer_attempts_limits_the_requests() {
    let good = || ChatReply::text(r#"{"name": "Ada", "age": 36}"#);
    for (times, needed, fits) in
        [(0, 1, true), (0, 2, false), (1, 2, false), (3, 3, true), (5, 5, true), (5, 6, false)]
    {
        let bad = (1..needed).map(|_| ChatReply::text("Ada"));
        let model = ScriptedModel::new(bad.chain([good()]));
        let agent = Agent::new(model, Tools::new()).max_answer_attempts(times);
        let ended = agent.extract::<Person>("Ada is 36.").await;
        assert_eq!(
            ended.err().map(|stopped| stopped.reason.code()),
            (!fits).then_some("EXTRACTION_FAILED"),
            "{times}: {needed}"
        );
    }
}

/// A run that has ended can be continued to a value; its end was emitted already.
#[tokio::test]
async fn end_of_an_extraction_is_emitted_once() {
    let good = || ChatReply::text(r#"{"name": "Ada", "age": 36}"#);
    for replies in
        [vec![ChatReply::text("She is 36."), good()], vec![ChatReply::text("She is 36.")]]
    {
        let (agent, run_events) =
            with_run_events(Agent::new(ScriptedModel::new(replies.clone()), tools![echo]));
        let mut run = agent.start("How old is Ada?");
        while run.next().await.is_some() {}
        assert_eq!(run.extract::<Person>().await.is_ok(), replies.len() == 2);
        assert_eq!(run_events.lock().unwrap().0, ["started", "finished "]);
    }
}

/// The transcript of a stopped extraction does not ask for a value.
#[tokio::test]
async fn stopped_extraction_leaves_no_request_for_a_value() {
    let bad = ChatReply::text("Ada");
    for (replies, tools, left) in [
        (vec![], Tools::new(), 1),
        (vec![ChatReply::text("She is 36.")], tools![echo], 2),
        // Answered requests stay.
        (vec![ChatReply::text("She is 36."), bad], tools![echo], 4),
    ] {
        let agent = Agent::new(ScriptedModel::new(replies), tools);
        let stopped = agent.extract::<Person>("How old is Ada?").await.unwrap_err();
        assert_eq!((stopped.reason.code(), stopped.transcript.len()), ("MODEL_SCRIPT", left));
        assert_eq!(stopped.transcript[0], Message::user("How old is Ada?"));
    }
}
