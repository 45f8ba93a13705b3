//! The panic guard: turns panics of foreign code into values.
//!
//! Foreign code is what the program passes in: tools, models, observers, and their errors, whose
//! `Display` and destructors may panic as well. If the program is built with `panic = "abort"`, a
//! panic ends the process.

use std::any::Any;
use std::error::Error;
use std::iter::successors;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The message of a caught panic. It may quote anything, so it is for operators alone.
#[derive(Debug, thiserror::Error)]
#[error("panicked: {0}")]
pub(crate) struct Panic(pub(crate) String);

/// Runs a closure and catches its panic.
pub(crate) fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(run)).map_err(into_panic)
}

/// Drops a value and ignores a panic of its destructor.
pub(crate) fn drop_guarded<T>(value: T) {
    let _ = catch_panic(|| drop(value));
}

/// The maximum number of errors in a chain: an error may be its own source.
pub(crate) const MAX_CAUSES: usize = 32;

/// Formats an error and its sources, outermost first.
pub(crate) fn error_chain(error: &(dyn Error + 'static)) -> String {
    format_guarded(|| {
        let chain = successors(Some(error), |&error| error.source()).take(MAX_CAUSES);
        chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    })
}

/// Formats an error whose own text includes its sources.
pub(crate) fn error_text(error: &dyn Error) -> String {
    format_guarded(|| error.to_string())
}

fn format_guarded(format: impl FnOnce() -> String) -> String {
    catch_panic(format).unwrap_or_else(|panic| format!("an error whose own text {panic}"))
}

fn into_panic(payload: Box<dyn Any + Send>) -> Panic {
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a value that is no text".to_owned(),
    };
    // The destructor of the payload may panic as well; that second payload is never dropped.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(second);
    }
    Panic(message)
}

/// A future whose type is erased.
///
/// The future of an `async fn` is compiled in each crate that awaits it, with all futures within
/// it. A future whose type is erased where it is created is compiled once, in this crate, if the
/// function that creates it is neither generic nor inlined.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A future that is created, polled and dropped under the guard.
pub(crate) struct CatchPanic<'a, T, F> {
    create: Option<F>,
    future: Option<BoxFuture<'a, T>>,
    on_panic: fn(Panic) -> T,
}

impl<'a, T, F: FnOnce() -> BoxFuture<'a, T>> CatchPanic<'a, T, F> {
    /// Creates the future at the first poll, so that one guard covers both: a hand-written trait
    /// implementation may panic before it returns a future. `on_panic` converts a panic.
    pub(crate) fn new(create: F, on_panic: fn(Panic) -> T) -> Self {
        Self { create: Some(create), future: None, on_panic }
    }
}

/// Creates and awaits a future of foreign code under the guard, and keeps its panic.
pub(crate) async fn await_guarded<'a, T: Send + 'a>(
    create: impl FnOnce() -> BoxFuture<'a, T> + Unpin,
) -> Result<T, Panic> {
    let create = || -> BoxFuture<'a, Result<T, Panic>> {
        let future = create();
        Box::pin(async { Ok(future.await) })
    };
    CatchPanic::new(create, Err).await
}

impl<'a, T, F: FnOnce() -> BoxFuture<'a, T> + Unpin> Future for CatchPanic<'a, T, F> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Self { create, future, on_panic } = self.get_mut();
        // Declared outside the guard: an output that is dropped during unwinding, and panics in
        // turn, would abort the process.
        let mut polled = Poll::Pending;
        let step = catch_panic(|| {
            if let Some(create) = create.take() {
                *future = Some(create());
            }
            let Some(pinned) = future else { return };
            polled = pinned.as_mut().poll(cx);
            if polled.is_ready() {
                // The destructor of a future is foreign code as well.
                *future = None;
            }
        });
        match step {
            Ok(()) => polled,
            Err(panic) => {
                drop_guarded(polled);
                Poll::Ready(on_panic(panic))
            }
        }
    }
}

impl<T, F> Drop for CatchPanic<'_, T, F> {
    fn drop(&mut self) {
        // There is a future if it was cancelled or has panicked.
        if let Some(future) = self.future.take() {
            drop_guarded(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum FutureFault {
        Create,
        Pending,
        Poll,
        Drop,
        DropOutput,
    }

    struct FaultyFuture(&'static [FutureFault]);

    struct FaultyOutput(&'static [FutureFault]);

    impl Future for FaultyFuture {
        type Output = Result<FaultyOutput, Panic>;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
            assert!(!self.0.contains(&FutureFault::Poll), "in poll");
            if self.0.contains(&FutureFault::Pending) {
                return Poll::Pending;
            }
            Poll::Ready(Ok(FaultyOutput(self.0)))
        }
    }

    impl Drop for FaultyFuture {
        fn drop(&mut self) {
            assert!(!self.0.contains(&FutureFault::Drop), "in drop");
        }
    }

    impl Drop for FaultyOutput {
        fn drop(&mut self) {
            assert!(!self.0.contains(&FutureFault::DropOutput), "in the output's drop");
        }
    }

    #[tokio::test]
    async fn panic_is_caught_in_every_phase() {
        let cases: [&[FutureFault]; 6] = [
            &[],
            &[FutureFault::Create],
            &[FutureFault::Poll],
            &[FutureFault::Drop],
            &[FutureFault::Poll, FutureFault::Drop],
            &[FutureFault::Drop, FutureFault::DropOutput],
        ];
        for faults in cases {
            let future = || {
                let create = || -> BoxFuture<'static, _> {
                    assert!(!faults.contains(&FutureFault::Create), "in create");
                    Box::pin(FaultyFuture(faults))
                };
                CatchPanic::new(create, Err)
            };
            assert_eq!(future().await.is_ok(), faults.is_empty());
            // Dropped before its first poll, as in a cancelled run.
            drop(future());
        }
    }

    #[test]
    fn panic_of_a_cancelled_future_is_caught() {
        let mut future = CatchPanic::new(
            || -> BoxFuture<'static, _> {
                Box::pin(FaultyFuture(&[FutureFault::Pending, FutureFault::Drop]))
            },
            Err,
        );
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        drop(future);
    }

    #[test]
    fn panic_keeps_its_message() {
        let message = |run: fn()| catch_panic(run).unwrap_err().to_string();
        assert_eq!(message(|| panic!("plain")), "panicked: plain");
        assert_eq!(message(|| panic!("with {}", 1)), "panicked: with 1");
        assert_eq!(message(|| std::panic::panic_any(1)), "panicked: a value that is no text");
        drop_guarded(FaultyOutput(&[FutureFault::DropOutput]));
    }
}
