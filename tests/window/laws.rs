//! What holds for any conversation, any window and any state.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;
use tool_runtime::agent::Turn;
use tool_runtime::agent::window::{Estimate, Plan, TokenCounter, Window, WindowState};
use tool_runtime::{AssistantPart, Message, Reasoning};

use crate::histories::{config, histories};

const THOUGHTS: &[fn() -> Reasoning] = &[
    || Reasoning::new("anthropic", "Hm", json!({ "type": "thinking", "thinking": "Hm" })),
    || Reasoning::new("openai", "", json!({ "type": "reasoning", "id": "r" })),
];

/// Conversations of several such, one behind the other: longer than any that one alone gives.
fn conversations() -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec(histories(THOUGHTS), 1..5).prop_map(|parts| parts.concat())
}

fn windows() -> impl Strategy<Value = Window> {
    let most = prop_oneof![Just(None), (0..120u64).prop_map(Some), Just(Some(5_000))];
    (most, any::<bool>()).prop_map(|(most, without)| {
        let window = most.map_or_else(Window::new, |most| Window::new().max_tokens(most));
        if without { window.drop_earlier_tool_calls() } else { window }
    })
}

fn is_users(message: &Message) -> bool {
    matches!(message, Message::User { .. })
}

fn is_system(message: &Message) -> bool {
    matches!(message, Message::System { .. })
}

/// What every provider asks of a conversation: each call answered once, right behind it, in order and
/// by its name; no result without a call; no id twice; no reply that says nothing.
fn broken_rule(messages: &[Message]) -> Option<String> {
    let mut used = HashSet::new();
    let mut open: Vec<_> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let results: Vec<_> = match message {
            Message::Tool { results } => {
                results.iter().map(|result| (result.call.clone(), result.tool.clone())).collect()
            }
            _ => Vec::new(),
        };
        if results != open {
            return Some(format!("{place}: the calls {open:?} are answered by {results:?}"));
        }
        if matches!(message, Message::Tool { .. }) && results.is_empty() {
            return Some(format!("{place}: results of nothing"));
        }
        open = message.calls().map(|call| (call.id.clone(), call.name.clone())).collect();
        if !open.iter().all(|(id, _)| !id.as_str().is_empty() && used.insert(id.clone())) {
            return Some(format!("{place}: an id is empty or comes twice"));
        }
        if let Message::Assistant { parts } = message {
            let says = |part: &AssistantPart| match part {
                AssistantPart::Text { text } => !text.trim().is_empty(),
                AssistantPart::Reasoning(thought) => thought.acts,
                _ => true,
            };
            if !parts.iter().any(says) {
                return Some(format!("{place}: says nothing"));
            }
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} are not answered"))
}

/// Whether all of `part` is in `whole` in this order; a reply may have been cut down to its words.
fn is_in_order(part: &[Message], whole: &[Message]) -> bool {
    let words = |message: &Message| match message {
        Message::Assistant { parts } if message.calls().next().is_some() => {
            let text = |part: &&AssistantPart| matches!(part, AssistantPart::Text { .. });
            Message::Assistant { parts: parts.iter().filter(text).cloned().collect() }
        }
        message => message.clone(),
    };
    let mut whole = whole.iter();
    part.iter().all(|wanted| whole.any(|message| message == wanted || words(message) == *wanted))
}

fn tokens(messages: &[Message]) -> u64 {
    messages.iter().map(|message| Estimate.count(message)).sum()
}

/// The conversation in order, as the loop keeps it, and where its last run may have begun.
fn in_order(messages: Vec<Message>) -> (Vec<Message>, usize) {
    let mut messages = Turn::new(messages, 1).into_transcript();
    // The model is not asked before there are results.
    if messages.last().is_some_and(|message| message.calls().next().is_some()) {
        messages.pop();
    }
    let run = messages.iter().rposition(is_users).unwrap_or(0);
    (messages, run)
}

proptest! {
    #![proptest_config(config())]

    /// Whatever it is given: also what no loop leaves behind.
    #[test]
    fn what_goes_out_is_in_order(
        messages in conversations(),
        window in windows(),
        run in 0..40usize,
        states in prop::collection::vec(0..40usize, 4),
    ) {
        let state = json!({
            "from": states[0],
            "within": { "run": states[1], "to": states[2] },
            "summarized": states[3],
            "summary": "before",
        });
        let state: WindowState = serde_json::from_value(state).unwrap();
        for state in [WindowState::default(), state] {
            let Plan { messages: shown, state: next, .. } = window.plan(&messages, run, &state);
            prop_assert_eq!(broken_rule(&shown), None, "{:#?}", shown);
            let again = window.plan(&messages, run, &next);
            prop_assert_eq!(&again.messages, &shown);
            prop_assert_eq!(again.state, next);
        }
    }

    /// Of a conversation as the loop keeps it, all that is to stay stays, in its order.
    #[test]
    fn what_is_to_stay_stays(messages in conversations(), window in windows()) {
        let (messages, run) = in_order(messages);
        let shown = window.plan(&messages, run, &WindowState::default()).messages;
        let own = |message: &&Message| !message.text().starts_with("[To save room");
        let own: Vec<_> = shown.iter().filter(own).cloned().collect();
        prop_assert!(is_in_order(&own, &messages), "{:#?}\nof {:#?}", own, messages);

        let orders = |messages: &[Message]| -> Vec<_> {
            messages.iter().filter(|message| is_system(message)).cloned().collect()
        };
        prop_assert_eq!(orders(&shown), orders(&messages));
        let begins = |messages: &[Message]| {
            messages.iter().find(|message| !is_system(message)).is_none_or(is_users)
        };
        prop_assert!(begins(&shown) || !begins(&messages));
        if messages.get(run).is_some_and(is_users) {
            prop_assert!(shown.contains(&messages[run]));
        }
        prop_assert_eq!(shown.last(), messages.last());
    }

    /// As much as may be goes out, unless what has to stay is more.
    #[test]
    fn it_stays_within_its_limit(messages in conversations(), most in 0..120u64) {
        let (messages, run) = in_order(messages);
        let window = Window::new().max_tokens(most);
        let shown = window.plan(&messages, run, &WindowState::default()).messages;
        if tokens(&messages) <= most {
            prop_assert_eq!(&*shown, &*messages);
        }
        // What stays whatever the limit is: that of a window that shows nothing.
        let least = Window::new().max_tokens(0);
        let least = least.plan(&messages, run, &WindowState::default()).messages;
        prop_assert!(tokens(&shown) <= most.max(tokens(&least)));
    }

    /// As the conversation grows, what goes out grows at its end; it is cut only where it had come to
    /// be too long, and then to no more than half.
    #[test]
    fn it_moves_in_steps(messages in conversations(), most in 20..120u64, without: bool) {
        let (messages, _) = in_order(messages);
        let window = Window::new().max_tokens(most);
        let window = if without { window.drop_earlier_tool_calls() } else { window };
        let mut state = WindowState::default();
        // Where the run began and how far the conversation had come, and what went out then.
        let mut last: Option<(usize, usize, Vec<Message>)> = None;
        for end in 1..=messages.len() {
            let said = &messages[..end];
            if said.last().is_some_and(|message| message.calls().next().is_some()) {
                // The model is not asked before there are results.
                continue;
            }
            let run = said.iter().rposition(is_users).unwrap_or(0);
            let plan = window.plan(said, run, &state);
            if let Some((_, before, sent)) = last.filter(|(begun, ..)| *begun == run) {
                let grown = [&sent, &said[before..]].concat();
                if plan.state == state {
                    prop_assert_eq!(&*plan.messages, &*grown);
                } else {
                    prop_assert!(tokens(&grown) > most, "it was cut without need");
                }
            }
            state = plan.state;
            last = Some((run, end, plan.messages.into_owned()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A counter that says anything, or panics, breaks nothing.
    #[test]
    fn any_counter_will_do(messages in conversations(), seed: u64, most: u64) {
        let counter = move |message: &Message| {
            let mixed = (message.text().len() as u64 + 1).wrapping_mul(seed | 1);
            assert!(!mixed.is_multiple_of(5), "it counts no such thing");
            mixed
        };
        let window = Window::new().max_tokens(most).counter(counter);
        let mut state = WindowState::default();
        state.calibrate(seed, most);
        let plan = window.plan(&messages, messages.len(), &state);
        prop_assert_eq!(broken_rule(&plan.messages), None);
    }
}
