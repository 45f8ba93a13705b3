//! The suite for codecs of model APIs, and other clients of models: what their requests contain.
//!
//! A codec that does not know a kind of content must return an error, because a picture that is
//! dropped silently makes the model answer another question. The suite sends each variant of the
//! content and of the options of a [`ChatRequest`], and looks for it in the body of the request.
//!
//! ```
//! use tool_conformance::{Violation, codecs};
//! use tool_runtime::ChatRequest;
//! use tool_runtime::models::WireNames;
//! use tool_runtime::providers::codec::Codec;
//!
//! /// Returns the violations of a codec of your own.
//! async fn violations<C: Codec>(codec: C) -> Vec<Violation> {
//!     let encode = async |request: ChatRequest<'_>| {
//!         let names = request.tools.iter().map(|tool| tool.name.as_str());
//!         let names = WireNames::new(names, C::NAME_RULES);
//!         codec.encode("some-model", request, &names, false)
//!     };
//!     codecs::check(encode).await
//! }
//! ```

// - `content.rs`: messages with each kind of part, and what of them a request must contain.
// - `options.rs`: tools, tool choices and other options.

mod content;
mod options;

use serde_json::Value;
use tool_core::{ChatRequest, ModelError};

use crate::Violation;
use crate::checks::Checks;

const REFUSED: &str = "a refusal is `ModelError::Setup` with a reason";

/// Checks that a codec sends all content and all options of a request, or refuses the request.
///
/// `encode` returns the body of the request that a client would send for a [`ChatRequest`], without
/// streaming. A client that is not a codec is checked by a transport that keeps the body.
///
/// - Each text, call and result is in the body. Data that the API does not accept has a
///   [note](tool_core::message::Media::note) in its place.
/// - Different [tool choices](tool_core::ToolChoice) and options have different bodies.
/// - What the API can't express is [`ModelError::Setup`] with a reason.
///
/// [Reasoning](tool_core::Reasoning) of another provider is left out, and
/// [`extra`](tool_core::ChatOptions::extra) is not checked, because a client adds it. The
/// reasons for which replies end are in no request.
///
/// ```
/// use serde_json::json;
/// use tool_conformance::codecs;
/// use tool_runtime::{ChatRequest, Message};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// // Drops pictures, calls and options.
/// let encode = async |request: ChatRequest<'_>| {
///     Ok(json!(request.messages.iter().map(Message::text).collect::<Vec<_>>()))
/// };
/// let found = codecs::check(encode).await;
/// assert!(found.iter().any(|it| it.expected.contains("an image")));
/// # }
/// ```
pub async fn check(
    encode: impl AsyncFn(ChatRequest<'_>) -> Result<Value, ModelError>,
) -> Vec<Violation> {
    let mut checks = Checks::default();
    for sample in content::samples() {
        checks.run(content::check(&encode, &sample)).await;
    }
    checks.run(options::check_tools(&encode)).await;
    checks.run(options::check_tool_choices(&encode)).await;
    for sample in options::samples() {
        checks.run(options::check(&encode, &sample)).await;
    }
    checks.found()
}

/// Returns the body of a request, or `None` if the codec refuses it with a reason.
async fn body(
    encode: &impl AsyncFn(ChatRequest<'_>) -> Result<Value, ModelError>,
    request: ChatRequest<'_>,
) -> Result<Option<Value>, Violation> {
    match encode(request).await {
        Ok(body) => Ok(Some(body)),
        Err(ModelError::Setup(reason)) if !reason.trim().is_empty() => Ok(None),
        Err(error) => Err(Violation::new(REFUSED, "`Setup` with a reason", format!("{error:?}"))),
    }
}

/// Returns whether a text is in a body: in a string, in the name of a member, or as a number.
fn contains(body: &Value, text: &str) -> bool {
    match body {
        Value::String(string) => string.contains(text),
        Value::Number(number) => number.to_string() == text,
        Value::Array(items) => items.iter().any(|item| contains(item, text)),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains(text) || contains(value, text))
        }
        Value::Null | Value::Bool(_) => false,
    }
}
