//! What every store keeps to: for those who write one.

mod course;
mod samples;

use std::fmt::Debug;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::{SessionError, SessionStore, Write};

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
/// revision comes again, that sessions don't touch each other, that who writes at once with others is told, and that what is
/// listed is what is there.
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
    nothing_comes_between(Arc::new(open().await)).await
}

/// How many write at once, and how often each.
const WRITERS: usize = 4;
const TIMES: usize = 10;

/// Several go on with one session, each from what it last saw: nothing of any is lost unnoticed.
async fn nothing_comes_between<S: SessionStore + 'static>(store: Arc<S>) -> Result<(), Broken> {
    const LAW: &str = "of several who write at once, whoever is late is told so";
    let first = store.save("s", Write::first().state("0")).await.map_err(refused(LAW))?;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(count_up(Arc::clone(&store), first));
    }
    while let Some(joined) = writers.join_next().await {
        joined.map_err(|error| Broken::new(LAW, error.to_string()))?.map_err(refused(LAW))?;
    }
    let kept = store.load("s").await.map_err(refused(LAW))?;
    let all = (WRITERS * TIMES).to_string();
    same(LAW, &kept.map(|it| it.state), &Some(all))
}

async fn count_up(store: Arc<impl SessionStore>, first: u64) -> Result<(), SessionError> {
    let (mut revision, mut count) = (first, 0);
    for _ in 0..TIMES {
        // Nobody is late more often than all the others write.
        for _ in 0..=WRITERS * TIMES {
            let next = (count + 1).to_string();
            match store.save("s", Write::on(revision).state(&next)).await {
                Ok(saved) => {
                    (revision, count) = (saved, count + 1);
                    break;
                }
                Err(SessionError::Conflict { .. }) => {
                    let kept = store.load("s").await?;
                    let kept =
                        kept.map(|it| (it.revision, it.state.parse::<usize>().unwrap_or_default()));
                    (revision, count) = kept.unwrap_or_default();
                }
                Err(other) => return Err(other),
            }
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}
