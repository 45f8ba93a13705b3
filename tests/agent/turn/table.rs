//! Every state of a run against every event other than replies and results.

use tool_runtime::agent::Limits;
use tool_runtime::{ContentPart, Usage};

use super::*;

/// Returns all states, each with a turn in it.
fn all_states() -> Vec<(&'static str, Turn)> {
    let fresh_turn = || Turn::new(vec![Message::user("Go")], 2);
    let after = |turn: &Turn, reply: ChatReply| {
        let mut turn = turn.clone();
        turn.on_reply(reply).unwrap();
        turn
    };
    let limited = fresh_turn().with_limits(Limits::default().max_tokens(10));
    let strict = fresh_turn().with_limits(Limits::default().max_repeats(0));
    let mut started = after(&fresh_turn(), two_calls());
    started.begin_calls(std::time::UNIX_EPOCH);
    let mut half = started.clone();
    let Step::RunCalls(calls) = half.next() else { panic!() };
    half.on_partial_results(vec![ToolResult::success(&calls[0], "ok")]).unwrap();
    let mut stopped = after(&fresh_turn(), two_calls());
    stopped.stop("enough");
    let mut states = states().to_vec();
    states.extend([
        ("started", started),
        ("half done", half),
        ("empty", after(&fresh_turn(), ChatReply::default())),
        (
            "truncated",
            after(&fresh_turn(), ChatReply::text("Do").finish_reason(FinishReason::Length)),
        ),
        ("out of tokens", after(&limited, two_calls().usage(Usage::new(9, 9)))),
        ("repeated", after(&strict, two_calls())),
        ("stopped", stopped),
    ]);
    states
}

fn name(turn: &Turn) -> &'static str {
    match turn.next() {
        Step::Done(Outcome::BudgetExhausted) => "out of tokens",
        Step::Done(Outcome::RepeatedCall) => "repeated",
        Step::Done(Outcome::StopRequested) => "stopped",
        _ => step(turn),
    }
}

/// Name, action, and the states that it changes, each with the next one.
type Event = (&'static str, fn(&mut Turn), &'static [(&'static str, &'static str)]);

const EVENTS: [Event; 8] = [
    (
        "user parts are added",
        |turn| _ = turn.add_user_parts(vec![ContentPart::Text { text: "More".into() }]),
        &[("answered", "request")],
    ),
    (
        "a stop is requested",
        |turn| turn.stop("enough"),
        // An answer stays an answer. The latest halt counts.
        &[
            ("request", "stopped"),
            ("calls", "stopped"),
            ("started", "stopped"),
            ("half done", "stopped"),
            ("exhausted", "stopped"),
            ("out of tokens", "stopped"),
            ("repeated", "stopped"),
        ],
    ),
    ("the calls begin", |turn| turn.begin_calls(std::time::UNIX_EPOCH), &[]),
    (
        "interrupted calls are retry-safe",
        |turn| assert_eq!(turn.fail_interrupted(|_| true), []),
        &[],
    ),
    (
        "interrupted calls are not retry-safe",
        interrupt,
        &[("started", "request"), ("half done", "request")],
    ),
    (
        "other usage reaches the limit",
        |turn| {
            turn.edit_limits(|limits| limits.max_tokens = Some(1));
            turn.add_usage(Usage::new(1, 0));
        },
        &[("request", "out of tokens")],
    ),
    (
        "messages are removed",
        |turn| turn.edit(|messages| messages.truncate(1)),
        &[
            ("calls", "request"),
            ("started", "request"),
            ("half done", "request"),
            ("answered", "request"),
            ("empty", "request"),
            ("truncated", "request"),
        ],
    ),
    (
        "the last reply is replaced",
        |turn| {
            turn.edit(|messages| match messages.last_mut() {
                Some(last @ Message::Assistant { .. }) if last.calls().count() == 0 => {
                    *last = Message::assistant("That is all.");
                }
                _ => {}
            });
        },
        &[("empty", "answered"), ("truncated", "answered")],
    ),
];

/// Interrupts the run; no started call is retry-safe.
fn interrupt(turn: &mut Turn) {
    let is_indeterminate = |(call, result): &(_, ToolResult)| {
        let ToolCall { id, .. } = call;
        result.call == *id && result.error.as_deref() == Some("TOOL_INDETERMINATE")
    };
    assert!(turn.fail_interrupted(|_| false).iter().all(is_indeterminate));
}

#[test]
fn every_state_handles_every_event() {
    for (state, before) in all_states() {
        let state_of = |name: &str| match name {
            "started" | "half done" => "calls".to_owned(),
            name => name.to_owned(),
        };
        assert_eq!(name(&before), state_of(state));
        assert_complete_or_open(&before);
        for (event, apply, transitions) in EVENTS {
            let mut turn = before.clone();
            apply(&mut turn);
            let to =
                transitions.iter().find(|(from, _)| *from == state).map_or(state, |(_, to)| to);
            assert_eq!(name(&turn), state_of(to), "{state}: {event}");
            assert_complete_or_open(&turn);
            assert_eq!(stored(&turn), turn, "{state}: {event}");
        }
    }
}

#[test]
fn early_results_stay_when_other_calls_fail() {
    let half = || all_states().into_iter().find(|(state, _)| *state == "half done").unwrap().1;
    for (apply, expected) in [
        (interrupt as fn(&mut Turn), "TOOL_INDETERMINATE"),
        // The other call has started as well.
        (|turn| turn.stop("enough"), "TOOL_INDETERMINATE"),
    ] {
        let mut turn = half();
        apply(&mut turn);
        let Some(Message::Tool { results }) = turn.transcript().last() else { panic!() };
        assert_eq!((results[0].text.as_str(), results[0].error.as_deref()), ("ok", None));
        assert_eq!(results[1].error.as_deref(), Some(expected));
    }
    // Only the call without a result runs again.
    let mut turn = half();
    turn.fail_interrupted(|_| true);
    let Step::RunCalls(calls) = turn.next() else { panic!() };
    assert_eq!(calls.len(), 1);
    turn.on_results(vec![ToolResult::success(&calls[0], "ok")]).unwrap();
    assert_eq!(turn.next(), Step::RequestModel);
}

/// Asserts that every call has its result, except for the open ones.
fn assert_complete_or_open(turn: &Turn) {
    let transcript = turn.transcript();
    match turn.next() {
        Step::RunCalls(_) => assert_complete(&transcript[..transcript.len() - 1]),
        _ => assert_complete(transcript),
    }
}
