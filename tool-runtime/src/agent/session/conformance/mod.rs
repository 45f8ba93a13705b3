//! What every store keeps to: for those who write one.

mod at_once;
mod course;
mod difference;
mod handles;
mod samples;

use std::fmt::Debug;
use std::sync::Arc;

use super::{SessionError, SessionStore};

/// A store doesn't keep to what a [`SessionStore`] promises.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store breaks its word, that {law}: {what}")]
pub struct Violation {
    /// What it should keep to.
    law: &'static str,
    /// What it did instead.
    what: String,
}

impl Violation {
    fn new(law: &'static str, what: impl Into<String>) -> Self {
        Self { law, what: what.into() }
    }
}

/// Whether `holds`, and what the store did where it doesn't.
fn ensure(holds: bool, law: &'static str, what: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::new(law, what())) }
}

/// The same for two things that are to be equal.
fn same<T: PartialEq + Debug>(law: &'static str, is: &T, should_be: &T) -> Result<(), Violation> {
    ensure(is == should_be, law, || difference::of(&format!("{is:?}"), &format!("{should_be:?}")))
}

/// A store that refuses what it may not refuse.
fn refused(law: &'static str) -> impl Fn(SessionError) -> Violation {
    move |error| Violation::new(law, format!("it was refused: {error}"))
}

/// Puts a store to the test that its writer would want it to pass: that nothing is lost or changed whatever is kept
/// and under which name, that a write which builds on something else is refused as a whole and changes nothing, that no
/// revision comes again, that sessions don't touch each other, that a save whose future is dropped is not done by half, that
/// who writes at once with others is told, that what is loaded is of one save, and that what is listed is what is there.
///
/// `open` gives a store that has no session yet, and is asked for some dozens of them: a new file, a schema of its own. What
/// it can't test is what becomes of a store whose process is killed. Those who write at once have a thread each, whatever
/// the runtime, so that a store without a lock is found out on one thread as well. Where a store can be cloned, or opened more than once,
/// [`check_handles`] tests that as well.
///
/// ```
/// use tool_runtime::agent::session::{MemoryStore, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// conformance::check(|| async { MemoryStore::default() }).await.unwrap();
/// # }
/// ```
///
/// # Errors
/// The first promise that it breaks, and how.
///
/// # Panics
/// Outside a tokio runtime; and where the store does.
pub async fn check<S, F>(open: impl Fn() -> F) -> Result<(), Violation>
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
    let store = Arc::new(open().await);
    at_once::nothing_comes_between([Arc::clone(&store), store]).await
}

/// Puts two handles of one store to the test, such as a store and its clone, or one file that is opened twice: that each
/// sees at once what the other saves and deletes, and that who writes at once with the other, on a thread of its own, is
/// told.
///
/// The store has no session yet.
///
/// ```
/// use tool_runtime::agent::session::{MemoryStore, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryStore::default();
/// conformance::check_handles(store.clone(), store).await.unwrap();
/// # }
/// ```
///
/// # Errors
/// The first promise that they break, and how.
///
/// # Panics
/// Outside a tokio runtime; and where a store does.
pub async fn check_handles<S>(one: S, other: S) -> Result<(), Violation>
where
    S: SessionStore + 'static,
{
    for (one, other) in [(&one, &other), (&other, &one)] {
        handles::are_of_one_store(one, other).await?;
    }
    at_once::nothing_comes_between([one, other].map(Arc::new)).await
}
