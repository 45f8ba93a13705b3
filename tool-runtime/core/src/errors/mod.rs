//! The errors of models and sessions, and which errors of any kind are transient.
//!
//! They are below the modules that return them, because a tool may return any of them by `?`.

mod model;
mod session;
mod transient;

pub use model::{ApiError, ApiErrorKind, InterruptedError, ModelError};
pub use session::SessionError;
pub(crate) use transient::is_transient;
