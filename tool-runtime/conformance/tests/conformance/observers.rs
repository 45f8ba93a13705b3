//! Observers conform, and the suite finds each defect of an observer.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use tool_conformance::observers::check;
use tool_runtime::event::{Background, Channel, JsonLines, Observer, Origin, Recorder};
use tool_runtime::{Delta, Event};

use crate::assert_found;

#[tokio::test]
async fn observers_of_the_runtime_conform() {
    assert_eq!(check(|| async { Recorder::new(10) }).await, []);
    assert_eq!(check(|| async { Channel::new(10) }).await, []);
    assert_eq!(check(|| async { Background::new(Recorder::new(10)).unwrap() }).await, []);
    assert_eq!(check(|| async { JsonLines::new(io::sink()).unwrap() }).await, []);
    let shows = || async { |event: &Event| assert!(!event.to_string().is_empty()) };
    assert_eq!(check(shows).await, []);
}

/// Holds a lock while it receives an event, and panics if another thread has it.
struct Exclusive(Mutex<()>);

impl Observer for Exclusive {
    fn observe(&self, _: &Event) {
        let lock = self.0.try_lock();
        assert!(lock.is_ok(), "another thread emits an event");
        std::thread::yield_now();
    }
}

/// Receives running calls only from the first event on.
#[derive(Default)]
struct Changing(AtomicBool);

impl Observer for Changing {
    fn observe(&self, _: &Event) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn only_running_calls(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Takes pieces of text alone.
struct OnlyText;

impl Observer for OnlyText {
    fn observe(&self, _: &Event) {}

    fn receives_deltas(&self) -> bool {
        true
    }

    fn observe_delta(&self, _: &Origin, delta: Delta<'_>) {
        assert!(matches!(delta, Delta::Text(_)), "a text");
    }
}

/// Receives pieces until the first one.
#[derive(Default)]
struct ChangingDeltas(AtomicBool);

impl Observer for ChangingDeltas {
    fn observe(&self, _: &Event) {}

    fn receives_deltas(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    fn observe_delta(&self, _: &Origin, _: Delta<'_>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn suite_finds_each_defect_of_an_observer() {
    let of_calls =
        || async { |event: &Event| assert!(event.call_id().is_some(), "each event is of a call") };
    let each_kind = "an observer takes each kind of event, whatever its texts are";
    assert_found(&check(of_calls).await, each_kind, "of calls");
    let ascii = || async { |event: &Event| assert!(event.to_string().is_ascii()) };
    assert_found(&check(ascii).await, each_kind, "ASCII");
    let shared = "an observer takes events of several threads at once";
    assert_found(&check(|| async { Exclusive(Mutex::new(())) }).await, shared, "alone");
    let each_delta = "an observer of pieces takes each kind of piece, whatever its text is";
    assert_found(&check(|| async { OnlyText }).await, each_delta, "text");
    let same_deltas = "the answer of `receives_deltas` does not change";
    assert_found(&check(|| async { ChangingDeltas::default() }).await, same_deltas, "pieces");
    let same = "the answer of `only_running_calls` does not change";
    assert_found(&check(|| async { Changing::default() }).await, same, "changing");
}

/// The clock of tokio is paused, because nothing else ends the wait for the observer.
#[tokio::test(start_paused = true)]
async fn suite_finds_an_observer_that_blocks() {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let blocking = || async {
        let is_stopped = Arc::clone(&is_stopped);
        move |event: &Event| {
            while event.name() == "model.requested" && !is_stopped.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(1));
            }
        }
    };
    let returns = "an observer returns soon, because the task that emits the event waits for it";
    let found = check(blocking).await;
    is_stopped.store(true, Ordering::Relaxed);
    assert_found(&found, returns, "blocking");
}
