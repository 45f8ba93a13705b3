//! The panic guard: whatever a tool's code does, its caller gets a value.

use std::any::Any;
use std::fmt;
use std::future::ready;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::message::Arguments;
use crate::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};

/// Runs one tool once, and catches its panic. Nothing else: no clock, no events, no new task.
///
/// The arguments of a `#[tool]` function are decoded at once; it runs when the future is polled.
///
/// Built with `panic = "abort"` there is no panic to catch: the process ends.
///
/// # Errors
/// The tool's own error, or [`ToolErrorKind::Panicked`].
///
/// ```
/// use tool_runtime::{ToolContext, ToolErrorKind, dispatch, tool};
///
/// /// Divides.
/// #[tool(effect = "none")]
/// async fn divide(
///     /// What is divided.
///     a: i64,
///     /// By what.
///     b: i64,
/// ) -> i64 {
///     a / b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ctx = ToolContext::default();
/// let output = dispatch::invoke(&divide {}, r#"{"a": 6, "b": 3}"#.into(), &ctx).await;
/// assert_eq!(output.unwrap().as_text(), "2");
///
/// let error = dispatch::invoke(&divide {}, r#"{"a": 6, "b": 0}"#.into(), &ctx).await.unwrap_err();
/// assert_eq!(error.kind(), ToolErrorKind::Panicked);
/// # }
/// ```
#[inline]
pub fn invoke<'a>(
    tool: &'a dyn Tool,
    arguments: Arguments,
    ctx: &'a ToolContext,
) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'a {
    // A tool written by hand may panic before there is a future.
    let call = guarded(|| tool.call(arguments, ctx));
    Guarded(Some(call.unwrap_or_else(|panicked| Box::pin(ready(Err(panicked))))))
}

type Call<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// Polls and drops a call's future under the guard.
struct Guarded<'a>(Option<Call<'a>>);

impl Future for Guarded<'_> {
    type Output = Result<ToolOutput, ToolError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let call = &mut self.get_mut().0;
        // Kept outside the guard: an outcome that is dropped while a panic unwinds and panics in
        // turn would end the process.
        let mut polled = Poll::Pending;
        let step = guarded(|| {
            let Some(future) = call else { return };
            polled = future.as_mut().poll(cx);
            if polled.is_ready() {
                // A future's destructor is the tool's code as well.
                *call = None;
            }
        });
        match step {
            Ok(()) => polled,
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        if self.0.is_some() {
            // Cancelled, or panicked before: nobody is left to be told.
            let _ = guarded(|| self.0 = None);
        }
    }
}

#[inline]
fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(panicked)
}

/// The panic's message is the operator's; it may quote anything.
#[cold]
fn panicked(payload: Box<dyn Any + Send>) -> ToolError {
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a value that is no text".to_owned(),
    };
    // Dropping a payload runs foreign code too; what it throws in turn is let go.
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(thrown);
    }
    ToolError::new(ToolErrorKind::Panicked, "The tool crashed; this is not the arguments' fault.")
        .with_source(Panic(message))
}

#[derive(Debug)]
struct Panic(String);

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.0)
    }
}

impl std::error::Error for Panic {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolDefinition;

    /// A tool that panics at each of the given places.
    struct Mine {
        definition: ToolDefinition,
        at: &'static [Place],
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Place {
        Call,
        Poll,
        Drop,
    }

    struct Fuse(&'static [Place]);

    impl Future for Fuse {
        type Output = Result<ToolOutput, ToolError>;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
            assert!(!self.0.contains(&Place::Poll), "in poll");
            Poll::Ready(Ok(ToolOutput::text("done")))
        }
    }

    impl Drop for Fuse {
        fn drop(&mut self) {
            assert!(!self.0.contains(&Place::Drop), "in drop");
        }
    }

    impl Tool for Mine {
        fn definition(&self) -> &ToolDefinition {
            &self.definition
        }

        fn call<'a, 'b, 'c>(&'a self, _: Arguments, _: &'b ToolContext) -> Call<'c>
        where
            Self: 'c,
            'a: 'c,
            'b: 'c,
        {
            assert!(!self.at.contains(&Place::Call), "in call");
            Box::pin(Fuse(self.at))
        }
    }

    #[tokio::test]
    async fn catches_a_panic_wherever_it_is() {
        let places: [&[Place]; 5] =
            [&[], &[Place::Call], &[Place::Poll], &[Place::Drop], &[Place::Poll, Place::Drop]];
        for at in places {
            let schema = serde_json::json!({ "type": "object" });
            let mine = Mine { definition: ToolDefinition::new("mine", "Blows up.", schema), at };
            let ctx = ToolContext::default();
            match invoke(&mine, "{}".into(), &ctx).await {
                Ok(output) => assert_eq!((output.as_text(), at.len()), ("done", 0)),
                Err(error) => assert_eq!(error.kind(), ToolErrorKind::Panicked),
            }
            // Dropped before it was polled, as when a run is cancelled.
            drop(invoke(&mine, "{}".into(), &ctx));
        }
    }
}
