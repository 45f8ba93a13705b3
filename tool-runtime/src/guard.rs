//! The panic guard: whatever foreign code does, who calls it gets a value.
//!
//! Foreign is what the framework was given: tools, models, observers, and the errors that they
//! make, whose text and destructor are code of theirs. Built with `panic = "abort"` there is no
//! panic to catch: the process ends.

use std::any::Any;
use std::future::ready;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What foreign code panicked with. It may quote anything, so it is the operator's alone.
#[derive(Debug, thiserror::Error)]
#[error("panicked: {0}")]
pub(crate) struct Panic(pub(crate) String);

/// Runs it under the guard.
#[inline]
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(run)).map_err(caught)
}

/// Drops it under the guard, where nobody is left to be told of a panic.
pub(crate) fn let_go<T>(value: T) {
    let _ = guarded(|| drop(value));
}

#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Panic {
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a value that is no text".to_owned(),
    };
    // Dropping a payload runs foreign code too; what it throws in turn is never dropped.
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(thrown);
    }
    Panic(message)
}

pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A future that is made, polled and dropped under the guard.
pub(crate) struct Guarded<'a, T> {
    future: Option<Boxed<'a, T>>,
    panicked: fn(Panic) -> T,
}

impl<'a, T: Send + 'a> Guarded<'a, T> {
    /// Makes the future at once; `panicked` is what a panic comes to.
    #[inline]
    pub(crate) fn new(make: impl FnOnce() -> Boxed<'a, T>, panicked: fn(Panic) -> T) -> Self {
        // A trait written out by hand may panic before there is a future.
        let future = guarded(make).unwrap_or_else(|panic| Box::pin(ready(panicked(panic))));
        Self { future: Some(future), panicked }
    }
}

impl<T> Future for Guarded<'_, T> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Self { future, panicked } = self.get_mut();
        // Kept outside the guard: an outcome that is dropped while a panic unwinds and panics in
        // turn would end the process.
        let mut polled = Poll::Pending;
        let step = guarded(|| {
            let Some(pinned) = future else { return };
            polled = pinned.as_mut().poll(cx);
            if polled.is_ready() {
                // A future's destructor is foreign code as well.
                *future = None;
            }
        });
        match step {
            Ok(()) => polled,
            Err(panic) => {
                let_go(polled);
                Poll::Ready(panicked(panic))
            }
        }
    }
}

impl<T> Drop for Guarded<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Cancelled, or panicked before.
        if let Some(future) = self.future.take() {
            let_go(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Place {
        Make,
        Poll,
        Drop,
        DropOutput,
    }

    struct Fuse(&'static [Place]);

    /// The outcome of a fuse.
    struct Outcome(&'static [Place]);

    impl Future for Fuse {
        type Output = Result<Outcome, Panic>;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
            assert!(!self.0.contains(&Place::Poll), "in poll");
            Poll::Ready(Ok(Outcome(self.0)))
        }
    }

    impl Drop for Fuse {
        fn drop(&mut self) {
            assert!(!self.0.contains(&Place::Drop), "in drop");
        }
    }

    impl Drop for Outcome {
        fn drop(&mut self) {
            assert!(!self.0.contains(&Place::DropOutput), "in the outcome's drop");
        }
    }

    #[tokio::test]
    async fn catches_a_panic_wherever_it_is() {
        let places: [&[Place]; 6] = [
            &[],
            &[Place::Make],
            &[Place::Poll],
            &[Place::Drop],
            &[Place::Poll, Place::Drop],
            &[Place::Drop, Place::DropOutput],
        ];
        for at in places {
            let fuse = || {
                let make = || -> Boxed<'static, _> {
                    assert!(!at.contains(&Place::Make), "in make");
                    Box::pin(Fuse(at))
                };
                Guarded::new(make, Err)
            };
            assert_eq!(fuse().await.is_ok(), at.is_empty());
            // Dropped before it was polled, as when a run is cancelled.
            drop(fuse());
        }
    }

    #[test]
    fn a_panic_says_what_was_said() {
        let said = |run: fn()| guarded(run).unwrap_err().to_string();
        assert_eq!(said(|| panic!("plain")), "panicked: plain");
        assert_eq!(said(|| panic!("with {}", 1)), "panicked: with 1");
        assert_eq!(said(|| std::panic::panic_any(1)), "panicked: a value that is no text");
        let_go(Outcome(&[Place::DropOutput]));
    }
}
