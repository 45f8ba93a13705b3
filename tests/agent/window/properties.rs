//! Properties of any conversation, window and state.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;
use tool_runtime::__workspace::{WindowPlan, WindowState, estimate_tokens};
use tool_runtime::agent::Turn;
use tool_runtime::agent::window::Window;
use tool_runtime::{AssistantPart, Message, Reasoning};

use support::histories::{config, histories};

const REASONING: &[fn() -> Reasoning] = &[
    || Reasoning::new("anthropic", "Hm", json!({ "type": "thinking", "thinking": "Hm" })),
    || Reasoning::new("openai", "", json!({ "type": "reasoning", "id": "r" })),
];

/// Generates conversations of several histories, longer than a single one.
fn conversations() -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec(histories(REASONING), 1..5).prop_map(|parts| parts.concat())
}

fn windows() -> impl Strategy<Value = Window> {
    let limit = prop_oneof![Just(None), (0..120u64).prop_map(Some), Just(Some(5_000))];
    (limit, any::<bool>()).prop_map(|(limit, drops_calls)| {
        let window = limit.map_or_else(Window::new, |limit| Window::new().max_tokens(limit));
        if drops_calls { window.drop_earlier_tool_calls() } else { window }
    })
}

fn is_user(message: &Message) -> bool {
    matches!(message, Message::User { .. })
}

fn is_system(message: &Message) -> bool {
    matches!(message, Message::System { .. })
}

/// Returns the first violation of the rules that every provider enforces.
///
/// Each call is answered once, in the next message, in order and by its name. No result lacks a
/// call. No id repeats. No reply is empty.
fn broken_rule(messages: &[Message]) -> Option<String> {
    let mut used = HashSet::new();
    let mut open: Vec<_> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let results: Vec<_> = match message {
            Message::Tool { results } => {
                results.iter().map(|result| (result.call.clone(), result.tool.clone())).collect()
            }
            _ => Vec::new(),
        };
        if results != open {
            return Some(format!("{index}: the calls {open:?} are answered by {results:?}"));
        }
        if matches!(message, Message::Tool { .. }) && results.is_empty() {
            return Some(format!("{index}: results without calls"));
        }
        open = message.calls().map(|call| (call.id.clone(), call.name.clone())).collect();
        if !open.iter().all(|(id, _)| !id.as_str().is_empty() && used.insert(id.clone())) {
            return Some(format!("{index}: an id is empty or a duplicate"));
        }
        if let Message::Assistant { parts, .. } = message {
            let has_content = |part: &AssistantPart| match part {
                AssistantPart::Text { text } => !text.trim().is_empty(),
                AssistantPart::Reasoning(thought) => thought.is_provider_action,
                _ => true,
            };
            if !parts.iter().any(has_content) {
                return Some(format!("{index}: an empty reply"));
            }
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} are not answered"))
}

/// Whether all of `part` is in `whole` in this order. A reply may have been reduced to its text.
fn is_in_order(part: &[Message], whole: &[Message]) -> bool {
    let text_only = |message: &Message| match message {
        Message::Assistant { parts, .. } if message.calls().next().is_some() => {
            let text = |part: &&AssistantPart| matches!(part, AssistantPart::Text { .. });
            Message::Assistant { id: None, parts: parts.iter().filter(text).cloned().collect() }
        }
        message => message.clone(),
    };
    let mut whole = whole.iter();
    part.iter()
        .all(|required| whole.any(|message| message == required || text_only(message) == *required))
}

fn tokens(messages: &[Message]) -> u64 {
    messages.iter().map(estimate_tokens).sum()
}

/// Normalizes a conversation, and returns it with the start of its last run.
fn in_order(messages: Vec<Message>) -> (Vec<Message>, usize) {
    let mut messages = Turn::new(messages, 1).into_transcript();
    // No request is sent before the results.
    if messages.last().is_some_and(|message| message.calls().next().is_some()) {
        messages.pop();
    }
    let run = messages.iter().rposition(is_user).unwrap_or(0);
    (messages, run)
}

proptest! {
    #![proptest_config(config())]

    /// Holds also for conversations that the loop would not produce.
    #[test]
    fn planned_messages_are_in_order(
        messages in conversations(),
        window in windows(),
        run in 0..40usize,
        states in prop::collection::vec(0..40usize, 4),
    ) {
        let state = json!({
            "history_start": states[0],
            "evicted_replies": { "run_start": states[1], "end": states[2] },
            "summary_end": states[3],
            "summary": "before",
        });
        let state: WindowState = serde_json::from_value(state).unwrap();
        for state in [WindowState::default(), state] {
            let WindowPlan { messages: windowed, state: next, .. } = window.plan(&messages, run, &state);
            prop_assert_eq!(broken_rule(&windowed), None, "{:#?}", windowed);
            let repeated = window.plan(&messages, run, &next);
            prop_assert_eq!(&repeated.messages, &windowed);
            prop_assert_eq!(repeated.state, next);
        }
    }

    /// Holds for normalized conversations.
    #[test]
    fn required_messages_stay_in_order(messages in conversations(), window in windows()) {
        let (messages, run) = in_order(messages);
        let windowed = window.plan(&messages, run, &WindowState::default()).messages;
        let is_original = |message: &&Message| !message.text().starts_with("[To save room");
        let original: Vec<_> = windowed.iter().filter(is_original).cloned().collect();
        prop_assert!(is_in_order(&original, &messages), "{:#?}\nof {:#?}", original, messages);

        let systems = |messages: &[Message]| -> Vec<_> {
            messages.iter().filter(|message| is_system(message)).cloned().collect()
        };
        prop_assert_eq!(systems(&windowed), systems(&messages));
        let starts_with_user = |messages: &[Message]| {
            messages.iter().find(|message| !is_system(message)).is_none_or(is_user)
        };
        prop_assert!(starts_with_user(&windowed) || !starts_with_user(&messages));
        if messages.get(run).is_some_and(is_user) {
            prop_assert!(windowed.contains(&messages[run]));
        }
        prop_assert_eq!(windowed.last(), messages.last());
    }

    /// Exceeds the limit only by messages that must stay.
    #[test]
    fn plan_stays_within_the_limit(messages in conversations(), most in 0..120u64) {
        let (messages, run) = in_order(messages);
        let window = Window::new().max_tokens(most);
        let windowed = window.plan(&messages, run, &WindowState::default()).messages;
        if tokens(&messages) <= most {
            prop_assert_eq!(&*windowed, &*messages);
        }
        // A limit of 0 leaves only the messages that must stay.
        let least = Window::new().max_tokens(0);
        let least = least.plan(&messages, run, &WindowState::default()).messages;
        prop_assert!(tokens(&windowed) <= most.max(tokens(&least)));
    }

    /// While the conversation grows, the plan grows at its end. It is cut only when it exceeds the
    /// limit.
    #[test]
    fn cut_moves_in_steps(messages in conversations(), most in 20..120u64, drops_calls: bool) {
        let (messages, _) = in_order(messages);
        let window = Window::new().max_tokens(most);
        let window = if drops_calls { window.drop_earlier_tool_calls() } else { window };
        let mut state = WindowState::default();
        // The start of the run, the length of the conversation, and the planned messages.
        let mut last: Option<(usize, usize, Vec<Message>)> = None;
        for end in 1..=messages.len() {
            let earlier = &messages[..end];
            if earlier.last().is_some_and(|message| message.calls().next().is_some()) {
                // No request is sent before the results.
                continue;
            }
            let run = earlier.iter().rposition(is_user).unwrap_or(0);
            let plan = window.plan(earlier, run, &state);
            if let Some((_, before, previous)) = last.filter(|(start, ..)| *start == run) {
                let extended = [&previous, &earlier[before..]].concat();
                if plan.state == state {
                    prop_assert_eq!(&*plan.messages, &*extended);
                } else {
                    prop_assert!(tokens(&extended) > most, "the conversation was cut below the limit");
                }
            }
            state = plan.state;
            last = Some((run, end, plan.messages.into_owned()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The counter returns random numbers or panics.
    #[test]
    fn plan_is_in_order_with_any_counter(messages in conversations(), seed: u64, most: u64) {
        let counter = move |message: &Message| {
            let mixed = (message.text().len() as u64 + 1).wrapping_mul(seed | 1);
            assert!(!mixed.is_multiple_of(5), "uncountable");
            mixed
        };
        let window = Window::new().max_tokens(most).counter(counter);
        let mut state = WindowState::default();
        state.calibrate(seed, most);
        let plan = window.plan(&messages, messages.len(), &state);
        prop_assert_eq!(broken_rule(&plan.messages), None);
    }
}
