//! Replies with many calls. A step whose cost grows with the square of their number would take
//! minutes here.

use proptest::prelude::*;
use serde_json::json;
use support::conversation::assert_complete;
use tool_runtime::__workspace::Step;
use tool_runtime::agent::{Limits, Turn};
use tool_runtime::{AssistantPart, ChatReply, Message, ToolCall, ToolResult};

const CALLS: usize = 20_000;

/// Returns a turn whose reply has so many calls, and the calls.
fn calling(count: usize) -> (Turn, Vec<ToolCall>) {
    let limits = Limits::default().max_calls_per_reply(None);
    let mut turn = Turn::new(vec![Message::user("Go")], 20).with_limits(limits);
    let calls = (0..count)
        .map(|n| AssistantPart::Call(ToolCall::new(format!("id_{n}"), "t", json!({ "n": n }))));
    turn.on_reply(ChatReply::new(calls.collect())).unwrap();
    let Step::RunCalls(calls) = turn.next() else { panic!() };
    turn.begin_calls(std::time::UNIX_EPOCH);
    (turn, calls)
}

fn results(calls: &[ToolCall]) -> Vec<ToolResult> {
    calls.iter().map(|call| ToolResult::success(call, "ok")).collect()
}

#[test]
fn results_are_recorded_in_any_portions() {
    let (start, calls) = calling(CALLS);
    let mut expected = start.clone();
    expected.on_results(results(&calls)).unwrap();
    assert_complete(expected.transcript());
    for (portion, is_reversed) in [(CALLS, true), (1, false), (1, true), (7, false)] {
        let mut turn = start.clone();
        let mut results = results(&calls);
        if is_reversed {
            results.reverse();
        }
        for portion in results.chunks(portion) {
            turn.on_partial_results(portion.to_vec()).unwrap();
        }
        assert_eq!(turn, expected, "in portions of {portion}, reversed: {is_reversed}");
    }
}

#[test]
fn interrupted_calls_are_failed_and_repeated_calls_counted() {
    let (mut turn, calls) = calling(CALLS);
    for call in &calls {
        turn.discount_repeat(&call.id);
    }
    turn.on_partial_results(results(&calls[..CALLS / 2])).unwrap();
    assert_eq!(turn.fail_interrupted(|_| false).len(), CALLS / 2);
    assert_complete(turn.transcript());
    let repeated_reply = calls
        .iter()
        .fold(ChatReply::default(), |reply, call| reply.call(&call.name, call.arguments.clone()));
    for _ in 0..4 {
        turn.on_reply(repeated_reply.clone()).unwrap();
        let Step::RunCalls(calls) = turn.next() else { panic!("{:?}", turn.repeated_call()) };
        turn.on_results(results(&calls)).unwrap();
    }
    turn.on_reply(repeated_reply).unwrap();
    assert!(turn.repeated_call().is_some());
}

#[test]
fn transcripts_with_lost_and_shuffled_results_are_repaired() {
    let call = |id: String| AssistantPart::Call(ToolCall::new(id, "t", "{}"));
    // Ids that the repair would give next are taken, and others are empty or equal.
    let ids = (0..CALLS).map(|n| match n % 4 {
        0 => format!("call_{}", CALLS + n),
        1 => String::new(),
        2 => "same".to_owned(),
        _ => format!("id_{n}"),
    });
    let parts: Vec<_> = ids.map(call).collect();
    let reply = Message::Assistant { id: None, parts: parts.clone() };
    let answered = parts.iter().rev().map(|part| {
        let AssistantPart::Call(call) = part else { panic!() };
        Message::Tool { results: vec![ToolResult::success(call, "ok")] }
    });
    let messages = [Message::user("Go"), reply].into_iter().chain(answered);
    let turn = Turn::new(messages.chain([Message::user("And?")]).collect(), 20);
    assert_complete(turn.transcript());
    let found = support::conversation::results(&turn.transcript()[2]);
    assert!(found.iter().all(|result| result.text == "ok"));
}

proptest! {
    /// Results in any order and portions give the same turn, also if it is stored in between.
    #[test]
    fn portions_of_results_do_not_matter(
        order in Just((0..8_usize).collect::<Vec<_>>()).prop_shuffle(),
        portions in prop::collection::vec(1..4_usize, 8),
    ) {
        let (mut turn, calls) = calling(8);
        let mut expected = turn.clone();
        expected.on_results(results(&calls)).unwrap();
        let all = results(&calls);
        let mut rest = order.as_slice();
        for portion in portions {
            let (now, later) = rest.split_at(portion.min(rest.len()));
            rest = later;
            let results: Vec<_> = now.iter().map(|index| all[*index].clone()).collect();
            turn.on_partial_results(results.clone()).unwrap();
            // A result counts once.
            prop_assert!(results.is_empty() || turn.on_partial_results(results).is_err());
            turn = serde_json::from_str(&serde_json::to_string(&turn).unwrap()).unwrap();
        }
        prop_assert_eq!(turn, expected);
    }
}
