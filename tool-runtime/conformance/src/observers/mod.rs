//! The suite for observers, by the contract of [`Observer`].

// `events.rs` has an event of each kind.

mod events;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use tool_core::event::{Observer, Origin};
use tool_core::message::{GeneratedFile, Source};
use tool_core::{Delta, Event};

use crate::Violation;
use crate::checks::{Checks, Scheduling, Work, catch};
use crate::violation::ensure_eq;

/// The number of threads that emit events at once, and how often each emits all of them.
const THREADS: usize = 4;
const REPETITIONS: usize = 50;
/// The time after which an observer counts as one that blocks.
const TIMEOUT: Duration = Duration::from_secs(5);

const EACH_KIND: &str = "an observer takes each kind of event, whatever its texts are";
const RETURNS: &str =
    "an observer returns soon, because the task that emits the event waits for it";
const SHARED: &str = "an observer takes events of several threads at once";
const EACH_DELTA: &str = "an observer of pieces takes each kind of piece, whatever its text is";
const SAME_DELTAS: &str = "the answer of `receives_deltas` does not change";
const ONLY_RUNNING: &str = "the answer of `only_running_calls` does not change";

/// Checks that an observer takes each kind of event, from several threads at once.
///
/// The checks cover that no event makes it panic, with empty, long and unusual texts; that it
/// returns soon; that it takes the pieces of replies, if it receives them; and that
/// [`only_running_calls`](Observer::only_running_calls) and
/// [`receives_deltas`](Observer::receives_deltas) always return the same value. Test what it does with the events in its own tests. `create` returns a new observer
/// each time.
///
/// ```
/// use tool_conformance::observers;
/// use tool_runtime::Event;
/// use tool_runtime::event::Recorder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(observers::check(|| async { Recorder::new(100) }).await, []);
///
/// let prints_calls = || async {
///     |event: &Event| println!("{}", event.call_id().expect("each event is of a call"))
/// };
/// let found = observers::check(prints_calls).await;
/// assert!(found[0].found.contains("each event is of a call"));
/// # }
/// ```
pub async fn check<O, F>(create: impl Fn() -> F) -> Vec<Violation>
where
    O: Observer + 'static,
    F: Future<Output = O>,
{
    let create = &create;
    let mut checks = Checks::default();
    for event in events::all() {
        checks.run(async { check_event(create().await, event).await }).await;
    }
    checks.run(async { check_deltas(&create().await) }).await;
    checks.run(async { check_threads(create().await).await }).await;
    checks.found()
}

/// Checks one event, on a separate thread, which may hang.
async fn check_event(observer: impl Observer + 'static, event: Event) -> Result<(), Violation> {
    let name = event.name();
    let (sender, observed) = oneshot::channel();
    std::thread::spawn(move || {
        let before = observer.only_running_calls();
        let panic = catch(|| observer.observe(&event));
        let _ = sender.send((panic, before, observer.only_running_calls()));
    });
    let Ok(observed) = timeout(TIMEOUT, observed).await else {
        let expected = format!("a return from `{name}`");
        return Err(Violation::new(RETURNS, expected, format!("none within {TIMEOUT:?}")));
    };
    let panicked = |text: String| {
        Violation::new(EACH_KIND, format!("a return from `{name}`"), format!("the panic `{text}`"))
    };
    let (result, before, after) = observed.map_err(|_| panicked(String::new()))?;
    result.map_err(panicked)?;
    ensure_eq(ONLY_RUNNING, &after, &before)
}

/// Checks that an observer takes the pieces of replies, if it receives any.
fn check_deltas(observer: &impl Observer) -> Result<(), Violation> {
    let before = observer.receives_deltas();
    for text in ["", "noon", "\u{202e}\u{0}\u{1f600}"] {
        let source = Source::document(text);
        let file = GeneratedFile::base64(text, text, text).name(text);
        let pieces = [
            Delta::Source(&source),
            Delta::File(&file),
            Delta::Text(text),
            Delta::Reasoning(text),
            Delta::Call { index: usize::MAX, id: text, name: text },
            Delta::Arguments { index: usize::MAX, text },
        ];
        for delta in pieces.into_iter().filter(|_| before) {
            let observed = catch(|| observer.observe_delta(&Origin::default(), delta));
            observed.map_err(|panic| {
                Violation::new(EACH_DELTA, format!("a return from {delta:?}"), panic)
            })?;
        }
    }
    ensure_eq(SAME_DELTAS, &observer.receives_deltas(), &before)
}

async fn check_threads(observer: impl Observer + 'static) -> Result<(), Violation> {
    let observer = Arc::new(observer);
    let works = (0..THREADS).map(|_| -> Work<()> {
        let observer = Arc::clone(&observer);
        Box::pin(async move {
            let all = events::all();
            for event in all.iter().cycle().take(all.len() * REPETITIONS) {
                let observed = catch(|| observer.observe(event));
                observed.map_err(|panic| {
                    let name = event.name();
                    Violation::new(SHARED, format!("a return from `{name}`"), panic)
                })?;
            }
            Ok(())
        })
    });
    let works = Scheduling::Threads.run(works.collect());
    match timeout(TIMEOUT, works).await {
        Ok(results) => results.map(|_| ()),
        Err(_) => {
            let found = format!("no return within {TIMEOUT:?}");
            Err(Violation::new(SHARED, "a return from each event", found))
        }
    }
}
