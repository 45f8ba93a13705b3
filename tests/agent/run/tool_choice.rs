//! A call that the tool choice does not allow is answered, whatever the driver.

use tool_runtime::{Registry, RunContext};

use super::*;

/// Replies with these calls, and then with an answer, whatever the request allows.
struct Disobedient(Mutex<Vec<ChatReply>>);

#[async_trait]
impl ChatModel for Disobedient {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(self.0.lock().unwrap().pop().unwrap_or_else(|| ChatReply::text("Done.")))
    }
}

/// Sets the choice of each request.
struct Chooses(ToolChoice);

#[async_trait]
impl ModelHook for Chooses {
    async fn before_request(
        &self,
        request: &mut PreparedRequest<'_>,
        _: &RunContext<'_>,
    ) -> ControlFlow<String> {
        request.options.to_mut().tool_choice = self.0.clone();
        ControlFlow::Continue(())
    }
}

#[tokio::test]
async fn call_that_the_tool_choice_does_not_allow_is_not_run() {
    let none = "Not run: no tool can be called now. Answer in words.";
    let only_echo = "Not run: the only tool that can be called now is `echo`.";
    let named = || ToolChoice::Tool("echo".into());
    for (choice, texts) in [
        (ToolChoice::Auto, ["one", "Not found", "two"]),
        (ToolChoice::Required, ["one", "Not found", "two"]),
        (ToolChoice::None, [none, none, none]),
        (named(), ["one", only_echo, "two"]),
    ] {
        for is_set_by_hook in [false, true] {
            let calls = echo_call("one").call("other", "{}").call("echo", r#"{"text": "two"}"#);
            let events = Arc::<Mutex<Vec<_>>>::default();
            let copy = Arc::clone(&events);
            let agent = Agent::new(Disobedient(Mutex::new(vec![calls])), tools![echo, other]);
            let agent = if is_set_by_hook {
                agent.model_hook(Chooses(choice.clone()))
            } else {
                agent.options(ChatOptions::default().tool_choice(choice.clone()))
            };
            let agent = agent.on_event(move |event| {
                if let EventKind::Tool(ToolEvent::Finished(execution)) = &event.kind {
                    copy.lock().unwrap().push(execution.call.id.clone());
                }
            });
            let answer = agent.run("Go").await.unwrap();
            let output = results(&answer.transcript[2]);
            assert_complete(&answer.transcript);
            for (result, text) in output.iter().zip(texts) {
                assert_eq!(result.text, text, "{choice:?}");
                let is_denied = result.error.as_deref() == Some("TOOL_DENIED");
                assert_eq!(is_denied, text.starts_with("Not run"), "{choice:?}");
            }
            assert_eq!(events.lock().unwrap().len(), 3, "{choice:?}");
        }
    }
    // From the second request on, a required call is no longer required, and other calls may run.
    let calls = || ChatReply::default().call("other", "{}");
    let model = Disobedient(Mutex::new(vec![calls(), calls()]));
    let options = ChatOptions::default().tool_choice(named());
    let answer = Agent::new(model, tools![echo, other]).options(options).run("Go").await.unwrap();
    let text = |index: usize| results(&answer.transcript[index])[0].text.clone();
    assert_eq!((text(2).as_str(), text(4).as_str()), (only_echo, "Not found"));
}

#[tokio::test]
async fn chosen_tool_can_be_called_by_its_full_name() {
    let registry = Registry::new();
    registry.register_all_from("jira", tools![other]).unwrap();
    for name in ["other", "jira__other"] {
        let model = Disobedient(Mutex::new(vec![ChatReply::default().call(name, "{}")]));
        let options = ChatOptions::default().tool_choice(ToolChoice::Tool("other".into()));
        let agent = Agent::new(model, registry.clone()).options(options);
        let answer = agent.run("Go").await.unwrap();
        assert_eq!(results(&answer.transcript[2])[0].text, "Not found", "{name}");
    }
}

/// Finds nothing.
#[tool(effect = "read")]
async fn other() -> &'static str {
    "Not found"
}

/// Whatever the model is, it receives no request that it can't meet.
#[tokio::test]
async fn required_tool_that_is_not_offered_ends_the_run_before_a_request() {
    let named = |name: &str| ToolChoice::Tool(name.into());
    let no_tool = "`ToolChoice::Required`, but no tool is offered";
    let other_names = "`ToolChoice::Tool(\"nope\")`, but the offered tools are `echo`, `other`";
    for (choice, tools, expected) in [
        (ToolChoice::Required, Tools::new(), no_tool),
        (named("nope"), tools![echo, other], other_names),
    ] {
        for is_set_by_hook in [false, true] {
            let model = Disobedient(Mutex::new(vec![echo_call("one")]));
            let agent = Agent::new(model, tools.clone());
            let agent = if is_set_by_hook {
                agent.model_hook(Chooses(choice.clone()))
            } else {
                agent.options(ChatOptions::default().tool_choice(choice.clone()))
            };
            let stopped = agent.run("Go").await.unwrap_err();
            let StopReason::Model(ModelError::Setup(text)) = &stopped.reason else {
                panic!("{stopped}")
            };
            assert_eq!(*text, format!("unsatisfiable tool choice: {expected}"));
            assert_eq!(stopped.transcript.len(), 1);
        }
    }
}
