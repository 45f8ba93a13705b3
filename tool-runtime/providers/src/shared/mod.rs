//! Helpers that the built-in codecs and clients share.

mod counts;
mod files;
mod served_by;
mod sources;

use serde_json::Value;

pub(crate) use counts::{Counts, count};
pub(crate) use files::{data_url_part, file_part, image_type_of, refused_part, text_with_notes};
pub(crate) use served_by::ServedBy;
pub(crate) use sources::{annotated, place_sources, shifted, source, source_list};

/// The types of images that most APIs accept. An API refuses a request with an image of any other
/// type, so a codec sends a note in its place.
pub(crate) const COMMON_IMAGES: &[&str] = &["image/gif", "image/jpeg", "image/png", "image/webp"];

/// Text of the user message that opens a conversation which has none: no provider accepts a
/// conversation that begins with the model, or one without messages.
pub(crate) const OPENING: &str = "[The conversation goes on.]";

/// Text of the user message that follows a final model message, for providers that do not continue
/// the text of the model.
pub(crate) const CONTINUATION: &str = "[Go on.]";

/// Returns whether all messages are system messages; a user message has to follow then.
pub(crate) fn only_system(messages: &[Value]) -> bool {
    messages.iter().all(|message| message.get("role").is_some_and(|role| role == "system"))
}

/// Sets a member of an object. A value of another type stays unchanged.
pub(crate) fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.into(), value.into());
    }
}
