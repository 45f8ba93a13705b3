//! Messages, tool calls, results and token usage: plain serde data.
//!
//! This is what a program, a model and its tools exchange. The module knows neither the formats of
//! providers nor how a tool decodes its arguments.

pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod content;
pub(crate) mod delta;
pub(crate) mod finish_reason;
pub(crate) mod first_bytes;
pub(crate) mod foreign;
pub(crate) mod media;
pub(crate) mod reasoning;
mod resource;
pub(crate) mod source;
pub(crate) mod tool_kind;
pub(crate) mod tool_result;
pub(crate) mod transcript;
pub(crate) mod untrusted;
pub(crate) mod usage;
pub(crate) mod visible;

pub(crate) use arguments::Arguments;
pub(crate) use call::{CallId, ToolCall};
pub(crate) use content::ContentPart;
pub(crate) use delta::{Delta, DeltaSink, emit_reply};
pub(crate) use finish_reason::FinishReason;
pub(crate) use media::Image;
pub use media::{Audio, FileContent, FileData, GeneratedFile, Media};
pub(crate) use reasoning::Reasoning;
pub use resource::{EmbeddedResource, ResourceData, ResourceLink};
pub use source::Source;
pub(crate) use tool_kind::{Effect, ToolKind};
pub(crate) use tool_result::ToolResult;
pub use transcript::MessageId;
pub(crate) use transcript::{AssistantPart, Message};
pub use untrusted::escape_template_tokens;
pub(crate) use untrusted::{Untrusted, keep_head, keep_tail};
pub(crate) use usage::Usage;
pub use usage::{ModelUsage, UsedModel};
pub(crate) use visible::{invisible_character, visible_json, visible_value};
pub use visible::{strip_invisible, visible};
