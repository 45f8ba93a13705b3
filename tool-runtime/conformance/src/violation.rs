//! The violations of a contract that a suite finds.

use std::error::Error;
use std::fmt::Debug;

use crate::difference::excerpts;

/// The most characters of an error that a violation shows.
const MAX_ERROR_CHARS: usize = 300;

/// A rule of a contract that an implementation violates, with what was expected and what was found.
///
/// ```
/// use tool_conformance::{Violation, sessions};
/// use tool_runtime::agent::session::MemorySessions;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// // Two stores are not two handles of one store.
/// let (first, second) = (MemorySessions::new(), MemorySessions::new());
/// let found: Vec<Violation> = sessions::check_handles(first, second).await;
/// assert_eq!(found[0].rule, "a handle loads what another handle saved");
/// assert!(found[0].to_string().contains(": expected "));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct Violation {
    /// The rule of the contract, as one sentence.
    pub rule: &'static str,
    /// The behavior that the rule requires.
    pub expected: String,
    /// The behavior of the implementation. If values are long, this text and `expected` show the
    /// part that differs.
    pub found: String,
}

impl Violation {
    pub(crate) fn new(
        rule: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { rule, expected: expected.into(), found: found.into() }
    }
}

/// Returns the violation of an implementation that fails where it has to succeed.
pub(crate) fn failed<E: Error>(rule: &'static str) -> impl Fn(E) -> Violation {
    move |error| {
        let text = error.to_string();
        let beginning: String = text.chars().take(MAX_ERROR_CHARS).collect();
        let rest = if beginning.len() < text.len() { "…" } else { "" };
        Violation::new(rule, "a success", format!("the error `{beginning}{rest}`"))
    }
}

/// Fails unless the rule holds.
pub(crate) fn ensure(
    holds: bool,
    rule: &'static str,
    expected: &str,
    found: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::new(rule, expected, found())) }
}

/// Fails unless both values are equal.
pub(crate) fn ensure_eq<T: PartialEq + Debug>(
    rule: &'static str,
    found: &T,
    expected: &T,
) -> Result<(), Violation> {
    if found == expected {
        return Ok(());
    }
    let (expected, found) = excerpts(&format!("{expected:?}"), &format!("{found:?}"));
    Err(Violation::new(rule, expected, found))
}
