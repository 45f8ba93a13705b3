//! Replacement of call ids that a provider does not accept.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use tool_core::{CallId, Message};

/// Call ids of a conversation in the form that a provider accepts.
///
/// An id that fits the [`IdRules`] is sent unchanged. Any other id is replaced by one that is
/// derived from the id alone, except in the rare case that two ids would get the same replacement.
/// A conversation that grows therefore keeps its ids.
///
/// ```
/// use tool_runtime::providers::codec::{IdRules, WireIds};
/// use tool_runtime::{AssistantPart, CallId, Message, ToolCall};
///
/// let call = |id| AssistantPart::Call(ToolCall::new(id, "add", "{}"));
/// let messages = [Message::reply(vec![call("toolu_1"), call("f.add:0")])];
/// let ids = WireIds::new(&messages, IdRules::Token);
/// assert_eq!(ids.wire(&CallId::from("toolu_1")), "toolu_1");
/// assert!(ids.wire(&CallId::from("f.add:0")).starts_with("call_"));
/// ```
#[derive(Clone, Debug)]
pub struct WireIds<'m>(HashMap<&'m str, String>);

/// Rules of a provider for call ids.
///
/// ```
/// use tool_runtime::providers::codec::{IdRules, WireIds};
/// use tool_runtime::{AssistantPart, CallId, Message, ToolCall};
///
/// let call = AssistantPart::Call(ToolCall::new("call_1", "add", "{}"));
/// let messages = [Message::reply(vec![call])];
/// let ids = WireIds::new(&messages, IdRules::Alphanumeric9);
/// assert_eq!(ids.wire(&CallId::from("call_1")).len(), 9);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum IdRules {
    /// One or more ASCII letters, digits, `_` and `-` (Anthropic).
    Token,
    /// Exactly nine ASCII letters and digits (Mistral).
    Alphanumeric9,
    /// Like [`Token`](Self::Token), with at most 64 characters (OpenAI's Responses).
    Token64,
    /// Any characters, at least one and at most 40 (OpenAI's chat completions).
    Any40,
}

impl IdRules {
    fn accepts(self, id: &str) -> bool {
        match self {
            Self::Token64 => id.len() <= 64 && Self::Token.accepts(id),
            Self::Token => {
                let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                !id.is_empty() && id.bytes().all(is_allowed)
            }
            Self::Any40 => !id.is_empty() && id.chars().count() <= 40,
            Self::Alphanumeric9 => {
                id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
        }
    }

    fn mint(self, number: u64) -> String {
        match self {
            Self::Token | Self::Token64 | Self::Any40 => format!("call_{number:016x}"),
            Self::Alphanumeric9 => {
                let places = std::iter::successors(Some(number), |rest| Some(rest / 62)).take(9);
                let digit = |rest: u64| match (rest % 62) as u8 {
                    numeral @ 0..10 => b'0' + numeral,
                    upper @ 10..36 => b'A' + upper - 10,
                    lower => b'a' + lower - 36,
                };
                places.map(|rest| char::from(digit(rest))).collect()
            }
        }
    }
}

impl<'m> WireIds<'m> {
    /// Creates the ids of all calls in a conversation, for a provider with these rules.
    pub fn new(messages: &'m [Message], rules: IdRules) -> Self {
        let ids = messages.iter().flat_map(Message::calls).map(|call| call.id.as_str());
        let (fitting, others): (Vec<_>, Vec<_>) = ids.partition(|id| rules.accepts(id));
        let mut used: HashSet<String> = fitting.into_iter().map(ToOwned::to_owned).collect();
        let mut replaced = HashMap::new();
        for id in others {
            replaced.entry(id).or_insert_with(|| {
                let mut number = hash(id);
                let mut minted = rules.mint(number);
                while !used.insert(minted.clone()) {
                    number = number.wrapping_add(1);
                    minted = rules.mint(number);
                }
                minted
            });
        }
        Self(replaced)
    }

    /// Returns the id under which a call is sent.
    pub fn wire<'i>(&'i self, id: &'i CallId) -> Cow<'i, str> {
        self.0.get(id.as_str()).map_or(id.as_str(), String::as_str).into()
    }
}

/// Hashes a text with 64-bit FNV-1a, which is the same on every machine and in every version.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{IdRules, WireIds};
    use tool_core::{AssistantPart, CallId, Message, ToolCall};

    fn message(ids: &[&str]) -> Message {
        let call = |id: &&str| AssistantPart::Call(ToolCall::new(*id, "t", "{}"));
        Message::Assistant { id: None, parts: ids.iter().map(call).collect() }
    }

    #[test]
    fn ids_fit_the_rules_and_stay_distinct() {
        let ids = ["a", "toolu_01-B", "abcDEF129", "f.add:0", "f.add:1", "é", " ", "a b"];
        for (rules, fitting) in
            [(IdRules::Token, "toolu_01-B"), (IdRules::Alphanumeric9, "abcDEF129")]
        {
            let clash = rules.mint(super::hash("é"));
            let messages = [message(&ids), message(&[&clash])];
            let wire = WireIds::new(&messages, rules);
            let wire_ids: HashSet<_> = ids
                .iter()
                .chain([&clash.as_str()])
                .map(|id| wire.wire(&CallId::from(*id)).into_owned())
                .collect();
            assert_eq!(wire_ids.len(), ids.len() + 1);
            assert!(wire_ids.iter().all(|id| rules.accepts(id)), "{wire_ids:?}");
            assert_eq!(wire.wire(&fitting.into()), fitting);
            // Ids are the same in a longer conversation.
            let longer = [message(&ids[2..5]), message(&["x"])];
            let longer_ids = WireIds::new(&longer, rules);
            for id in &ids[2..5] {
                assert_eq!(longer_ids.wire(&CallId::from(*id)), wire.wire(&CallId::from(*id)));
            }
        }
    }

    #[test]
    fn only_too_long_ids_are_replaced() {
        let [fits, too_long] = [40, 41].map(|length| "é".repeat(length));
        for (rules, id, stays) in [
            (IdRules::Any40, fits.as_str(), true),
            (IdRules::Any40, "f.add:0 ", true),
            (IdRules::Any40, &too_long, false),
            (IdRules::Token64, &"a".repeat(64), true),
            (IdRules::Token64, &"a".repeat(65), false),
        ] {
            let messages = [message(&[id])];
            let wire = WireIds::new(&messages, rules);
            let id = CallId::from(id);
            assert_eq!(wire.wire(&id) == id.as_str(), stays, "{id}");
            assert!(rules.accepts(&wire.wire(&id)), "{id}");
        }
    }

    #[test]
    fn alphanumeric_ids_stay_distinct() {
        let minted: HashSet<_> = (0..100_000)
            .map(|n| IdRules::Alphanumeric9.mint(super::hash(&format!("call_{n}"))))
            .collect();
        assert_eq!(minted.len(), 100_000);
        for (number, id) in [(0, "000000000"), (61, "z00000000"), (u64::MAX, "FYHA61aHg")] {
            assert_eq!(IdRules::Alphanumeric9.mint(number), id);
            assert!(IdRules::Alphanumeric9.accepts(id));
        }
        for id in ["", "abcDEF12", "abcDEF1234", "abc-EF123", "abcdefgé"] {
            assert!(!IdRules::Alphanumeric9.accepts(id), "{id}");
        }
    }
}
