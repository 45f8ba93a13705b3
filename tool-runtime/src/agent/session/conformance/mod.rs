//! What every store keeps to: for those who write one.

mod at_once;
mod course;
mod samples;

use std::fmt::Debug;
use std::sync::Arc;

use super::{SessionError, SessionStore};

/// A store doesn't keep to what a [`SessionStore`] promises.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store breaks its word, that {law}: {what}")]
pub struct Broken {
    /// What it should keep to.
    law: &'static str,
    /// What it did instead.
    what: String,
}

impl Broken {
    fn new(law: &'static str, what: impl Into<String>) -> Self {
        Self { law, what: what.into() }
    }
}

/// Whether `holds`, and what the store did where it doesn't.
fn ensure(holds: bool, law: &'static str, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken::new(law, what())) }
}

/// The same for two things that are to be equal.
fn same<T: PartialEq + Debug>(law: &'static str, is: &T, should_be: &T) -> Result<(), Broken> {
    ensure(is == should_be, law, || {
        let short = |it: &T| format!("{it:?}").chars().take(400).collect::<String>();
        format!("{}\nshould be {}", short(is), short(should_be))
    })
}

/// A store that refuses what it may not refuse.
fn refused(law: &'static str) -> impl Fn(SessionError) -> Broken {
    move |error| Broken::new(law, format!("it was refused: {error}"))
}

/// Puts a store to the test that its writer would want it to pass: that nothing is lost or changed whatever is kept
/// and under which name, that a write which builds on something else is refused as a whole and changes nothing, that no
/// revision comes again, that sessions don't touch each other, that a save whose future is dropped is not done by half, that
/// who writes at once with others is told, that what is loaded is of one save, and that what is listed is what is there.
///
/// `open` gives a store that has no session yet, and is asked for some dozens of them: a new file, a schema of its own. What
/// it can't test is what becomes of a store whose process is killed.
///
/// ```
/// use tool_runtime::agent::session::{Memory, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// conformance::check(|| async { Memory::default() }).await.unwrap();
/// # }
/// ```
///
/// # Errors
/// The first promise that it breaks, and how.
///
/// # Panics
/// Outside a tokio runtime; and where the store does.
pub async fn check<S, F>(open: impl Fn() -> F) -> Result<(), Broken>
where
    S: SessionStore + 'static,
    F: Future<Output = S>,
{
    samples::are_kept(&open().await).await?;
    samples::have_names_of_their_own(&open().await).await?;
    for seed in 0..course::HOW_MANY {
        course::is_run(&open().await, seed).await?;
    }
    at_once::is_not_done_by_half(&open().await).await?;
    at_once::nothing_comes_between(Arc::new(open().await)).await
}
