//! Serializes the shared transcript as a plain list of messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::Message;

pub(super) fn serialize<S: serde::Serializer>(
    messages: &Arc<Vec<Message>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    messages.as_slice().serialize(serializer)
}

pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<Vec<Message>>, D::Error> {
    Vec::deserialize(deserializer).map(Arc::new)
}
