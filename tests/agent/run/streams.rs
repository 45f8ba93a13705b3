//! Runs that are streamed.

use tool_runtime::{AssistantPart, Reasoning};

use super::*;
use support::run_events::ONE_CALL_RUN;

/// Collects a stream: the texts of the replies, the calls, and the names of the events.
async fn collect_stream(
    agent: &Agent,
) -> (Vec<String>, Vec<String>, Vec<String>, Result<Answer, Stopped>) {
    let mut stream = agent.stream("Go");
    let (mut texts, mut calls, mut events) = (vec![String::new()], Vec::new(), Vec::new());
    let mut open: BTreeMap<usize, String> = BTreeMap::new();
    while let Some(piece) = stream.next().await {
        match piece {
            StreamItem::Text(text) => texts.last_mut().unwrap().push_str(&text),
            StreamItem::Call { index: place, name, .. } => {
                _ = open.insert(place, format!("{name} "))
            }
            StreamItem::Arguments { index: place, text } => {
                open.get_mut(&place).unwrap().push_str(&text)
            }
            StreamItem::Event(event) => {
                if let EventKind::Model(ModelEvent::Replied { .. }) = event.kind {
                    calls.extend(std::mem::take(&mut open).into_values());
                    texts.push(String::new());
                }
                events.push(event.name().to_owned());
            }
            _ => {}
        }
    }
    texts.pop();
    (texts, calls, events, stream.finish().await)
}

#[tokio::test]
async fn run_streams_text_calls_and_events() {
    for bytes in [1, 3, 100] {
        let reply = ChatReply::text("One mömént.").call("echo", r#"{"text": "hi"}"#);
        let model = Slow::new([reply, ChatReply::text("Done.")], bytes);
        let (texts, calls, events, ended) = collect_stream(&Agent::new(model, tools![echo])).await;
        assert_eq!(texts, ["One mömént.", "Done."]);
        assert_eq!(calls, [r#"echo {"text": "hi"}"#]);
        assert_eq!(events, ONE_CALL_RUN);
        assert_eq!(ended.unwrap().text, "Done.");
    }
}

#[tokio::test]
async fn scripted_model_streams_words_of_each_kind() {
    let mut reply = ChatReply::text("One moment.")
        .call("echo", r#"{"text": "hi you"}"#)
        .call("echo", r#"{"b":1,"text":"a"}"#);
    let reasoning = Reasoning::new("anthropic", "Let me see.", json!({}));
    reply.parts.insert(0, AssistantPart::Reasoning(reasoning));
    let collect = async |model: ScriptedModel| {
        let mut pieces = Vec::new();
        let mut push = |delta: Delta<'_>| pieces.push(StreamItem::from(delta));
        let messages = [Message::user("Go")];
        let streamed = model.stream(ChatRequest::new(&messages), &mut push).await.unwrap();
        (pieces, streamed)
    };
    let [reasoning, text] = [StreamItem::Reasoning, StreamItem::Text];
    let call = |index| StreamItem::Call { index, id: "".into(), name: "echo".into() };
    let arguments = |index, text: &str| StreamItem::Arguments { index, text: text.into() };

    let (pieces, streamed) = collect(ScriptedModel::new([reply.clone()]).stream_words()).await;
    assert_eq!(streamed, reply);
    let expected = [
        reasoning("Let ".into()),
        reasoning("me ".into()),
        reasoning("see.".into()),
        text("One ".into()),
        text("moment.".into()),
        call(0),
        arguments(0, r#"{"text":"#),
        arguments(0, " "),
        arguments(0, r#""hi "#),
        arguments(0, r#"you"}"#),
        call(1),
        arguments(1, r#"{"b":"#),
        arguments(1, "1,"),
        arguments(1, r#""text":"#),
        arguments(1, r#""a"}"#),
    ];
    assert_eq!(pieces, expected);

    let (pieces, streamed) = collect(ScriptedModel::new([reply.clone()])).await;
    assert_eq!((pieces.len(), streamed), (6, reply));
}

#[tokio::test]
async fn scripted_model_streams_one_word_at_a_time() {
    let model = ScriptedModel::new([ChatReply::text("One two three.")]).stream_words();
    let model = Arc::new(model);
    let replies = Recorder::new(100);
    let agent = Agent::new(Arc::clone(&model), Tools::new()).observer(replies.clone());
    let mut stream = agent.stream("Go");
    while stream.next().await != Some(StreamItem::Text("One ".into())) {}
    let is_reply =
        |event: &Event| matches!(event.kind, EventKind::Model(ModelEvent::Replied { .. }));
    assert!(!replies.events().iter().any(is_reply));
    assert_eq!(stream.finish().await.unwrap().text, "One two three.");
    assert!(replies.events().iter().any(is_reply));
}

/// A shopping list.
#[args]
#[derive(Debug, PartialEq)]
struct List {
    /// What to buy.
    items: Vec<String>,
}

#[tokio::test]
async fn extraction_streams_the_text_of_the_value() {
    let reply = ChatReply::default().call("echo", r#"{"text": "hi"}"#);
    let input = r#"{"items": ["tea", "milk"]}"#;
    let replies = [reply, ChatReply::text("Done."), ChatReply::text("Tea"), ChatReply::text(input)];
    let agent = Agent::new(Slow::new(replies, 3), tools![echo]);
    let mut stream = agent.start("Go").extract_stream::<List>();
    let (mut text, mut message) = (String::new(), Vec::new());
    while let Some(piece) = stream.next().await {
        match piece {
            StreamItem::Text(more) => text.push_str(&more),
            StreamItem::Event(Event {
                kind: EventKind::Model(ModelEvent::Replied { .. }), ..
            }) => {
                message.push(std::mem::take(&mut text));
            }
            _ => {}
        }
    }
    assert_eq!(message, ["", "Done.", "Tea", input]);
    assert_eq!(stream.finish().await.unwrap().value.items, ["tea", "milk"]);

    let agent = Agent::new(Slow::new([ChatReply::text("Tea")], 3), Tools::new());
    let stopped = agent.max_answer_attempts(1).start("Go").extract_stream::<List>().finish().await;
    assert_eq!(stopped.unwrap_err().reason.code(), "EXTRACTION_FAILED");
}

#[tokio::test]
async fn text_that_repeats_arguments_is_dropped() {
    for (text, is_streamed) in [
        (r#"{"text": "hi"}"#, false),
        ("```json\n{ \"text\" : \"hi\" }\n```", false),
        (r#"[{"text": "hi"}]"#, false),
        (r#"{"text": "hi"} {"text": "hi"}"#, false),
        (r#"{"text": "ho"}"#, true),
        (r#"I say {"text": "hi"}"#, true),
        ("`echo`", true),
        ("{}", true),
        // The same text, truncated.
        (r#"{"text": "h"#, false),
    ] {
        for driver in [true, false] {
            let is_whole = text != r#"{"text": "h"#;
            let arguments = if is_whole { r#"{"text":"hi"}"# } else { text };
            let leak = || ChatReply::text(text).call("echo", arguments);
            let model = Slow::new([leak(), ChatReply::text("Done.")], 2);
            let agent = Agent::new(model, tools![echo]);
            let agent = if driver { agent.driver(Native) } else { agent.driver(Text::new()) };
            let (texts, _, _, ended) = collect_stream(&agent).await;
            let output = if is_streamed { text } else { "" };
            // The fallback holds back text that may become a call, and streams it at the end.
            assert_eq!(texts[0].trim(), output, "{text}");
            assert_eq!(ended.unwrap().transcript[1].text().trim(), output, "{text}");
        }
    }
}

#[tokio::test]
async fn text_call_is_run_and_its_markup_is_not_streamed() {
    let message = "I look.\n<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"hi\"}}\n</tool_call>";
    for bytes in [1, 5, 200] {
        let model = Slow::new([ChatReply::text(message), ChatReply::text("Done.")], bytes);
        let agent = Agent::new(model, tools![echo]).driver(Text::new());
        let (texts, calls, _, ended) = collect_stream(&agent).await;
        assert_eq!(texts, ["I look.", "Done."]);
        assert_eq!(calls, [r#"echo {"text": "hi"}"#]);
        let answer = ended.unwrap();
        assert_eq!(results(&answer.transcript[2])[0].text, "hi");
        assert_complete(&answer.transcript);
    }
    // Not if the reply has a native call, nor under the driver that parses no text.
    let two_parts = ChatReply::text(message).call("echo", r#"{"text": "ho"}"#);
    let agent = Agent::new(script([two_parts, ChatReply::text("Done.")]), tools![echo]);
    let answer = agent.driver(Text::new()).run("Go").await.unwrap();
    assert_eq!(
        (calls(&answer.transcript).len(), answer.transcript[1].text()),
        (1, message.to_owned())
    );
    let agent = Agent::new(script([ChatReply::text(message)]), tools![echo]);
    assert_eq!(agent.run("Go").await.unwrap().text, message);
}

#[tokio::test]
async fn text_call_is_streamed_as_soon_as_it_is_complete() {
    let call = |text| {
        format!(
            "<tool_call>{{\"name\": \"echo\", \"arguments\": {{\"text\": \"{text}\"}}}}</tool_call>"
        )
    };
    let message = format!("First.\n{}\nThen.\n{}\nThat is all.", call("a"), call("b"));
    let model = Slow::new([ChatReply::text(message), ChatReply::text("Done.")], 5);
    let agent = Agent::new(model, tools![echo]).driver(Text::new());
    let mut stream = agent.stream("Go");
    let mut output = String::new();
    while let Some(piece) = stream.next().await {
        match piece {
            StreamItem::Text(text) => output.push_str(&text),
            StreamItem::Call { index: place, name, .. } => {
                output.push_str(&format!("[{place} {name} "))
            }
            StreamItem::Arguments { text, .. } => output.push_str(&format!("{text}]")),
            StreamItem::Event(event)
                if matches!(event.kind, EventKind::Model(ModelEvent::Replied { .. })) =>
            {
                break;
            }
            _ => {}
        }
    }
    let at = |part| output.find(part).unwrap_or_else(|| panic!("{part} was not told: {output}"));
    let [first, next] = [r#"[0 echo {"text": "a"}]"#, r#"[1 echo {"text": "b"}]"#].map(at);
    // The text that follows shows that it was a call.
    assert!(at("First.") < first && first < next && next < at("all."), "{output}");
}

#[tokio::test]
async fn dropped_stream_cancels_its_run() {
    let agent = Agent::new(script([echo_call("a"), ChatReply::text("Done.")]), tools![echo]);
    let mut stream = agent.stream("Go");
    assert!(matches!(stream.next().await, Some(StreamItem::Event(_))));
    drop(stream);
    let answer = Agent::new(script([echo_call("a"), ChatReply::text("Done.")]), tools![echo]);
    let answer = answer.stream("Go").finish().await.unwrap();
    assert_eq!(answer.text, "Done.");
}

#[tokio::test]
async fn call_in_text_is_refused_if_the_choice_allows_none() {
    let message = r#"<tool_call>{"name": "echo", "arguments": {"text": "a"}}</tool_call>"#;
    let model = script([ChatReply::text(message), ChatReply::text("Then not.")]);
    let agent = Agent::new(model, tools![echo])
        .driver(Text::new())
        .options(ChatOptions::default().tool_choice(ToolChoice::None));
    assert_eq!(agent.run("Go").await.unwrap().text, "Then not.");
}

#[tokio::test]
async fn reasoning_is_part_of_the_reply_event() {
    let thought = Arc::<Mutex<Vec<Option<String>>>>::default();
    let copy = Arc::clone(&thought);
    let model = script([
        ChatReply::text("<think>Say it.</think>One moment.").call("echo", r#"{"text": "hi"}"#),
        ChatReply::text("<think>They said hi.</think>Done."),
        ChatReply::text("Bye."),
    ]);
    let agent = Agent::new(model, tools![echo]).driver(Text::new()).on_event(move |event| {
        if let EventKind::Model(ModelEvent::Replied { reasoning, .. }) = &event.kind {
            copy.lock().unwrap().push(reasoning.clone());
        }
    });
    let answer = agent.run("Go").await.unwrap();
    agent.run(answer.then("Bye.")).await.unwrap();
    let output = thought.lock().unwrap().clone();
    assert_eq!(output[1..], [Some("They said hi.".to_owned()), None]);
}

#[tokio::test]
async fn driver_can_be_shared_and_boxed() {
    let message = r#"<tool_call>{"name": "echo", "arguments": {"text": "hi"}}</tool_call>"#;
    let shared: Arc<dyn Driver> = Arc::new(Text::new());
    let boxed: Box<dyn Driver> = Box::new(Arc::clone(&shared));
    let agent =
        || Agent::new(script([ChatReply::text(message), ChatReply::text("Hi.")]), tools![echo]);
    for agent in
        [agent().driver(Arc::clone(&shared)), agent().driver(shared), agent().driver(boxed)]
    {
        assert_eq!(calls(&agent.run("Go").await.unwrap().transcript).len(), 1);
    }
    // All of its methods are forwarded.
    let last =
        || script([ChatReply::text(r#"{"thought": "", "type": "final_answer", "answer": "Hm"}"#)]);
    let model = script([ChatReply::text("What?"), ChatReply::text("Hm."), ChatReply::text("So?")]);
    let driver: Arc<dyn Driver> = Arc::new(ReAct::new());
    let misread = Agent::new(model, tools![echo]).driver(Arc::clone(&driver)).run("Go").await;
    assert_eq!(misread.unwrap_err().reason.code(), "UNPARSABLE_REPLY");
    let driver: Arc<dyn Driver> =
        Arc::new(ReAct::new().answer_by(script([ChatReply::text("Well.")])));
    let answer = Agent::new(last(), tools![echo]).driver(driver).run("Go").await.unwrap();
    assert_eq!(answer.text, "Well.");
}

/// Streams everything at once, then takes long to return.
struct Burst(usize);

#[async_trait]
impl ChatModel for Burst {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(ChatReply::text("x".repeat(self.0)))
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut tool_runtime::models::DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        (0..self.0).for_each(|_| deltas(Delta::Text("x")));
        tokio::time::sleep(Duration::from_secs(self.0 as u64 % 2)).await;
        self.reply(request).await
    }
}

/// tokio makes a busy task yield by reporting its channels as empty.
#[tokio::test(start_paused = true)]
async fn no_item_is_lost_in_a_large_burst() {
    for pieces in [0, 1, 127, 128, 129, 1_000, 1_001] {
        let agent = Agent::new(Burst(pieces), Tools::new()).max_iterations(1);
        for _ in 0..3 {
            let (texts, _, events, answer) = collect_stream(&agent).await;
            assert_eq!(texts.concat().len(), pieces);
            if pieces > 0 {
                assert_eq!(answer.unwrap().text.len(), pieces);
            }
            assert_eq!(events.last().map(String::as_str), Some("run.finished"));
        }
    }
}

#[tokio::test]
async fn runs_and_streams_are_owned_and_send() {
    fn is_owned<T: Send + 'static>(value: T) -> T {
        value
    }
    let agent = || Agent::new(script([ChatReply::text("Hi!")]), Tools::new());
    let session = || agent().session(MemorySessions::new(), "ada");
    is_owned(agent().start("Hello"));
    drop(is_owned(agent().start("Hello").finish()));
    drop(is_owned(agent().start("Hello").extract::<u8>()));
    is_owned(agent().start("Hello").extract_stream::<u8>());
    is_owned(session().start("Hello").await.unwrap());
    is_owned(session().stream("Hello").await.unwrap());
    // Polled after its agent was dropped, on another task.
    let stream = is_owned(agent().stream("Hello"));
    assert_eq!(tokio::spawn(stream.finish()).await.unwrap().unwrap().text, "Hi!");
}
