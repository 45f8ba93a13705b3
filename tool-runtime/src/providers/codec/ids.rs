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
    /// The same, 64 at most: OpenAI's Responses.
    Short,
}

impl IdRules {
    fn fit(self, id: &str) -> bool {
        match self {
            Self::Short => id.len() <= 64 && Self::Word.fit(id),
            Self::Word => {
                let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                !id.is_empty() && id.bytes().all(is_sign)
            }
        }
    }

    fn mint(self, number: u64) -> String {
        match self {
            Self::Word | Self::Short => format!("call_{number:016x}"),
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

    #[test]
    fn ids_fit_and_stay_apart() {
        let ids = ["a", "toolu_01-B", "functions.add:0", "functions.add:1", "é", " ", "a b"];
        let clash = IdRules::Word.mint(super::hash("é"));
        let message = |ids: &[&str]| {
            let call = |id: &&str| AssistantPart::Call(ToolCall::new(*id, "t", "{}"));
            Message::Assistant { parts: ids.iter().map(call).collect() }
        };
        let messages = [message(&ids), message(&[&clash])];
        let wire = WireIds::new(&messages, IdRules::Word);
        let sent: HashSet<_> = ids
            .iter()
            .chain([&clash.as_str()])
            .map(|id| wire.wire(&CallId::from(*id)).into_owned())
            .collect();
        assert_eq!(sent.len(), ids.len() + 1);
        assert!(sent.iter().all(|id| IdRules::Word.fit(id)), "{sent:?}");
        assert_eq!(wire.wire(&"toolu_01-B".into()), "toolu_01-B");
        // The same in a longer conversation.
        let longer = [message(&ids[2..4]), message(&["x"])];
        let again = WireIds::new(&longer, IdRules::Word);
        for id in &ids[2..4] {
            assert_eq!(again.wire(&CallId::from(*id)), wire.wire(&CallId::from(*id)));
        }
    }
}
