//! Checks of `changed`.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tool_core::records::{Expected, Records, StoreError};

use super::operations::save;
use crate::Violation;
use crate::violation::{ensure_eq, failed};

/// The time after which `changed` must have seen a write.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time during which it must not return without a write: more than between two looks of the
/// default.
const QUIET: Duration = Duration::from_millis(300);

const AT_ONCE: &str = "`changed` returns the counter if it is above the given one";
const WAITS: &str = "`changed` waits while the counter is not above the given one";
const WAKES: &str = "`changed` returns the new counter after a write";
const NO_EFFECT: &str = "dropping `changed` has no effect";

type Waiting = JoinHandle<Result<u64, StoreError>>;

/// Checks that one handle is woken by the writes of another.
pub(super) async fn check<R: Records + 'static>(handles: &[Arc<R>; 2]) -> Result<(), Violation> {
    let [writer, reader] = handles;
    let wait = |since: u64| -> Waiting {
        let reader = Arc::clone(reader);
        tokio::spawn(async move { reader.changed("c", since).await })
    };
    // Before the first write.
    let mut waiting = wait(0);
    ensure_quiet(&mut waiting, 0).await?;
    save(writer, "other", ("k", "v", None), WAKES).await?;
    ensure_quiet(&mut waiting, 0).await?;
    let mut last = save(writer, "c", ("k", "v", None), WAKES).await?;
    ensure_counter(WAKES, waiting, last).await?;
    last = save(writer, "c", ("k", "v", None), WAKES).await?;
    for since in [0, last - 1] {
        ensure_counter(AT_ONCE, wait(since), last).await?;
    }
    let writes: [(Expected, bool); 3] =
        [(Expected::Any, true), (Expected::Any, false), (Expected::Absent, true)];
    for (expected, is_save) in writes {
        let waiting = wait(last);
        // A waiter that is dropped does not take the signal from the others.
        let dropped = wait(last);
        sleep(Duration::from_millis(5)).await;
        dropped.abort();
        let written = if is_save {
            writer.save("c", "k", expected, "v", None).await
        } else {
            writer.delete("c", "k", expected).await
        };
        last = written.map_err(failed(NO_EFFECT))?;
        ensure_counter(WAKES, waiting, last).await?;
    }
    let mut waiting = wait(last);
    ensure_quiet(&mut waiting, last).await?;
    waiting.abort();
    Ok(())
}

/// Fails if `changed` returns although there was no write.
async fn ensure_quiet(waiting: &mut Waiting, since: u64) -> Result<(), Violation> {
    let Ok(returned) = timeout(QUIET, waiting).await else { return Ok(()) };
    Err(Violation::new(WAITS, format!("no return at the counter {since}"), format!("{returned:?}")))
}

async fn ensure_counter(
    rule: &'static str,
    mut waiting: Waiting,
    expected: u64,
) -> Result<(), Violation> {
    let Ok(returned) = timeout(TIMEOUT, &mut waiting).await else {
        waiting.abort();
        let found = format!("no return within {TIMEOUT:?}");
        return Err(Violation::new(rule, format!("the counter {expected}"), found));
    };
    let returned = returned.map_err(|error| {
        Violation::new(rule, format!("the counter {expected}"), error.to_string())
    })?;
    ensure_eq(rule, &returned.map_err(failed(rule))?, &expected)
}
