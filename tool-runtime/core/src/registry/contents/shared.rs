//! The current value of a registry's contents.
//!
//! Readers load the value without a lock. Writers wait for each other, so that no change is lost.

use std::sync::Arc;

#[cfg(not(shuttle))]
use std::sync::{Mutex, PoisonError};

#[cfg(not(shuttle))]
use arc_swap::ArcSwap;
#[cfg(shuttle)]
use scheduled::ArcSwap;
#[cfg(shuttle)]
use shuttle::sync::Mutex;
#[cfg(shuttle)]
use std::sync::PoisonError;
use tokio::sync::watch;

/// A shared value that is replaced as a whole.
#[derive(Default)]
pub(crate) struct SharedContents<T> {
    current: ArcSwap<T>,
    writing: Mutex<()>,
    signal: watch::Sender<()>,
}

impl<T> SharedContents<T> {
    /// Returns the current value.
    pub(crate) fn load(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Returns a receiver of the signal that the value was replaced.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.signal.subscribe()
    }

    /// Wakes the receivers of the signal.
    pub(crate) fn notify(&self) {
        self.signal.send_replace(());
    }

    /// Replaces the value with the result of `change`, unless that fails. Returns the new value.
    ///
    /// `change` runs under the lock, so it must not run foreign code. Foreign code is not dropped
    /// under the lock either: the replaced value and the captures of `change` are dropped after it
    /// is released.
    pub(crate) fn change<R, E>(
        &self,
        change: impl Fn(&T) -> Result<(T, R), E>,
    ) -> Result<(Arc<T>, R), E> {
        let current;
        // A writer that panicked under the lock has replaced nothing.
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        current = self.load();
        let (next, result) = change(&current)?;
        let next = Arc::new(next);
        self.current.store(Arc::clone(&next));
        // Wakers are foreign code.
        drop(writing);
        self.notify();
        Ok((next, result))
    }
}

/// A replacement of `ArcSwap` whose steps shuttle can schedule in any order.
#[cfg(shuttle)]
mod scheduled {
    use std::sync::{Arc, PoisonError};

    use shuttle::sync::RwLock;

    #[derive(Default)]
    pub(super) struct ArcSwap<T>(RwLock<Arc<T>>);

    impl<T> ArcSwap<T> {
        pub(super) fn load_full(&self) -> Arc<T> {
            Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
        }

        pub(super) fn store(&self, next: Arc<T>) {
            *self.0.write().unwrap_or_else(PoisonError::into_inner) = next;
        }
    }
}

/// Tests all schedules that shuttle tries: `RUSTFLAGS="--cfg shuttle"
/// CARGO_TARGET_DIR=target/shuttle cargo test -p tool-core --lib registry`
#[cfg(all(test, shuttle))]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use shuttle::thread;

    use super::SharedContents;

    const SCHEDULES: usize = 5_000;

    #[test]
    fn concurrent_changes_are_atomic_and_none_is_lost() {
        shuttle::check_random(
            || {
                let shared: Arc<SharedContents<Vec<u32>>> = Arc::default();
                let write = |mark: u32| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || {
                        let put = |old: &Vec<u32>| {
                            let new = old.iter().copied().chain([mark, mark]).collect();
                            Ok::<_, Infallible>((new, old.len()))
                        };
                        shared.change(put).unwrap().1
                    })
                };
                let writers: Vec<_> = (0..3).map(write).collect();
                let reader = {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || {
                        let (first, second) = (shared.load(), shared.load());
                        assert!(first.len() % 2 == 0 && second.starts_with(&first));
                        first
                    })
                };
                let mut found: Vec<_> = writers.into_iter().map(|it| it.join().unwrap()).collect();
                found.sort_unstable();
                assert_eq!(found, [0, 2, 4]);
                let first = reader.join().unwrap();
                // A loaded value does not change.
                assert!(shared.load().starts_with(&first) && shared.load().len() == 6);
            },
            SCHEDULES,
        );
    }

    /// A receiver without a signal has the last value.
    #[test]
    fn no_signal_is_lost() {
        shuttle::check_random(
            || {
                let shared: Arc<SharedContents<u32>> = Arc::default();
                let mut signal = shared.subscribe();
                let add = || {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || {
                        shared.change(|old| Ok::<_, Infallible>((old + 1, ()))).map(drop).unwrap();
                    })
                };
                let writers = [add(), add()];
                thread::yield_now();
                signal.mark_unchanged();
                let found = *shared.load();
                writers.into_iter().for_each(|writer| writer.join().unwrap());
                assert!(found == 2 || signal.has_changed().unwrap(), "{found}");
            },
            SCHEDULES,
        );
    }

    #[test]
    fn failed_change_keeps_the_value() {
        shuttle::check_random(
            || {
                let shared: Arc<SharedContents<u32>> = Arc::default();
                let failing = {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || shared.change(|_| Err::<(u32, ()), _>("no")).map(drop))
                };
                let counted = shared.change(|old| Ok::<_, Infallible>((old + 1, *old)));
                assert_eq!((failing.join().unwrap(), counted), (Err("no"), Ok((Arc::new(1), 0))));
                assert_eq!(*shared.load(), 1);
            },
            SCHEDULES,
        );
    }
}
