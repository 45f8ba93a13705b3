//! The one place that changes: what a registry holds now.
//!
//! Readers take what is there without a lock; writers wait for each other, so that none of them
//! builds on what another has just replaced.

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

/// A value that is replaced, never changed.
#[derive(Default)]
pub(super) struct Cell<T> {
    current: ArcSwap<T>,
    writing: Mutex<()>,
}

impl<T> Cell<T> {
    /// What is there now.
    pub(super) fn load(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Puts in its place what `change` makes of it, unless that fails. Tells what is there then.
    ///
    /// `change` runs under the lock and so must run no foreign code. Nor is any dropped under it: what
    /// was replaced, and all that `change` holds, are let go of when the lock is free.
    pub(super) fn change<R, E>(
        &self,
        change: impl Fn(&T) -> Result<(T, R), E>,
    ) -> Result<(Arc<T>, R), E> {
        let current;
        // Who panicked while it held the lock has replaced nothing.
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        current = self.load();
        let (next, told) = change(&current)?;
        let next = Arc::new(next);
        self.current.store(Arc::clone(&next));
        Ok((next, told))
    }
}

/// The same cell, made of parts whose steps shuttle can put in any order.
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

/// In every order of steps that shuttle tries:
/// `RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle cargo test -p tool-runtime --lib registry`
#[cfg(all(test, shuttle))]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use shuttle::thread;

    use super::Cell;

    const SCHEDULES: usize = 5_000;

    /// Each writer replaces what the one before it put there: nothing is lost, nothing comes twice.
    #[test]
    fn no_change_is_lost_and_none_is_seen_in_part() {
        shuttle::check_random(
            || {
                let cell: Arc<Cell<Vec<u32>>> = Arc::default();
                let write = |mark: u32| {
                    let cell = Arc::clone(&cell);
                    thread::spawn(move || {
                        let put = |old: &Vec<u32>| {
                            let new = old.iter().copied().chain([mark, mark]).collect();
                            Ok::<_, Infallible>((new, old.len()))
                        };
                        cell.change(put).unwrap().1
                    })
                };
                let writers: Vec<_> = (0..3).map(write).collect();
                let reader = {
                    let cell = Arc::clone(&cell);
                    thread::spawn(move || {
                        let (first, second) = (cell.load(), cell.load());
                        assert!(first.len() % 2 == 0 && second.starts_with(&first));
                        first
                    })
                };
                let mut found: Vec<_> = writers.into_iter().map(|it| it.join().unwrap()).collect();
                found.sort_unstable();
                assert_eq!(found, [0, 2, 4]);
                let first = reader.join().unwrap();
                // What was taken stays as it was taken.
                assert!(cell.load().starts_with(&first) && cell.load().len() == 6);
            },
            SCHEDULES,
        );
    }

    #[test]
    fn a_change_that_fails_changes_nothing() {
        shuttle::check_random(
            || {
                let cell: Arc<Cell<u32>> = Arc::default();
                let failing = {
                    let cell = Arc::clone(&cell);
                    thread::spawn(move || cell.change(|_| Err::<(u32, ()), _>("no")).map(drop))
                };
                let counted = cell.change(|old| Ok::<_, Infallible>((old + 1, *old)));
                assert_eq!((failing.join().unwrap(), counted), (Err("no"), Ok((Arc::new(1), 0))));
                assert_eq!(*cell.load(), 1);
            },
            SCHEDULES,
        );
    }
}
