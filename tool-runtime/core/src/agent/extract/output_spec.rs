//! The output that an extraction asks for: its schema, the texts of the requests, and the decoding
//! of a reply.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::drivers::ReplyParseErrorKind;
use crate::guard::{Panic, catch_panic};
use crate::json::{self, Fix};
use crate::message::ContentPart;
use crate::schema::{OrderedJson, Schema, rebase};
use crate::tool::problems_of;

/// The first words of the messages that ask for a value, and that ask again.
const REQUEST_PREFIX: &str = "Give the answer as JSON alone, in the form of this JSON Schema:";
const RETRY_PREFIX: &str = "That is not it:";

/// The output to request. Providers accept object schemas only: any other schema becomes the member
/// `value` of an object.
pub(crate) struct OutputSpec {
    pub(crate) schema: Schema,
    /// The schema of the member, if the output is wrapped.
    member: Option<Schema>,
}

impl OutputSpec {
    pub(crate) fn of<T: JsonSchema>() -> Self {
        let schema = Schema::of::<T>();
        let is_wrapped = schema.as_value().get("type").is_none_or(|kind| kind != "object");
        if !is_wrapped {
            return Self { schema, member: None };
        }
        let wrapper = Schema::from(json!({
            "type": "object",
            "properties": { "value": rebase(schema.as_value(), "/properties/value") },
            "required": ["value"],
            "additionalProperties": false,
        }));
        Self { schema: wrapper, member: Some(schema) }
    }

    /// Returns the message that asks for the output.
    pub(crate) fn request(&self) -> String {
        let schema = OrderedJson(self.schema.as_value());
        format!("{REQUEST_PREFIX} {schema}")
    }

    /// Decodes the output, or returns what is wrong with it.
    pub(crate) fn decode<T: DeserializeOwned>(&self, text: &str) -> Result<(T, Vec<Fix>), Invalid> {
        let Some(member) = &self.member else { return decode(text, &self.schema) };
        let wrapped = decode(text, &self.schema).map(|(Wrapper { value }, fixes)| (value, fixes));
        // A model may give the value without its wrapper. Then all that is wrong is within the
        // value.
        let is_wrapped =
            || json::parse(text).is_ok_and(|parsed| parsed.value.get("value").is_some());
        wrapped.or_else(|of_wrapped| {
            decode(text, member)
                .map_err(|of_value| if is_wrapped() { of_wrapped } else { of_value })
        })
    }
}

/// Returns the message that states what is wrong with the output, and asks for it again.
pub(crate) fn retry_request(problem: &str) -> String {
    format!("{RETRY_PREFIX} {problem}\nGive the JSON again, whole, and nothing else.")
}

/// Returns whether the part of a message asks for an output.
pub(crate) fn is_output_request(part: &ContentPart) -> bool {
    let ContentPart::Text { text } = part else { return false };
    // A blank line separates it from what the user wrote before.
    let text = text.trim_start();
    [REQUEST_PREFIX, RETRY_PREFIX].iter().any(|prefix| text.starts_with(prefix))
}

/// Why an output is invalid: the kind of failure, and the text for the model.
pub(crate) type Invalid = (ReplyParseErrorKind, String);

/// Repairs, validates and decodes a text.
fn decode<T: DeserializeOwned>(text: &str, schema: &Schema) -> Result<(T, Vec<Fix>), Invalid> {
    let parsed = json::parse_as(text, schema.as_value()).map_err(|error| {
        (ReplyParseErrorKind::Extraction, format!("it can't be read as JSON: {error}"))
    })?;
    if parsed.truncated {
        return Err((ReplyParseErrorKind::Extraction, "it was cut off".to_owned()));
    }
    let is_valid = schema.check(&parsed.value).is_empty();
    // From the text, not the value, which has lost the digits beyond 64 bits.
    let decoded =
        catch_panic(|| if is_valid { serde_json::from_str::<T>(parsed.json()).ok() } else { None });
    let lines = match decoded {
        Ok(Some(value)) => return Ok((value, parsed.fixes)),
        Ok(None) => problems_of::<T>(schema, &parsed.value, parsed.json(), false).lines,
        // The panic message is not for the model: it may quote anything.
        Err(Panic(_)) => Vec::new(),
    };
    let problem = if lines.is_empty() {
        "it can't be taken".to_owned()
    } else {
        format!("this is wrong with it:\n- {}", lines.join("\n- "))
    };
    Err((ReplyParseErrorKind::Validation, problem))
}

#[derive(serde::Deserialize)]
struct Wrapper<T> {
    value: T,
}
