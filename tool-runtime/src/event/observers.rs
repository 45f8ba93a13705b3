use std::fmt;
use std::sync::Arc;

use super::Event;
use crate::guard::catch_panic;
use crate::secret::Redactor;

/// Receives events, one after the other, in the task in which they happen.
///
/// A slow observer delays that task: send events elsewhere, as [`Channel`](super::Channel) does, or
/// wrap the observer in a [`Background`](super::Background). Any `Fn(&Event)` is an observer; a
/// closure states the type of its argument, as in `|event: &Event| …`.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use tool_runtime::event::Observer;
/// use tool_runtime::{Dispatcher, Event, Registry, ToolCall};
///
/// #[derive(Clone, Default)]
/// struct CallCount(Arc<AtomicU32>);
///
/// impl Observer for CallCount {
///     fn observe(&self, event: &Event) {
///         if event.execution().is_some() {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let count = CallCount::default();
/// let dispatcher = Dispatcher::new(Registry::new()).observer(count.clone());
/// dispatcher.dispatch(vec![ToolCall::new("1", "unknown", "{}")]).await;
/// assert_eq!(count.0.load(Ordering::Relaxed), 1);
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't observe events",
    label = "pass a closure `|event: &Event| …` or an `Observer`, either of them `Send + Sync`",
    note = "events are emitted from several threads: keep mutable state in an atomic or a `Mutex`"
)]
pub trait Observer: Send + Sync {
    /// Receives one event of a run. A panic is caught, and the run continues.
    fn observe(&self, event: &Event);
}

#[diagnostic::do_not_recommend]
impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn observe(&self, event: &Event) {
        self(event);
    }
}

/// A list of observers that each receive every event.
///
/// ```
/// use tool_runtime::event::{Observers, Recorder};
/// use tool_runtime::{Dispatcher, Registry, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let (first, second) = (Recorder::new(10), Recorder::new(10));
/// let mut observers = Observers::default();
/// observers.add(first.clone());
/// observers.add(second.clone());
/// let dispatcher = Dispatcher::new(Registry::new()).observers(observers);
/// dispatcher.dispatch(vec![ToolCall::new("1", "unknown", "{}")]).await;
/// assert_eq!(first.events(), second.events());
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    /// Adds an observer behind the others.
    pub fn add(&mut self, observer: impl Observer + 'static) {
        self.0.push(Arc::new(observer));
    }

    /// Whether there are no observers.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns these observers, followed by others.
    #[inline]
    pub(crate) fn followed_by(&self, others: &Self) -> Self {
        let mut all = self.clone();
        all.0.extend(others.0.iter().cloned());
        all
    }

    /// Sends a redacted event to all observers. The event is created only if there are any.
    #[inline]
    pub(crate) fn emit(&self, redactor: Option<&Redactor>, event: impl FnOnce() -> Event) {
        if !self.is_empty() {
            self.emit_to_all(redactor, event());
        }
    }

    #[cold]
    fn emit_to_all(&self, redactor: Option<&Redactor>, mut event: Event) {
        if let Some(redactor) = redactor {
            redactor.redact_event(&mut event);
        }
        for observer in &self.0 {
            // The panic hook has reported the panic of an observer.
            let _ = catch_panic(|| observer.observe(&event));
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Observers({})", self.0.len())
    }
}
