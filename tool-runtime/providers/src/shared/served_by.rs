use serde_json::Value;

use tool_core::ChatReply;

/// The id of a reply and the model that made it, as they occur in a body or in its chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedBy {
    id: Option<String>,
    model: Option<String>,
}

impl ServedBy {
    /// Takes the values of a body or chunk. Servers leave them out, or repeat them in each chunk.
    pub(crate) fn merge(&mut self, id: Option<Value>, model: Option<Value>) {
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        };
        self.id = text(id).or_else(|| self.id.take());
        self.model = text(model).or_else(|| self.model.take());
    }

    pub(crate) fn set_in(self, mut reply: ChatReply) -> ChatReply {
        (reply.id, reply.model) = (self.id, self.model);
        reply
    }
}
