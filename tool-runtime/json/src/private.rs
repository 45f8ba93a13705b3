//! Internals that `tool-runtime` uses. They are not part of the public API.

#[cfg(feature = "check")]
pub use crate::check::{PathSegment, format_mismatch, is_supported, path, value_at_mut};
pub use crate::number::with_normalized_integers;
#[cfg(feature = "check")]
pub use crate::pointer::resolve;
