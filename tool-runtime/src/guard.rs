//! The panic guard: whatever foreign code does, who calls it gets a value.
//!
//! Foreign is what the framework was given: tools, models, observers, and the errors that they
//! make, whose text and destructor are code of theirs. Built with `panic = "abort"` there is no
//! panic to catch: the process ends.

use std::any::Any;
use std::error::Error;
use std::iter::successors;
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

/// How far back the errors behind an error are followed: one may lie behind itself.
const MOST_CAUSES: usize = 32;

/// An error and all that lies behind it, outermost first. Their texts are foreign code.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    said(|| {
        let all = successors(Some(error), |&error| error.source()).take(MOST_CAUSES);
        all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    })
}

/// An error that says itself what lies behind it. The text of that is foreign code.
pub(crate) fn text(error: &dyn Error) -> String {
    said(|| error.to_string())
}

fn said(text: impl FnOnce() -> String) -> String {
    guarded(text).unwrap_or_else(|panic| format!("an error whose own text {panic}"))
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
pub(crate) struct Guarded<'a, T, F> {
    make: Option<F>,
    future: Option<Boxed<'a, T>>,
    panicked: fn(Panic) -> T,
}

impl<'a, T, F: FnOnce() -> Boxed<'a, T>> Guarded<'a, T, F> {
    /// Makes the future when it is first polled, so that one guard holds both: a trait written out
    /// by hand may panic before there is a future. `panicked` is what a panic comes to.
    #[inline]
    pub(crate) fn new(make: F, panicked: fn(Panic) -> T) -> Self {
        Self { make: Some(make), future: None, panicked }
    }
}

impl<'a, T, F: FnOnce() -> Boxed<'a, T> + Unpin> Future for Guarded<'a, T, F> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Self { make, future, panicked } = self.get_mut();
        // Kept outside the guard: an outcome that is dropped while a panic unwinds and panics in
        // turn would end the process.
        let mut polled = Poll::Pending;
        let step = guarded(|| {
            if let Some(make) = make.take() {
                *future = Some(make());
            }
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

impl<T, F> Drop for Guarded<'_, T, F> {
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
    use std::task::Waker;

    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Place {
        Make,
        Wait,
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
            if self.0.contains(&Place::Wait) {
                return Poll::Pending;
            }
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
    fn catches_the_panic_of_a_future_that_is_cancelled() {
        let mut fuse = Guarded::new(
            || -> Boxed<'static, _> { Box::pin(Fuse(&[Place::Wait, Place::Drop])) },
            Err,
        );
        let polled = Pin::new(&mut fuse).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        drop(fuse);
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
