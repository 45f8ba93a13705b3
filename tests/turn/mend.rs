//! A conversation from outside is one that a provider takes once a turn has it.

use proptest::prelude::*;
use tool_runtime::agent::{Step, Turn};
use tool_runtime::{Message, ToolCall, ToolResult};

use super::said;
use crate::conversation::assert_complete;

/// Results of these calls, each with its id and place in its text.
fn told(ids: &[&str]) -> Message {
    let result = |(place, id): (usize, &&str)| {
        ToolResult::success(&ToolCall::new(*id, "t", "{}"), format!("{id}{place}"))
    };
    Message::Tool { results: ids.iter().enumerate().map(result).collect() }
}

/// The conversation in short: `user`, `words`, calls as `?id`, results as `id=text`.
fn short(transcript: &[Message]) -> String {
    let part = |message: &Message| match message {
        Message::Tool { results } => {
            let one = |result: &ToolResult| match result.error.as_deref() {
                Some(code) => format!("{}={code}", result.call),
                None => format!("{}={}", result.call, result.text),
            };
            results.iter().map(one).collect::<Vec<_>>().join("+")
        }
        Message::Assistant { .. } if message.calls().count() > 0 => {
            message.calls().map(|call| format!("?{}", call.id)).collect()
        }
        message => message.text(),
    };
    transcript.iter().map(part).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_amiss_is_put_right() {
    let user = || Message::user("user");
    for (given, expected) in [
        // Calls in the middle without results.
        (vec![user(), said(&["a"]), user()], "user ?a a=TOOL_INDETERMINATE user"),
        // Results of some, at the end.
        (vec![said(&["a", "b"]), told(&["a"])], "?a?b a=a0+b=TOOL_INDETERMINATE"),
        (vec![said(&["a"]), told(&[])], "?a a=TOOL_INDETERMINATE"),
        // Nobody has run these.
        (vec![user(), said(&["a", "b"])], "user ?a?b"),
        // Results in another order, one message for each, after what somebody said.
        (vec![said(&["a", "b"]), told(&["b"]), user(), told(&["a"])], "?a?b a=a0+b=b0 user"),
        // Results of nothing, and twice.
        (vec![told(&["a"]), user(), said(&["a"]), told(&["x", "a", "a"])], "user ?a a=a1"),
        // Ids.
        (
            vec![said(&["", "a", "a"]), told(&["", "a", "a"])],
            "?call_1?a?call_3 call_1=0+a=a1+call_3=a2",
        ),
        (
            vec![said(&["a"]), told(&["a"]), said(&["a"]), told(&["a"]), said(&[""])],
            "?a a=a0 ?call_2 call_2=a0 ?call_3",
        ),
        // Nothing was said: what stands next to each other by that is one message.
        (vec![user(), Message::assistant(""), said(&[]), user()], "user\n\nuser"),
        (vec![user(), told(&["x"]), user()], "user\n\nuser"),
        (vec![said(&["a"]), user(), told(&["a"]), user()], "?a a=a0 user\n\nuser"),
        // It came so.
        (vec![user(), user()], "user user"),
    ] {
        let turn = Turn::new(given.clone(), 1);
        assert_eq!(short(turn.transcript()), expected, "{given:?}");
    }
}

fn any_message() -> impl Strategy<Value = Message> {
    let ids = || prop::collection::vec(prop_oneof!["", "a", "b", "call_[1-3]"], 0..4);
    let with = |make: fn(&[&str]) -> Message| {
        ids().prop_map(move |ids| make(&ids.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    prop_oneof![
        1 => Just(Message::system("system")),
        2 => Just(Message::user("user")),
        1 => Just(Message::assistant("words")),
        4 => with(said),
        4 => with(told),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_conversation_can_be_gone_on_with(
        given in prop::collection::vec(any_message(), 0..9),
    ) {
        let mut turn = Turn::new(given.clone(), 1);
        let mended = turn.transcript().to_vec();
        // Calls that nobody has run are at the very end of both.
        if let Step::RunCalls(calls) = turn.next() {
            prop_assert!(given.last().is_some_and(|last| last.calls().count() == calls.len()));
            let results = calls.iter().map(|call| ToolResult::success(call, "ok")).collect();
            turn.on_results(results).unwrap();
        }
        assert_complete(turn.transcript());
        // Results stand behind calls and nowhere else.
        for (place, message) in mended.iter().enumerate() {
            if matches!(message, Message::Tool { .. }) {
                prop_assert!(place > 0 && mended[place - 1].calls().count() > 0);
            }
        }
        // All that people said is there, and what is in order stays so.
        let spoken = |messages: &[Message]| {
            let spoken: String = messages.iter().map(Message::text).collect();
            spoken.replace("\n\n", "")
        };
        prop_assert_eq!(spoken(&mended), spoken(&given));
        let again = Turn::new(mended.clone(), 1);
        prop_assert_eq!(again.transcript(), mended.as_slice());
    }
}
