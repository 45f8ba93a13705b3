//! Messages, tool calls, results and token usage: plain serde data.
//!
//! This is what a program, a model and its tools exchange. The module knows neither the formats of
//! providers nor how a tool decodes its arguments.

mod arguments;
mod call;
mod content;
pub(crate) mod first_bytes;
pub(crate) mod image_type;
mod media;
mod reasoning;
mod resource;
mod tool_kind;
mod tool_result;
mod transcript;
mod untrusted;
mod usage;
pub(crate) mod visible;

pub use arguments::Arguments;
pub use call::{CallId, ToolCall};
pub use content::ContentPart;
pub use media::{Audio, FileData, Image, Media};
pub use reasoning::Reasoning;
pub use resource::{EmbeddedResource, ResourceData, ResourceLink};
pub use tool_kind::ToolKind;
pub use tool_result::ToolResult;
pub use transcript::{AssistantPart, Message};
pub use untrusted::{Untrusted, escape_template_tokens};
pub(crate) use untrusted::{keep_head, keep_tail};
pub use usage::Usage;
pub(crate) use visible::{invisible_character, visible_json, visible_value};
pub use visible::{strip_invisible, visible};
