//! State machine of a run: every state against every input, and storage between any two steps.

mod many_calls;
mod normalization;
mod table;

use proptest::prelude::*;
use serde_json::json;
use support::conversation::assert_complete;
use tool_runtime::__workspace::{Outcome, Step};
use tool_runtime::agent::{Limits, Turn};
use tool_runtime::{
    AssistantPart, ChatReply, FinishReason, Message, Reasoning, ScriptedTurn, ToolCall, ToolResult,
};

/// Returns the states, each with a turn in it. Two model requests are allowed.
fn states() -> [(&'static str, Turn); 4] {
    let fresh = Turn::new(vec![Message::user("Go")], 2);
    let mut calling = fresh.clone();
    calling.on_reply(two_calls()).unwrap();
    let mut answered = fresh.clone();
    answered.on_reply(ChatReply::text("Done.")).unwrap();
    let mut exhausted = Turn::new(vec![Message::user("Go")], 1);
    exhausted.on_reply(two_calls()).unwrap();
    [("request", fresh), ("calls", calling), ("answered", answered), ("exhausted", exhausted)]
}

fn two_calls() -> ChatReply {
    ChatReply::default().call("a", "{}").call("b", "{}")
}

fn step(turn: &Turn) -> &'static str {
    match turn.next() {
        Step::RequestModel => "request",
        Step::RunCalls(_) => "calls",
        Step::Done(Outcome::Answered) => "answered",
        Step::Done(Outcome::EmptyReply) => "empty",
        Step::Done(Outcome::TruncatedReply(FinishReason::Length)) => "truncated",
        Step::Done(Outcome::TruncatedReply(FinishReason::ContentFilter)) => "filtered",
        Step::Done(Outcome::IterationLimit) => "exhausted",
        Step::Done(_) => "an unknown outcome",
    }
}

/// Returns a reply with calls of these ids.
fn reply_with_calls(ids: &[&str]) -> Message {
    let call = |id: &&str| AssistantPart::Call(ToolCall::new(*id, "t", "{}"));
    Message::Assistant { id: None, parts: ids.iter().map(call).collect() }
}

enum Input {
    Reply(ChatReply),
    Results(Vec<ToolResult>),
}

/// Returns the inputs. Some results belong to the open calls of `calling`, some do not.
fn inputs(calling: &Turn) -> [(&'static str, Input); 12] {
    let Step::RunCalls(calls) = calling.next() else { panic!() };
    let right: Vec<_> = calls.iter().map(|call| ToolResult::success(call, "ok")).collect();
    let reversed = right.iter().rev().cloned().collect();
    let search = Reasoning::new("another", "", json!({ "type": "search" })).provider_action();
    let search = AssistantPart::Reasoning(search);
    let foreign = ToolResult::success(&ToolCall::new("other", "a", "{}"), "ok");
    [
        ("text", Input::Reply(ChatReply::text("Done."))),
        (
            "text, other finish",
            Input::Reply(ChatReply::text("Done.").finish_reason(FinishReason::Other)),
        ),
        ("truncated text", Input::Reply(ChatReply::text("Do").finish_reason(FinishReason::Length))),
        (
            "filtered empty reply",
            Input::Reply(ChatReply::default().finish_reason(FinishReason::ContentFilter)),
        ),
        ("truncated calls", Input::Reply(two_calls().finish_reason(FinishReason::Length))),
        ("calls", Input::Reply(two_calls())),
        ("provider search", Input::Reply(ChatReply::new(vec![search]))),
        ("empty reply", Input::Reply(ChatReply::default())),
        ("results", Input::Results(right.clone())),
        ("results in another order", Input::Results(reversed)),
        ("results of other calls", Input::Results(vec![right[0].clone(), foreign])),
        ("no results", Input::Results(Vec::new())),
    ]
}

#[test]
fn every_state_accepts_only_inputs_of_its_step() {
    let states = states();
    for (state, before) in &states {
        for (input, input_kind) in inputs(&states[1].1) {
            let mut turn = before.clone();
            let accepted = match input_kind {
                Input::Reply(reply) => turn.on_reply(reply),
                Input::Results(results) => turn.on_results(results),
            };
            let after = match (*state, input) {
                ("request", "text" | "text, other finish" | "provider search") => Some("answered"),
                ("request", "truncated text") => Some("truncated"),
                ("request", "filtered empty reply") => Some("filtered"),
                ("request", "truncated calls") => Some("calls"),
                ("request", "empty reply") => Some("empty"),
                ("request", "calls") => Some("calls"),
                ("calls", "results") => Some("request"),
                _ => None,
            };
            match after {
                Some(after) => {
                    accepted.unwrap();
                    assert_eq!(step(&turn), after, "{state}: {input}");
                }
                None => {
                    assert!(accepted.is_err(), "{state}: {input}");
                    assert_eq!(turn, *before, "{state}: {input} changes nothing");
                }
            }
        }
        assert_eq!(step(before), *state);
    }
}

#[test]
fn first_step_follows_from_the_transcript() {
    let open = reply_with_calls(&["a"]);
    for (transcript, most, expected) in [
        (vec![], 1, "request"),
        (vec![Message::user("Go")], 1, "request"),
        (vec![Message::user("Go")], 0, "exhausted"),
        (vec![Message::user("Go"), open.clone()], 1, "calls"),
        (vec![Message::user("Go"), open], 0, "calls"),
        (vec![Message::user("Go"), Message::assistant("Done.")], 0, "answered"),
        (vec![Message::user("Go"), Message::assistant(" ")], 1, "request"),
        (vec![Message::user("Go"), reply_with_calls(&["a"]), Message::assistant("")], 1, "request"),
    ] {
        assert_eq!(step(&Turn::new(transcript.clone(), most)), expected, "{transcript:?}");
    }
}

/// Serializes and deserializes a turn.
fn stored(turn: &Turn) -> Turn {
    let stored: Turn = serde_json::from_str(&serde_json::to_string(turn).unwrap()).unwrap();
    assert_eq!(stored, *turn);
    stored
}

/// Plays the replies to the end. Every call succeeds.
fn play(replies: &[ChatReply], most: u32, between: fn(&Turn) -> Turn) -> Turn {
    let mut turn = Turn::new(vec![Message::user("Go")], most);
    let mut replies = replies.iter().cloned();
    loop {
        turn = between(&turn);
        match turn.next() {
            Step::RequestModel => turn.on_reply(replies.next().unwrap_or_default()).unwrap(),
            Step::RunCalls(calls) => {
                let results = calls.iter().map(|call| ToolResult::success(call, "ok")).collect();
                turn.on_results(results).unwrap();
            }
            Step::Done(_) => return turn,
        }
    }
}

/// Some providers match results to calls by name.
#[test]
fn results_get_the_name_of_their_call() {
    for all_at_once in [true, false] {
        let mut turn = Turn::new(vec![Message::user("Go")], 2);
        turn.on_reply(two_calls()).unwrap();
        let Step::RunCalls(calls) = turn.next() else { panic!() };
        let results = calls.iter().map(|call| ToolResult::success(call, "ok"));
        let mut results: Vec<_> = results.collect();
        results[0].tool = "another".into();
        if all_at_once {
            turn.on_results(results).unwrap();
        } else {
            results.into_iter().for_each(|result| turn.on_partial_results(vec![result]).unwrap());
        }
        let Some(Message::Tool { results }) = turn.transcript().last() else { panic!() };
        let named = results.iter().map(|result| (&result.call, &result.tool));
        assert!(named.eq(calls.iter().map(|call| (&call.id, &call.name))), "{results:?}");
    }
}

fn any_reply() -> impl Strategy<Value = ChatReply> {
    let arguments = prop_oneof![Just(json!({ "a": [1, 2.5, null] })), Just(json!("{\"a\": "))];
    let call = ("(|a|b|call_[1-4])", "[a-c]", arguments)
        .prop_map(|(id, name, arguments)| AssistantPart::Call(ToolCall::new(id, name, arguments)));
    let text = ".{0,5}".prop_map(|text| AssistantPart::Text { text });
    let finish = prop_oneof![3 => Just(FinishReason::Stop), 1 => Just(FinishReason::ToolCalls), 1 => Just(FinishReason::Length)];
    (prop::collection::vec(prop_oneof![3 => call, 1 => text], 0..4), finish)
        .prop_map(|(parts, finish)| ChatReply::new(parts).finish_reason(finish))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_are_complete_and_survive_storage_between_steps(
        replies in prop::collection::vec(any_reply(), 0..8),
        most in 0_u32..6,
    ) {
        let turn = play(&replies, most, Turn::clone);
        prop_assert_eq!(&play(&replies, most, stored), &turn);
        prop_assert!(turn.iterations() <= most);

        assert_complete(turn.transcript());
        // The transcript of a finished run needs no normalization.
        let transcript = turn.into_transcript();
        let ends_with_reply = matches!(transcript.last(), Some(Message::Assistant { .. }));
        let normalized = Turn::new(transcript.clone(), most).into_transcript();
        prop_assert!(normalized == transcript || (ends_with_reply && normalized == transcript[..transcript.len() - 1]));
    }
}

#[test]
fn scripted_turns_are_deserialized_from_json() {
    let turns: Vec<ScriptedTurn> = serde_json::from_value(json!([
        { "reply": { "parts": [
            { "type": "text", "text": "One moment." },
            { "type": "call", "name": "forecast", "arguments": "{\"city\": \"Oslo\"}" },
            { "type": "call", "id": "b", "name": "forecast", "arguments": { "city": "Rome" } },
        ] }, "tools": ["forecast"] },
        { "reply": { "parts": [{ "type": "text", "text": "Rain." }] }, "last_contains": ["7 degrees"] },
    ]))
    .unwrap();

    let mut first = ChatReply::text("One moment.").call("forecast", r#"{"city": "Oslo"}"#);
    first.parts.push(AssistantPart::Call(ToolCall::new("b", "forecast", json!({"city": "Rome"}))));
    let expected = [
        ScriptedTurn::new(first).expect_tools(["forecast"]),
        ScriptedTurn::new(ChatReply::text("Rain.")).expect_last("7 degrees"),
    ];
    assert_eq!(turns, expected);
    let text = serde_json::to_string(&turns).unwrap();
    assert_eq!(serde_json::from_str::<Vec<ScriptedTurn>>(&text).unwrap(), turns);
}

#[test]
fn calls_beyond_the_limit_of_a_reply_are_answered() {
    let reply = |count: usize| {
        (0..count).fold(ChatReply::default(), |reply, n| reply.call("t", json!({ "n": n })))
    };
    let default = Limits::default();
    for (limits, count, run) in [
        (default.clone(), 128, 128),
        (default.clone(), 10_000, 128),
        (default.clone().max_calls_per_reply(2), 5, 2),
        (default.clone().max_calls_per_reply(0), 3, 0),
        (default.max_calls_per_reply(None), 200, 200),
    ] {
        let mut turn = Turn::new(vec![Message::user("Go")], 0).with_limits(limits);
        turn.on_reply(reply(count)).unwrap();
        let open = match turn.next() {
            Step::RunCalls(open) => open,
            _ => Vec::new(),
        };
        assert_eq!(open.len(), run);
        let results: Vec<_> = open.iter().map(|call| ToolResult::success(call, "ok")).collect();
        if run > 0 {
            turn.on_results(results).unwrap();
        }
        assert_eq!(turn.next(), Step::RequestModel);
        assert_complete(turn.transcript());
        let results = support::conversation::results(&turn.transcript()[2]);
        let (first, rest) = results.split_at(run);
        assert!(first.iter().all(|result| result.error.is_none()));
        let text = format!(
            "Not run: one reply can make at most {run} calls. If this call is still needed, make \
             it in your next reply."
        );
        let is_refused = |result: &ToolResult| {
            result.text == text && result.error.as_deref() == Some("TOOL_CANCELLED")
        };
        assert!(rest.iter().all(is_refused));
    }
}
