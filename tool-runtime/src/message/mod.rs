//! What passes between a program, a model and its tools: plain serde data.
//!
//! Nothing here knows how a provider spells these things on the wire, how a tool
//! decodes its arguments, or who runs it.

mod arguments;
mod call;
mod reasoning;
mod transcript;
mod usage;

pub use arguments::Arguments;
pub use call::{CallId, Image, ToolCall, ToolResult};
pub use reasoning::Reasoning;
pub use transcript::{AssistantPart, Message, UserPart};
pub use usage::Usage;
