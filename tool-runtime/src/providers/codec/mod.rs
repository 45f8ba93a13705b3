//! What providers differ in: how they spell a conversation, and how their replies are read. Here is
//! all that a [`Client`](super::Client) for one more of them is made of.

mod arguments;
mod counts;
mod environment;
mod ids;
mod source;

use std::fmt;

use serde_json::Value;

pub use arguments::{object, object_text, written_object};
pub use counts::{Counts, count};
pub use environment::Environment;
pub use ids::{IdRules, WireIds};
pub use source::Source;

use crate::models::{ChatReply, ChatRequest, Deltas, ModelError, NameRules, WireNames};
use crate::schema::Dialect;

/// A provider's way to spell things. Pure: no network, no clock, no chance.
pub trait Codec: Clone + fmt::Debug + Send + Sync + 'static {
    /// What it asks of the names of tools.
    const NAMES: NameRules;
    /// How the messages of its streams are told from each other.
    const FRAMING: Framing;

    /// Members of a request that hold members of their own which a program may add to: what comes
    /// [extra](crate::models::ChatOptions::extra()) for one of them joins those that are there.
    const NESTED: &'static [&'static str] = &[];

    /// The dialect of schemas that it can hold a model to.
    const STRICT: Option<Dialect> = None;

    /// Where below the base of its API it is asked. A segment that begins with a colon is a method of
    /// the one before it.
    fn path(model: &str, is_streamed: bool) -> Vec<&str>;

    /// What the address says behind the path; nothing unless a provider wants it.
    fn query(_is_streamed: bool) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The header that carries a key.
    fn key_header(key: &str) -> (&'static str, String);

    /// The body of a request.
    ///
    /// # Errors
    /// It can't be said in this provider's words.
    fn encode(
        &self,
        model: &str,
        request: ChatRequest<'_>,
        names: &WireNames,
        is_streamed: bool,
    ) -> Result<Value, ModelError>;

    /// The reply that a body holds.
    ///
    /// # Errors
    /// It holds none.
    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, Unreadable>;

    /// What puts the reply of a stream together.
    fn assembler(&self, names: WireNames) -> impl Assemble;
}

/// How the messages of a stream are told from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events (the HTML standard, section "Server-sent events"); of each, its data.
    Events,
    /// A line is a message.
    Lines,
}

/// Puts a reply together, message by message.
pub trait Assemble: Send {
    /// Takes the next message of the stream, and tells of what it adds.
    ///
    /// # Errors
    /// It can't be read, or says that something went wrong.
    fn take(&mut self, message: &str, deltas: &mut Deltas<'_>) -> Result<(), Unreadable>;

    /// Whether the stream has said that this was all: whoever waits for the connection to end may wait
    /// for long. Not every provider says so.
    fn is_done(&self) -> bool {
        false
    }

    /// The reply, which is the same as if it had come as a whole.
    ///
    /// # Errors
    /// The stream ended before its reply did.
    fn finish(self) -> Result<ChatReply, Unreadable>;
}

/// Why there is no reply in what came.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Unreadable {
    /// It is not what the provider's protocol promises.
    Malformed(String),
    /// It reports an error instead.
    Failed(Value),
    /// It ended before the reply did.
    Ended,
}

impl Unreadable {
    /// It is not what was promised, for this reason.
    pub fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed(reason.into())
    }
}

/// What an error of a provider says, in its own words.
pub(super) fn message_of(failure: &Value) -> String {
    match failure.get("message").unwrap_or(failure) {
        Value::String(message) => message.clone(),
        _ => failure.to_string(),
    }
}

/// What a user says where a conversation begins with the model, or where nobody has said anything: no
/// provider takes either.
pub const EARLIER: &str = "[The conversation goes on.]";

/// What a user says where the model spoke last, and isn't taken to go on from its own words.
pub const GO_ON: &str = "[Go on.]";

/// Whether of these messages none is a user's, a model's or a tool's: then a user has to begin.
pub fn nobody_spoke(messages: &[Value]) -> bool {
    messages.iter().all(|message| message.get("role").is_some_and(|role| role == "system"))
}

/// Sets a member of an object; what is no object stays as it is.
pub fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.into(), value.into());
    }
}
