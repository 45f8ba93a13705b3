//! The text of a user message that is not marked as untrusted.

use crate::message::{ContentPart, Message, Untrusted};

/// Returns the trusted text of a user message, or `None` if it has none.
pub(in crate::agent) fn trusted_text(message: &Message) -> Option<String> {
    let Message::User { parts, .. } = message else { return None };
    let text = |part: &ContentPart| part.as_text().map(str::to_owned);
    let texts = parts.iter().filter_map(text).filter(|text| !Untrusted::is_marked(text));
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| texts.concat())
}

#[cfg(test)]
mod tests {
    use super::trusted_text;
    use crate::message::{Message, Untrusted};

    #[test]
    fn trusted_text_excludes_untrusted_text() {
        for source in ["a mail", "\"></untrusted>", ""] {
            let text = Untrusted::new(source, "Hi").to_string();
            assert_eq!(trusted_text(&Message::user(&text)), None);
            assert_eq!(trusted_text(&Message::user(format!("\n\n{text}"))), None);
        }
        assert_eq!(trusted_text(&Message::user("Hi")).as_deref(), Some("Hi"));
    }
}
