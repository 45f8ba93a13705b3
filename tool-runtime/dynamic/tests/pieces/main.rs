//! The check of pieces, and the schema of their tools.

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

use tool_dynamic::{ArgumentField, BodyKind, Pieces};

/// Returns valid pieces with these fields.
fn pieces(fields: impl IntoIterator<Item = ArgumentField>) -> Pieces {
    let pieces = Pieces::new(BodyKind::JavaScript, "made", "Does something.", "return 1;");
    fields.into_iter().fold(pieces, Pieces::field)
}
