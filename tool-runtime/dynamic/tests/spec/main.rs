//! The check of specs, and the schema of their tools.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod errors;
mod fingerprints;
mod schemas;

use tool_dynamic::{ArgumentField, BodyLanguage, ToolSpec};

/// Returns a valid spec with these fields.
fn spec(fields: impl IntoIterator<Item = ArgumentField>) -> ToolSpec {
    let spec = ToolSpec::new(BodyLanguage::JavaScript, "made", "Does something.", "return 1;");
    fields.into_iter().fold(spec, ToolSpec::field)
}
