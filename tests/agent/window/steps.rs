//! Windows of a growing conversation, step by step.

use tool_runtime::__workspace::WindowState;
use tool_runtime::agent::window::Window;
use tool_runtime::{AssistantPart, ChatRequest, Message, Reasoning, ToolCall, ToolResult};

use super::{call_and_result, long, outline};

#[test]
fn tool_calls_of_earlier_runs_are_dropped() {
    let call = |id: &str| ToolCall::new(id, "t", "{}");
    let reasoning = || AssistantPart::Reasoning(Reasoning::new("x", "Hm", "sealed".into()));
    let text = |text: &str| AssistantPart::Text { text: text.into() };
    let result = |id: &str| Message::Tool { results: vec![ToolResult::success(&call(id), "done")] };
    let run = |id: &str| {
        vec![
            Message::user(format!("question-{id}")),
            Message::Assistant {
                id: None,
                parts: vec![
                    reasoning(),
                    text(&format!("first-{id}")),
                    AssistantPart::Call(call(id)),
                ],
            },
            result(id),
            Message::Assistant {
                id: None,
                parts: vec![AssistantPart::Call(call(&format!("{id}2")))],
            },
            result(&format!("{id}2")),
            Message::Assistant {
                id: None,
                parts: vec![reasoning(), text(&format!("answer-{id}"))],
            },
        ]
    };
    let messages = [vec![Message::system("orders")], run("a"), run("b")].concat();
    let window = Window::new().drop_earlier_tool_calls();
    let plan = window.plan(&messages, 7, &WindowState::default());
    assert_eq!(
        outline(&plan.messages),
        "orders question-a first-a answer-a question-b first-b!b =b !b2 =b2 answer-b"
    );
    // Reasoning is dropped together with its call. Reasoning before an answer stays.
    let reasoning_parts = |message: &Message| match message {
        Message::Assistant { parts, .. } => {
            parts.iter().filter(|part| matches!(part, AssistantPart::Reasoning(_))).count()
        }
        _ => 0,
    };
    let counts: Vec<_> = plan.messages.iter().map(reasoning_parts).collect();
    assert_eq!(counts, [0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
    // During the run, everything is sent.
    assert_eq!(*window.plan(&messages[..7], 1, &WindowState::default()).messages, messages[..7]);
}

#[test]
fn exchanges_are_evicted_before_replies_of_the_run() {
    let window = Window::new().max_tokens(410);
    let mut messages = vec![Message::system("orders")];
    for number in 0..3 {
        messages.push(long(Message::user, &format!("q{number}"), 40));
        messages.push(long(Message::assistant, &format!("a{number}"), 40));
    }
    let mut state = WindowState::default();
    let mut window_of = |messages: &[Message], run: usize| {
        let plan = window.plan(messages, run, &state);
        state = plan.state;
        outline(&plan.messages)
    };
    let run = messages.len();
    messages.push(Message::user("go"));
    assert_eq!(window_of(&messages, run), "orders q0 a0 q1 a1 q2 a2 go");

    // The earlier exchanges are evicted to reach half of the limit.
    messages.extend(call_and_result("c1", 120));
    assert_eq!(window_of(&messages, run), "orders go !c1 =c1");
    // No reply of the run is evicted yet, although more than half of the limit is used.
    messages.extend(call_and_result("c2", 120));
    assert_eq!(window_of(&messages, run), "orders go !c1 =c1 !c2 =c2");
    messages.extend(call_and_result("c3", 120));
    assert_eq!(window_of(&messages, run), "orders go !c1 =c1 !c2 =c2 !c3 =c3");
    messages.push(Message::user("hurry"));
    messages.extend(call_and_result("c4", 120));
    assert_eq!(window_of(&messages, run), "orders go [To hurry !c4 =c4");
    messages.extend(call_and_result("c5", 120));
    assert_eq!(window_of(&messages, run), "orders go [To hurry !c4 =c4 !c5 =c5");
    // The newest reply stays, whatever its length.
    messages.extend(call_and_result("c6", 1_000));
    assert_eq!(window_of(&messages, run), "orders go [To hurry !c6 =c6");
    messages.push(Message::assistant("done"));
    assert_eq!(window_of(&messages, run), "orders go [To hurry done");

    // After the run, its messages are one exchange, which is short without its calls.
    let next = messages.len();
    messages.push(Message::user("thanks"));
    assert_eq!(window_of(&messages, next), "orders thanks");
}

#[test]
fn finished_run_returns_without_its_calls() {
    let window = Window::new().max_tokens(300).drop_earlier_tool_calls();
    let mut messages = vec![Message::user("go")];
    messages.extend(call_and_result("c1", 200));
    messages.extend(call_and_result("c2", 200));
    let plan = window.plan(&messages, 0, &WindowState::default());
    assert_eq!(outline(&plan.messages), "go [To !c2 =c2");
    let state = plan.state;
    messages.extend([Message::assistant("done"), Message::user("thanks")]);
    let plan = window.plan(&messages, 6, &state);
    assert_eq!(outline(&plan.messages), "go done thanks");
}

#[test]
fn requests_mostly_extend_the_previous_request() {
    let window = Window::new().max_tokens(2_000);
    let mut messages = vec![Message::system("orders"), Message::user("go")];
    let (mut state, mut previous, mut extending) = (WindowState::default(), Vec::new(), 0);
    for number in 0..200 {
        messages.extend(call_and_result(&format!("c{number}"), 90));
        let plan = window.plan(&messages, 1, &state);
        state = plan.state;
        // The provider can reuse its cache of the last request.
        extending += usize::from(plan.messages.starts_with(&previous));
        previous = plan.messages.into_owned();
    }
    // About ten replies are evicted at a time, of a hundred tokens each.
    assert!(
        (175..=185).contains(&extending),
        "{extending} of 200 requests extend the previous one"
    );
}

#[test]
fn reported_usage_calibrates_the_estimate() {
    let window = Window::new().max_tokens(1_000);
    let mut messages = Vec::new();
    for number in 0..8 {
        messages.push(long(Message::user, &format!("q{number}"), 50));
        messages.push(long(Message::assistant, &format!("a{number}"), 50));
    }
    let run = messages.len();
    messages.push(Message::user("go"));
    let estimated = window.estimate(&ChatRequest::new(&messages));
    assert_eq!(estimated, 885);
    let exchanges = |reported: u64| {
        let mut state = WindowState::default();
        state.calibrate(estimated, reported);
        let serialized = serde_json::to_string(&state).unwrap();
        let state = serde_json::from_str(&serialized).unwrap();
        window.plan(&messages, run, &state).messages.len() / 2
    };
    assert_eq!(exchanges(estimated), 8);
    // If each token counts twice, half as many fit. Eviction then keeps half of those.
    assert_eq!(exchanges(estimated * 2), 2);
    // The ratio is limited to four.
    assert_eq!(exchanges(estimated * 100), exchanges(estimated * 4));
    assert_eq!(exchanges(0), 8);
}

#[test]
fn state_of_another_conversation_is_adapted() {
    let window = Window::new().max_tokens(100);
    let mut long_one: Vec<_> = (0..9).map(|n| long(Message::user, &format!("q{n}"), 40)).collect();
    let state = window.plan(&long_one, 8, &WindowState::default()).state;
    assert_ne!(state, WindowState::default());
    // The program removed most of the conversation.
    long_one.truncate(2);
    assert_eq!(*window.plan(&long_one, 1, &state).messages, long_one);

    // A forged state evicts replies from before its run.
    let state = serde_json::json!({ "evicted_replies": { "run_start": 3, "end": 1 } });
    let state = serde_json::from_value(state).unwrap();
    let [before, now] = ["a", "b"].map(|id| call_and_result(id, 40));
    let user = |text: &str| vec![Message::user(text)];
    let messages = [user("one"), before.to_vec(), user("two"), now.to_vec()].concat();
    let plan = Window::new().plan(&messages, 3, &state);
    assert_eq!(outline(&plan.messages), "one !a =a two !b =b");
    let plan = Window::new().max_tokens(0).plan(&messages, 3, &state);
    assert_eq!(outline(&plan.messages), "two !b =b");
}

#[test]
fn single_long_reply_is_not_cut() {
    let messages = [vec![Message::user("go")], call_and_result("a", 500).to_vec()].concat();
    let plan = Window::new().max_tokens(100).plan(&messages, 0, &WindowState::default());
    assert_eq!((&*plan.messages, plan.state), (&*messages, WindowState::default()));
}
