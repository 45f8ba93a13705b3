//! Normalization of transcripts from outside into an order that providers accept.

use proptest::prelude::*;
use tool_runtime::__workspace::Step;
use tool_runtime::agent::Turn;
use tool_runtime::{Message, ToolCall, ToolResult};

use super::reply_with_calls;
use support::conversation::assert_complete;

/// Returns results of these calls, each with its id and index as its text.
fn results_of(ids: &[&str]) -> Message {
    let result = |(index, id): (usize, &&str)| {
        ToolResult::success(&ToolCall::new(*id, "t", "{}"), format!("{id}{index}"))
    };
    Message::Tool { results: ids.iter().enumerate().map(result).collect() }
}

/// Outlines a transcript: `user`, `words`, calls as `?id`, results as `id=text`.
fn outline(transcript: &[Message]) -> String {
    let part = |message: &Message| match message {
        Message::Tool { results } => {
            let entry = |result: &ToolResult| match result.error.as_deref() {
                Some(code) => format!("{}={code}", result.call),
                None => format!("{}={}", result.call, result.text),
            };
            results.iter().map(entry).collect::<Vec<_>>().join("+")
        }
        Message::Assistant { .. } if message.calls().count() > 0 => {
            message.calls().map(|call| format!("?{}", call.id)).collect()
        }
        message => message.text(),
    };
    transcript.iter().map(part).collect::<Vec<_>>().join(" ")
}

#[test]
fn transcripts_are_normalized() {
    let user = || Message::user("user");
    for (transcript, expected) in [
        // Calls before the end lack results.
        (vec![user(), reply_with_calls(&["a"]), user()], "user ?a a=TOOL_INDETERMINATE user"),
        // The last results are incomplete.
        (vec![reply_with_calls(&["a", "b"]), results_of(&["a"])], "?a?b a=a0+b=TOOL_INDETERMINATE"),
        (vec![reply_with_calls(&["a"]), results_of(&[])], "?a a=TOOL_INDETERMINATE"),
        // Calls at the end have not run.
        (vec![user(), reply_with_calls(&["a", "b"])], "user ?a?b"),
        // Results have another order and separate messages, one after a user message.
        (
            vec![reply_with_calls(&["a", "b"]), results_of(&["b"]), user(), results_of(&["a"])],
            "?a?b a=a0+b=b0 user",
        ),
        // Results lack a call or are duplicates.
        (
            vec![
                results_of(&["a"]),
                user(),
                reply_with_calls(&["a"]),
                results_of(&["x", "a", "a"]),
            ],
            "user ?a a=a1",
        ),
        // Ids are empty or duplicates.
        (
            vec![reply_with_calls(&["", "a", "a"]), results_of(&["", "a", "a"])],
            "?call_1?a?call_3 call_1=0+a=a1+call_3=a2",
        ),
        (
            vec![
                reply_with_calls(&["a"]),
                results_of(&["a"]),
                reply_with_calls(&["a"]),
                results_of(&["a"]),
                reply_with_calls(&[""]),
            ],
            "?a a=a0 ?call_2 call_2=a0 ?call_3",
        ),
        // Empty replies are dropped, and the messages around them are merged.
        (vec![user(), Message::assistant(""), reply_with_calls(&[]), user()], "user\n\nuser"),
        (vec![user(), results_of(&["x"]), user()], "user\n\nuser"),
        (
            vec![reply_with_calls(&["a"]), user(), results_of(&["a"]), user()],
            "?a a=a0 user\n\nuser",
        ),
        // Adjacent user messages of the input stay separate.
        (vec![user(), user()], "user user"),
    ] {
        let turn = Turn::new(transcript.clone(), 1);
        assert_eq!(outline(turn.transcript()), expected, "{transcript:?}");
    }
}

fn any_message() -> impl Strategy<Value = Message> {
    let ids = || prop::collection::vec(prop_oneof!["", "a", "b", "call_[1-3]"], 0..4);
    let messages = |make: fn(&[&str]) -> Message| {
        ids().prop_map(move |ids| make(&ids.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    prop_oneof![
        1 => Just(Message::system("system")),
        2 => Just(Message::user("user")),
        1 => Just(Message::assistant("words")),
        4 => messages(reply_with_calls),
        4 => messages(results_of),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_conversation_can_continue(
        messages in prop::collection::vec(any_message(), 0..9),
    ) {
        let mut turn = Turn::new(messages.clone(), 1);
        let normalized = turn.transcript().to_vec();
        // Calls at the end of the input stay open.
        if let Step::RunCalls(calls) = turn.next() {
            prop_assert!(messages.last().is_some_and(|last| last.calls().count() == calls.len()));
            let results = calls.iter().map(|call| ToolResult::success(call, "ok")).collect();
            turn.on_results(results).unwrap();
        }
        assert_complete(turn.transcript());
        // Results follow calls and nothing else.
        for (index, message) in normalized.iter().enumerate() {
            if matches!(message, Message::Tool { .. }) {
                prop_assert!(index > 0 && normalized[index - 1].calls().count() > 0);
            }
        }
        // All text but that of results remains, and a second normalization changes nothing.
        let texts = |messages: &[Message]| {
            let is_result = |message: &&Message| matches!(message, Message::Tool { .. });
            let messages = messages.iter().filter(|message| !is_result(message));
            messages.map(Message::text).collect::<String>().replace("\n\n", "")
        };
        prop_assert_eq!(texts(&normalized), texts(&messages));
        let rebuilt = Turn::new(normalized.clone(), 1);
        prop_assert_eq!(rebuilt.transcript(), normalized.as_slice());
    }
}
