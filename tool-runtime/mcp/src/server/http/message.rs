use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The part of a message that has to be known before the SDK decodes it.
#[derive(Default, Deserialize)]
pub(super) struct MessageHead<'m> {
    #[serde(borrow)]
    method: Option<Cow<'m, str>>,
    id: Option<IgnoredAny>,
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

    /// Whether the message awaits a response.
    pub(super) fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }
}
