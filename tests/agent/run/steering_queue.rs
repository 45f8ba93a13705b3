//! Which messages of a steering handle reach which run, and how many of them wait.

use tool_runtime::RunContext;
use tool_runtime::event::{MessageSource, RunId};

use super::*;

/// Returns the texts of all messages that runs received, without marks.
fn delivered(recorder: &Recorder) -> Vec<String> {
    let text = |event: &Event| match &event.kind {
        EventKind::Run(RunEvent::MessageAdded { source, text, .. }) => {
            let is_steering = matches!(source, MessageSource::Steering | MessageSource::Untrusted);
            is_steering.then(|| text.clone())
        }
        _ => None,
    };
    recorder.events().iter().filter_map(text).collect()
}

/// Answers each request.
struct Answers;

#[async_trait]
impl ChatModel for Answers {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(ChatReply::text("Done."))
    }
}

fn steered(steering: &Steering) -> (Agent, Recorder) {
    let recorder = Recorder::new(10_000);
    (Agent::new(Answers, tools![notify]).steering(steering).observer(recorder.clone()), recorder)
}

/// Counts requests, and notifies the agent before and after each of them.
struct Notifies(Steering, Arc<AtomicUsize>);

#[async_trait]
impl ModelHook for Notifies {
    async fn before_request(
        &self,
        _: &mut PreparedRequest<'_>,
        _: &RunContext<'_>,
    ) -> ControlFlow<String> {
        self.0.push_untrusted("a server", "before");
        self.1.fetch_add(1, Ordering::SeqCst);
        ControlFlow::Continue(())
    }

    async fn after_reply(&self, _: &mut ChatReply, _: &RunContext<'_>) -> ControlFlow<String> {
        self.0.push_untrusted("a server", "after");
        ControlFlow::Continue(())
    }
}

#[tokio::test]
async fn notification_after_each_reply_does_not_continue_the_run() {
    let (steering, requests) = (Steering::new(), Arc::<AtomicUsize>::default());
    let (agent, recorder) = steered(&steering);
    let agent = agent.model_hook(Notifies(steering.clone(), Arc::clone(&requests)));
    let store = MemorySessions::new();
    for run in 1..=3 {
        agent.session(store.clone(), "s").run("Go").await.unwrap();
        assert_eq!(requests.load(Ordering::SeqCst), run);
    }
    assert_eq!(delivered(&recorder), ["before", "after", "before", "after"], "by the next runs");
}

#[tokio::test]
async fn messages_without_end_do_not_keep_a_run_from_its_request() {
    let steering = Steering::new();
    let copy = steering.clone();
    steering.push_untrusted("a server", "first");
    let agent = Agent::new(Answers, Tools::new()).steering(&steering).on_event(move |event| {
        if matches!(event.kind, EventKind::Run(RunEvent::MessageAdded { .. })) {
            copy.push_untrusted("a server", "more");
        }
    });
    let mut run = agent.start("Go");
    let mut steps = 0;
    while run.next().await.is_some() {
        steps += 1;
        assert!(steps < 5, "the model is not asked");
    }
    assert_eq!(run.finish().await.unwrap().text, "Done.");
}

/// Notifies its run.
#[tool(effect = "none")]
async fn notify(ctx: &ToolContext) -> Option<()> {
    ctx.get::<Steering>()?.push_untrusted("a tool", "notified");
    Some(())
}

#[tokio::test]
async fn message_reaches_the_run_or_session_that_it_is_addressed_to() {
    let steering = Steering::new();
    let (agent, recorder) = steered(&steering);
    let store = MemorySessions::new();
    let run = agent.start("Go");
    steering.for_run(run.id()).push("to the run").unwrap();
    steering.for_run(RunId::random()).push("to another run").unwrap();
    steering.for_session("ada").push("to ada").unwrap();
    steering.for_session("ada").push_untrusted("a server", "news for ada");
    agent.run("Go").await.unwrap();
    agent.session(store.clone(), "bob").run("Go").await.unwrap();
    assert_eq!(delivered(&recorder), Vec::<String>::new());
    run.finish().await.unwrap();
    steering.push("to any").unwrap();
    agent.session(store.clone(), "ada").run("Go").await.unwrap();
    assert_eq!(delivered(&recorder), ["to the run", "to ada", "news for ada", "to any"]);
}

#[tokio::test]
async fn tool_notifies_its_own_session_alone() {
    let steering = Steering::new();
    let calls = || ChatReply::default().call("notify", "{}");
    let model = script([calls(), ChatReply::text("Done.")]);
    let store = MemorySessions::new();
    let agent = Agent::new(model, tools![notify]).steering(&steering);
    let mut run = agent.session(store.clone(), "ada").start("Go").await.unwrap();
    run.next().await;
    run.next().await;
    assert_eq!((steering.len(), steering.for_session("ada").len()), (0, 1));
    run.finish().await.unwrap();
    assert!(steering.for_session("ada").is_empty());
}

#[tokio::test]
async fn full_queue_drops_the_oldest_notifications_and_reports_their_number() {
    let steering = Steering::bounded(3, 100);
    steering.push("one").unwrap();
    for n in 0..4 {
        steering.push_untrusted("a server", &n.to_string());
    }
    steering.push("two").unwrap();
    steering.push_untrusted("a server", &"x".repeat(100));
    assert_eq!((steering.len(), steering.dropped_count()), (3, 4));
    steering.push("three").unwrap();
    let full = steering.push("four").unwrap_err();
    assert_eq!((full.max_messages, full.max_bytes), (3, 100));
    steering.push_untrusted("a server", "late");
    let (agent, recorder) = steered(&steering);
    let answer = agent.run("Go").await.unwrap();
    let note = "6 messages were dropped: too many were waiting.";
    assert_eq!(delivered(&recorder), [note, "one", "two", "three"]);
    let text = answer.transcript[0].text();
    assert!(text.contains(&format!("<untrusted source=\"the message queue\">\n{note}")), "{text}");
}

#[test]
fn number_of_waiting_sessions_is_bounded() {
    let steering = Steering::new();
    for n in 0..1_000 {
        steering.for_session(n.to_string()).push_untrusted("a server", "news");
    }
    steering.for_session("0").push("Wait!").unwrap();
    steering.for_session("more").push("Wait!").unwrap();
    let waiting = |session: &str| steering.for_session(session).len();
    assert_eq!((waiting("0"), waiting("1"), waiting("2"), waiting("more")), (2, 0, 1, 1));
    for n in 0..1_000 {
        let _ = steering.for_session(n.to_string()).push("Wait!");
    }
    assert!(steering.for_session("another").push("Wait!").is_err());
}

/// Gives its own run a message of the user, and stops it.
#[tool(effect = "write")]
async fn remind(ctx: &ToolContext) -> String {
    ctx.record(EffectRecord::stop("enough"));
    let pushed = ctx.get::<Steering>().unwrap().push("Do not forget.");
    pushed.map_or_else(|full| full.to_string(), |()| "ok".into())
}

/// Calls a tool in each reply.
struct Reminds;

#[async_trait]
impl ChatModel for Reminds {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(ChatReply::default().call("remind", "{}"))
    }
}

#[tokio::test]
async fn messages_for_runs_that_are_over_leave_room_for_others() {
    let steering = Steering::new();
    let (answers, recorder) = steered(&steering);
    let run = answers.start("Go");
    steering.for_run(run.id()).push("in progress").unwrap();
    let stopped_run = RunId::random();
    steering.for_run(stopped_run).push("never started").unwrap();
    // Each leaves a message behind when it is stopped.
    let reminds = Agent::new(Reminds, tools![remind]).steering(&steering);
    for n in 0..1_100 {
        let mut stopped = reminds.start("Go");
        while stopped.next().await.is_some() {}
        if n % 2 == 0 {
            stopped.finish().await.unwrap_err();
        }
    }
    steering.push("to any").unwrap();
    steering.for_session("ada").push("to ada").unwrap();
    assert!(steering.for_run(stopped_run).is_empty());
    run.finish().await.unwrap();
    answers.session(MemorySessions::new(), "ada").run("Go").await.unwrap();
    assert_eq!(delivered(&recorder), ["in progress", "to any", "to ada"]);
}

/// A message of a thread: whether it is the user's, and its number of bytes.
type Push = (bool, usize);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pushes_from_threads_are_delivered_in_order_or_counted(
        threads in vec(vec((any::<bool>(), 2..40_usize), 0..30), 1..4),
        max_messages in 0..20_usize,
        max_bytes in 0..400_usize,
    ) {
        let steering = Steering::bounded(max_messages, max_bytes);
        let (agent, recorder) = steered(&steering);
        // Returns the texts of the user that were accepted.
        let push_all = |thread: usize, pushes: &[Push]| -> Vec<String> {
            let text = |n: usize, bytes: usize| format!("{thread}:{n:03}:{}", "x".repeat(bytes));
            let mut accepted = Vec::new();
            for (n, (is_trusted, bytes)) in pushes.iter().enumerate() {
                if !is_trusted {
                    steering.push_untrusted("s", &text(n, *bytes));
                } else if steering.push(text(n, *bytes)).is_ok() {
                    accepted.push(text(n, *bytes));
                }
                assert!(steering.len() <= max_messages);
            }
            accepted
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let accepted: Vec<_> = std::thread::scope(|scope| {
            let spawn = |(n, pushes): (usize, &Vec<Push>)| {
                let (pushes, push_all) = (pushes.clone(), &push_all);
                scope.spawn(move || push_all(n, &pushes))
            };
            let handles: Vec<_> = threads.iter().enumerate().map(spawn).collect();
            // Runs take messages meanwhile.
            runtime.block_on(async { agent.run("Go").await.unwrap() });
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        let dropped_later = steering.dropped_count();
        let is_waiting = !steering.is_empty();
        runtime.block_on(async { agent.run("Go").await.unwrap() });
        let all = delivered(&recorder);
        let is_note = |text: &&String| text.ends_with("too many were waiting.");
        let dropped: u64 = all.iter().filter(is_note)
            .map(|note| note.split(' ').next().unwrap().parse::<u64>().unwrap()).sum();
        let dropped = dropped + if is_waiting { 0 } else { dropped_later };
        let texts: Vec<_> = all.iter().filter(|text| !is_note(text)).collect();
        for (thread, accepted) in accepted.iter().enumerate() {
            let prefix = format!("{thread}:");
            let of_thread: Vec<_> = texts.iter().filter(|text| text.starts_with(&prefix)).collect();
            assert!(of_thread.is_sorted(), "in the order in which they were pushed");
            assert!(accepted.iter().all(|text| of_thread.iter().filter(|it| ****it == *text).count() == 1));
        }
        let untrusted = threads.iter().flatten().filter(|push| !push.0).count();
        let trusted: usize = accepted.iter().map(Vec::len).sum();
        let pushed = u64::try_from(untrusted + trusted).unwrap();
        assert_eq!(u64::try_from(texts.len()).unwrap() + dropped, pushed);
    }
}
