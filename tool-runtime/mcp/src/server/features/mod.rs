//! Offers of a server beside tools: prompts, resources, completions, tasks and logs.

pub(super) mod completion;
pub(super) mod get_prompt;
pub(super) mod level;
pub(super) mod page;
pub(super) mod prompts;
pub(super) mod resources;
pub(super) mod tasks;
