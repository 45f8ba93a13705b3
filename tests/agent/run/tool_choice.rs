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
}

/// Replies from the script, and then with an answer for ever; records the choices of the requests.
#[derive(Clone, Default)]
struct Reluctant {
    replies: Arc<Mutex<Vec<ChatReply>>>,
    choices: Arc<Mutex<Vec<ToolChoice>>>,
    answer: &'static str,
}

impl Reluctant {
    fn new<const N: usize>(mut replies: [ChatReply; N]) -> Self {
        replies.reverse();
        let replies = Arc::new(Mutex::new(replies.into()));
        Self { replies, answer: "Done.", ..Self::default() }
    }

    fn choices(&self) -> Vec<ToolChoice> {
        self.choices.lock().unwrap().clone()
    }
}

#[async_trait]
impl ChatModel for Reluctant {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.choices.lock().unwrap().push(request.options.tool_choice.clone());
        let reply = self.replies.lock().unwrap().pop();
        Ok(reply.unwrap_or_else(|| ChatReply::text(self.answer)))
    }
}

const DECIDED: &str = r#"{"thought": "", "type": "final_answer", "answer": "Done."}"#;

#[tokio::test]
async fn required_call_is_requested_until_it_is_made() {
    let named = ToolChoice::Tool("echo".into());
    let react_call =
        r#"{"thought": "", "type": "call_tool", "tool": "echo", "args": {"text": "one"}}"#;
    let text_call = r#"<tool_call>{"name": "echo", "arguments": {"text": "one"}}</tool_call>"#;
    for choice in [ToolChoice::Required, named] {
        let options = ChatOptions::default().tool_choice(choice.clone());
        let agent = |model: &Reluctant| {
            Agent::new(model.clone(), tools![echo, other]).options(options.clone())
        };
        let answer = || ChatReply::text("Done.");
        let native = Reluctant::new([answer(), answer(), echo_call("one")]);
        let text = Reluctant::new([answer(), answer(), ChatReply::text(text_call)]);
        let decided = || ChatReply::text(DECIDED);
        let react = Reluctant::new([decided(), decided(), ChatReply::text(react_call)]);
        let react = Reluctant { answer: DECIDED, ..react };
        for (model, agent) in [
            (&native, agent(&native).driver(Native)),
            (&text, agent(&text).driver(Text::new())),
            (&react, agent(&react).driver(ReAct::new())),
        ] {
            let answer = agent.run("Go").await.unwrap();
            assert_eq!(answer.text, "Done.");
            assert_complete(&answer.transcript);
            let replies = answer.transcript.iter().filter(|it| it.calls().next().is_some());
            assert_eq!(replies.count(), 1, "{choice:?}");
            let feedback = answer.transcript[2].text();
            assert!(feedback.starts_with("This is no answer yet: call"), "{feedback}");
            assert_eq!(model.choices().len(), 4, "{choice:?}");
        }
        // `ReAct` removes the choice from its requests, which have no tools.
        for model in [native, text] {
            let expected = [&choice, &choice, &choice, &ToolChoice::Auto];
            assert_eq!(model.choices().iter().collect::<Vec<_>>(), expected);
        }
    }
}

#[tokio::test]
async fn other_calls_do_not_replace_a_required_tool() {
    let calls = || ChatReply::default().call("other", "{}");
    let model = Reluctant::new([calls(), calls(), echo_call("one"), calls()]);
    let options = ChatOptions::default().tool_choice(ToolChoice::Tool("echo".into()));
    let agent = Agent::new(model, tools![echo, other]).options(options);
    let answer = agent.run("Go").await.unwrap();
    let text = |index: usize| results(&answer.transcript[index])[0].text.clone();
    let only_echo = "Not run: the only tool that can be called now is `echo`.";
    assert_eq!([2, 4, 6, 8].map(text).as_slice(), [only_echo, only_echo, "one", "Not found"]);
    // A tool that does not exist is no tool either.
    let unknown = ChatReply::default().call("nope", "{}");
    let model = Reluctant::new([unknown, ChatReply::text("Done."), echo_call("one")]);
    let options = ChatOptions::default().tool_choice(ToolChoice::Required);
    let agent = Agent::new(model.clone(), tools![echo]).options(options);
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
    let required = model.choices().into_iter().filter(|it| *it == ToolChoice::Required);
    assert_eq!((model.choices().len(), required.count()), (4, 3));
}

#[tokio::test]
async fn model_that_never_makes_the_required_call_reaches_the_iteration_limit() {
    for is_set_by_hook in [false, true] {
        for (answer, is_react) in [("Done.", false), (DECIDED, true)] {
            let model = Reluctant { answer, ..Reluctant::default() };
            let agent = Agent::new(model.clone(), tools![echo]).max_iterations(3);
            let agent = if is_set_by_hook {
                agent.model_hook(Chooses(ToolChoice::Required))
            } else {
                agent.options(ChatOptions::default().tool_choice(ToolChoice::Required))
            };
            let agent = if is_react { agent.driver(ReAct::new()) } else { agent };
            let stopped = agent.run("Go").await.unwrap_err();
            assert!(matches!(stopped.reason, StopReason::IterationLimit(3)), "{stopped}");
            assert_eq!(model.choices().len(), 3);
        }
    }
}

/// Providers accept no empty reply in a request, so the transcript has none.
#[tokio::test]
async fn empty_reply_does_not_end_a_run_that_requires_a_call() {
    for choice in [ToolChoice::Required, ToolChoice::Tool("echo".into())] {
        let empty = || ChatReply::text(" ");
        let options = || ChatOptions::default().tool_choice(choice.clone());
        let model = Reluctant::new([empty(), ChatReply::default(), echo_call("one")]);
        let answer = Agent::new(model, tools![echo]).options(options()).run("Go").await.unwrap();
        assert_complete(&answer.transcript);
        assert_eq!(answer.text, "Done.");
        let prompt = answer.transcript[0].text();
        assert_eq!(prompt.matches("This is no answer yet: call").count(), 2, "{prompt}");
        assert_eq!(answer.transcript.len(), 4);
        // After the call, and without a demand, an empty reply ends the run.
        let model = Reluctant::new([echo_call("one"), empty()]);
        let agent = Agent::new(model, tools![echo]).options(options());
        let stopped = agent.run("Go").await.unwrap_err();
        assert!(matches!(stopped.reason, StopReason::EmptyReply), "{stopped}");
        // The limits apply.
        let model = Reluctant { answer: "", ..Reluctant::default() };
        let agent = Agent::new(model.clone(), tools![echo]).options(options()).max_iterations(3);
        let stopped = agent.run("Go").await.unwrap_err();
        assert!(matches!(stopped.reason, StopReason::IterationLimit(3)), "{stopped}");
        assert_eq!(model.choices().len(), 3);
    }
}

/// The demand is a part of the saved run.
#[tokio::test]
async fn required_call_is_still_required_after_saving() {
    for (replies, remaining) in [(1, ToolChoice::Required), (2, ToolChoice::Auto)] {
        let model = Reluctant::new([ChatReply::text("Done."), echo_call("one")]);
        let options = ChatOptions::default().tool_choice(ToolChoice::Required);
        let agent = Agent::new(model.clone(), tools![echo]).options(options);
        let mut run = agent.start("Go");
        while model.choices().len() < replies {
            run.next().await.unwrap();
        }
        let saved = serde_json::to_string(&run.state()).unwrap();
        let state: RunState = serde_json::from_str(&saved).unwrap();
        agent.resume(state).finish().await.unwrap();
        assert_eq!(model.choices()[replies], remaining, "{replies}");
    }
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
