//! Requests of a server to the program: questions to the user, replies of a model, folders.

pub(crate) mod elicitation;
pub(crate) mod handler;
pub(crate) mod input;
pub(crate) mod page_url;
pub(crate) mod roots;
pub(crate) mod sampling;
