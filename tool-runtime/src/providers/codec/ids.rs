//! Ids of calls, as providers want them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::message::{CallId, Message};

/// The ids under which the calls of a conversation are sent: their own where the provider takes them,
/// and others where it doesn't. Which ones is told by the id alone, but for the rare two that would
/// get the same; so a conversation that grows is sent as before.
#[derive(Clone, Debug)]
pub struct WireIds<'m>(HashMap<&'m str, String>);

/// What a provider takes for an id.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum IdRules {
    /// Letters, digits, `_` and `-`: Anthropic.
    Word,
    /// Nine letters or digits: Mistral.
    Nine,
    /// The same, 64 at most: OpenAI's Responses.
    Short,
    /// Anything, of 40 characters at most: OpenAI's chat completions.
    Forty,
}

impl IdRules {
    fn fit(self, id: &str) -> bool {
        match self {
            Self::Short => id.len() <= 64 && Self::Word.fit(id),
            Self::Word => {
                let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                !id.is_empty() && id.bytes().all(is_sign)
            }
            Self::Forty => !id.is_empty() && id.chars().count() <= 40,
            Self::Nine => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        }
    }

    fn mint(self, number: u64) -> String {
        match self {
            Self::Word | Self::Short | Self::Forty => format!("call_{number:016x}"),
            Self::Nine => {
                let places = std::iter::successors(Some(number), |rest| Some(rest / 62)).take(9);
                let sign = |rest: u64| match (rest % 62) as u8 {
                    digit @ 0..10 => b'0' + digit,
                    upper @ 10..36 => b'A' + upper - 10,
                    lower => b'a' + lower - 36,
                };
                places.map(|rest| char::from(sign(rest))).collect()
            }
        }
    }
}

impl<'m> WireIds<'m> {
    /// The ids of the calls of this conversation, sent to a provider with these rules.
    pub fn new(messages: &'m [Message], rules: IdRules) -> Self {
        let ids = messages.iter().flat_map(Message::calls).map(|call| call.id.as_str());
        let (fitting, others): (Vec<_>, Vec<_>) = ids.partition(|id| rules.fit(id));
        let mut taken: HashSet<String> = fitting.into_iter().map(ToOwned::to_owned).collect();
        let mut sent = HashMap::new();
        for id in others {
            sent.entry(id).or_insert_with(|| {
                let mut number = hash(id);
                let mut minted = rules.mint(number);
                while !taken.insert(minted.clone()) {
                    number = number.wrapping_add(1);
                    minted = rules.mint(number);
                }
                minted
            });
        }
        Self(sent)
    }

    /// Under which id this call is sent.
    pub fn wire<'i>(&'i self, id: &'i CallId) -> Cow<'i, str> {
        self.0.get(id.as_str()).map_or(id.as_str(), String::as_str).into()
    }
}

/// FNV-1a, of 64 bits: the same on every machine and in every version.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{IdRules, WireIds};
    use crate::message::{AssistantPart, CallId, Message, ToolCall};

    fn message(ids: &[&str]) -> Message {
        let call = |id: &&str| AssistantPart::Call(ToolCall::new(*id, "t", "{}"));
        Message::Assistant { parts: ids.iter().map(call).collect() }
    }

    #[test]
    fn ids_fit_and_stay_apart() {
        let ids = ["a", "toolu_01-B", "abcDEF129", "f.add:0", "f.add:1", "é", " ", "a b"];
        for (rules, fitting) in [(IdRules::Word, "toolu_01-B"), (IdRules::Nine, "abcDEF129")] {
            let clash = rules.mint(super::hash("é"));
            let messages = [message(&ids), message(&[&clash])];
            let wire = WireIds::new(&messages, rules);
            let sent: HashSet<_> = ids
                .iter()
                .chain([&clash.as_str()])
                .map(|id| wire.wire(&CallId::from(*id)).into_owned())
                .collect();
            assert_eq!(sent.len(), ids.len() + 1);
            assert!(sent.iter().all(|id| rules.fit(id)), "{sent:?}");
            assert_eq!(wire.wire(&fitting.into()), fitting);
            // The same in a longer conversation.
            let longer = [message(&ids[2..5]), message(&["x"])];
            let again = WireIds::new(&longer, rules);
            for id in &ids[2..5] {
                assert_eq!(again.wire(&CallId::from(*id)), wire.wire(&CallId::from(*id)));
            }
        }
    }

    #[test]
    fn only_ids_that_are_too_long_are_replaced() {
        let [fits, too_long] = [40, 41].map(|length| "é".repeat(length));
        for (rules, id, stays) in [
            (IdRules::Forty, fits.as_str(), true),
            (IdRules::Forty, "f.add:0 ", true),
            (IdRules::Forty, &too_long, false),
            (IdRules::Short, &"a".repeat(64), true),
            (IdRules::Short, &"a".repeat(65), false),
        ] {
            let messages = [message(&[id])];
            let wire = WireIds::new(&messages, rules);
            let id = CallId::from(id);
            assert_eq!(wire.wire(&id) == id.as_str(), stays, "{id}");
            assert!(rules.fit(&wire.wire(&id)), "{id}");
        }
    }

    #[test]
    fn nine_signs_tell_ids_apart() {
        let minted: HashSet<_> =
            (0..100_000).map(|n| IdRules::Nine.mint(super::hash(&format!("call_{n}")))).collect();
        assert_eq!(minted.len(), 100_000);
        for (number, id) in [(0, "000000000"), (61, "z00000000"), (u64::MAX, "FYHA61aHg")] {
            assert_eq!(IdRules::Nine.mint(number), id);
            assert!(IdRules::Nine.fit(id));
        }
        for id in ["", "abcDEF12", "abcDEF1234", "abc-EF123", "abcdefgé"] {
            assert!(!IdRules::Nine.fit(id), "{id}");
        }
    }
}
