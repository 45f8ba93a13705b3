//! Messages, tool calls, results and token usage: plain serde data.
//!
//! This is what a program, a model and its tools exchange. The module knows neither the formats of
//! providers nor how a tool decodes its arguments.

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
