use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The part of a message that has to be known before the SDK decodes it.
#[derive(Default, Deserialize)]
pub(super) struct MessageHead<'m> {
    #[serde(borrow)]
    method: Option<Cow<'m, str>>,
    #[serde(borrow)]
    id: Option<Id<'m>>,
}

/// The id of a message.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id<'m> {
    Text(#[serde(borrow)] Cow<'m, str>),
    Other(IgnoredAny),
}

impl<'m> MessageHead<'m> {
    /// Reads a message. One that is invalid is of no kind, and is left to the SDK.
    pub(super) fn of(body: &'m [u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// Whether the message would start a session.
    pub(super) fn is_initialize(&self) -> bool {
        self.method.as_deref() == Some("initialize")
    }

    /// Whether the message ends or answers something that runs: it is a notification, a response,
    /// or the cancellation of a task.
    pub(super) fn ends_or_answers(&self) -> bool {
        match &self.method {
            Some(method) => self.id.is_none() || method == "tasks/cancel",
            None => self.id.is_some(),
        }
    }

    /// Whether the message answers none of the requests of the server, whose ids are numbers. The
    /// SDK would take `"3"` for the answer to request 3.
    pub(super) fn answers_nothing(&self) -> bool {
        let is_number = |text: &str| text.parse::<i64>().is_ok();
        self.method.is_none() && matches!(&self.id, Some(Id::Text(text)) if is_number(text))
    }

    /// Whether the message awaits a response.
    pub(super) fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_of_a_message_is_found() {
        for (message, is_request, ends_or_answers) in [
            (r#"{"method":"tools/call","id":1}"#, true, false),
            (r#"{"method":"tasks/cancel","id":"a"}"#, true, true),
            (r#"{"method":"notifications/cancelled","params":{}}"#, false, true),
            (r#"{"id":1,"result":{}}"#, false, true),
            (r#"{"id":1,"error":{}}"#, false, true),
            (r#"{"result":{}}"#, false, false),
            ("[]", false, false),
            (r#"{"id":"1","result":{}}"#, false, true),
            ("junk", false, false),
            ("", false, false),
        ] {
            let head = MessageHead::of(message.as_bytes());
            let found = (head.is_request(), head.ends_or_answers());
            assert_eq!(found, (is_request, ends_or_answers), "{message}");
            assert_eq!(head.answers_nothing(), message.contains(r#""id":"1""#), "{message}");
        }
    }
}
