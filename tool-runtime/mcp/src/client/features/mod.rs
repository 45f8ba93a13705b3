//! Features of servers beside tools: resources, prompts and completion.

pub(crate) mod completion;
pub(crate) mod feature_error;
pub(crate) mod feature_tools;
pub(crate) mod offered_features;
pub(crate) mod prompts;
pub(crate) mod resources;
