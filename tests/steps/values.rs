//! Answers that are values.

use super::*;

/// A place and how warm it is.
#[args]
#[derive(Debug, PartialEq)]
struct Warmth {
    /// Where.
    city: String,
    /// In degrees.
    #[schemars(range(min = -90, max = 60))]
    degrees: i32,
}

#[tokio::test]
async fn an_answer_is_a_value() {
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

    // What is no object is a member of one.
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
    /// In years.
    age: u8,
}

#[tokio::test]
async fn a_value_may_come_without_a_decision_around_it() {
    let model = script([ChatReply::text(r#"{"name": "Ada", "age": 36}"#)]);
    let agent = Agent::new(model, Tools::new()).driver(ReAct::new());
    let ada = agent.extract::<Person>("Ada is 36.").await.unwrap();
    assert_eq!(ada.value, Person { name: "Ada".into(), age: 36 });
    assert_eq!(ada.transcript.len(), 3);
}

/// Says it once, if it is held to a schema and has to call nothing.
struct Held;

#[async_trait]
impl ChatModel for Held {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let options = request.options;
        assert_eq!((&options.tool_choice, request.tools.len()), (&ToolChoice::Auto, 0));
        assert!(options.output.is_some() && options.temperature == Some(0.5));
        Ok(ChatReply::text(r#"{"name": "Ada", "age": 36}"#))
    }
}

#[tokio::test]
async fn who_answers_in_the_end_is_held_to_the_schema() {
    let options = ChatOptions::default().temperature(0.5).tool_choice(ToolChoice::Required);
    let model = script([ChatReply::text(
        r#"{"thought": "", "type": "final_answer", "answer": {"name": "?", "age": 0}}"#,
    )]);
    let driver = ReAct::new().answer_by(Held).answer_with(options);
    let agent = Agent::new(model, Tools::new()).driver(driver);
    assert_eq!(agent.extract::<Person>("Ada is 36.").await.unwrap().value.age, 36);
}
