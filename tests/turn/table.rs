//! Every state against what may happen to a run beside replies and results.

use tool_runtime::agent::{Limits, StopRequest};
use tool_runtime::{Usage, UserPart};

use super::*;

/// All states, each as a turn that is in it.
fn all_states() -> Vec<(&'static str, Turn)> {
    let go = || Turn::new(vec![Message::user("Go")], 2);
    let after = |turn: &Turn, reply: ChatReply| {
        let mut turn = turn.clone();
        turn.on_reply(reply).unwrap();
        turn
    };
    let costly = go().with_limits(Limits::default().tokens(10));
    let strict = go().with_limits(Limits::default().repeats(0));
    let mut begun = after(&go(), two_calls());
    begun.begin_calls();
    let mut half = begun.clone();
    let Step::RunCalls(calls) = half.next() else { panic!() };
    half.on_partial_results(vec![ToolResult::success(&calls[0], "ok")]).unwrap();
    let mut requested = after(&go(), two_calls());
    requested.stop(StopRequest::new(None, "enough"));
    let mut states = states().to_vec();
    states.extend([
        ("begun", begun),
        ("half done", half),
        ("silent", after(&go(), ChatReply::default())),
        ("cut", after(&go(), ChatReply::text("Do").finish(Finish::Length))),
        ("out of tokens", after(&costly, two_calls().usage(Usage::new(9, 9)))),
        ("repeated", after(&strict, two_calls())),
        ("requested", requested),
    ]);
    states
}

fn name(turn: &Turn) -> &'static str {
    match turn.next() {
        Step::Done(Outcome::BudgetExhausted) => "out of tokens",
        Step::Done(Outcome::RepeatedCall) => "repeated",
        Step::Done(Outcome::StopRequested) => "requested",
        _ => step(turn),
    }
}

/// What happens, and which state each of these leads to where that is another one.
type Happens = (&'static str, fn(&mut Turn), &'static [(&'static str, &'static str)]);

const HAPPENS: [Happens; 8] = [
    (
        "more is said",
        |turn| _ = turn.add_user_parts(vec![UserPart::Text { text: "More".into() }]),
        &[("answered", "ask")],
    ),
    (
        "somebody wants it to stop",
        |turn| turn.stop(StopRequest::new(None, "enough")),
        // What was said stays said; a wish that comes later is the one that counts.
        &[
            ("ask", "requested"),
            ("call", "requested"),
            ("begun", "requested"),
            ("half done", "requested"),
            ("spent", "requested"),
            ("out of tokens", "requested"),
            ("repeated", "requested"),
        ],
    ),
    ("the calls begin", Turn::begin_calls, &[]),
    ("they may be made again", |turn| assert_eq!(turn.fail_interrupted(|_| true), []), &[]),
    ("they may not be made again", lose, &[("begun", "ask"), ("half done", "ask")]),
    (
        "all tokens are spent elsewhere",
        |turn| {
            turn.edit_limits(|limits| limits.tokens = Some(1));
            turn.add_usage(Usage::new(1, 0));
        },
        &[("ask", "out of tokens")],
    ),
    (
        "what was said is edited away",
        |turn| turn.edit(|messages| messages.truncate(1)),
        &[
            ("call", "ask"),
            ("begun", "ask"),
            ("half done", "ask"),
            ("answered", "ask"),
            ("silent", "ask"),
            ("cut", "ask"),
        ],
    ),
    (
        "what was said last is put into other words",
        |turn| {
            turn.edit(|messages| match messages.last_mut() {
                Some(last @ Message::Assistant { .. }) if last.calls().count() == 0 => {
                    *last = Message::assistant("That is all.");
                }
                _ => {}
            });
        },
        &[("silent", "answered"), ("cut", "answered")],
    ),
];

/// What was begun may not be made again; it says what that was.
fn lose(turn: &mut Turn) {
    let is_told = |(call, result): &(_, ToolResult)| {
        let ToolCall { id, .. } = call;
        result.call == *id && result.error.as_deref() == Some("TOOL_INDETERMINATE")
    };
    assert!(turn.fail_interrupted(|_| false).iter().all(is_told));
}

#[test]
fn every_state_against_all_that_may_happen() {
    for (state, before) in all_states() {
        let is = |name: &str| match name {
            "begun" | "half done" => "call".to_owned(),
            name => name.to_owned(),
        };
        assert_eq!(name(&before), is(state));
        assert_complete_or_open(&before);
        for (event, happens, leads) in HAPPENS {
            let mut turn = before.clone();
            happens(&mut turn);
            let to = leads.iter().find(|(from, _)| *from == state).map_or(state, |(_, to)| to);
            assert_eq!(name(&turn), is(to), "{state}: {event}");
            assert_complete_or_open(&turn);
            assert_eq!(stored(&turn), turn, "{state}: {event}");
        }
    }
}

#[test]
fn what_came_before_others_stays_whatever_becomes_of_those() {
    let half = || all_states().into_iter().find(|(state, _)| *state == "half done").unwrap().1;
    for (happens, expected) in [
        (lose as fn(&mut Turn), "TOOL_INDETERMINATE"),
        (|turn| turn.stop(StopRequest::new(None, "enough")), "TOOL_CANCELLED"),
    ] {
        let mut turn = half();
        happens(&mut turn);
        let Some(Message::Tool { results }) = turn.transcript().last() else { panic!() };
        assert_eq!((results[0].text.as_str(), results[0].error.as_deref()), ("ok", None));
        assert_eq!(results[1].error.as_deref(), Some(expected));
    }
    // Made again, it is the only one.
    let mut turn = half();
    turn.fail_interrupted(|_| true);
    let Step::RunCalls(calls) = turn.next() else { panic!() };
    assert_eq!(calls.len(), 1);
    turn.on_results(vec![ToolResult::success(&calls[0], "ok")]).unwrap();
    assert_eq!(turn.next(), Step::RequestModel);
}

/// Every call has its result, but for those that are to be made now.
fn assert_complete_or_open(turn: &Turn) {
    let transcript = turn.transcript();
    match turn.next() {
        Step::RunCalls(_) => assert_complete(&transcript[..transcript.len() - 1]),
        _ => assert_complete(transcript),
    }
}
