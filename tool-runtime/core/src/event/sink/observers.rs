use std::fmt;
use std::sync::Arc;

use crate::event::{Event, Origin, ToolEvent};
use crate::guard::catch_panic;
use crate::message::Delta;
use crate::secret::Redactor;

/// Receives events, one after the other, in the task in which they happen.
///
/// A slow observer delays that task: send events elsewhere, as [`Channel`](crate::event::Channel)
/// does, or wrap the observer in a [`Background`](crate::event::Background). Any `Fn(&Event)` is an
/// observer; a closure states the type of its argument, as in `|event: &Event| …`.
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

    /// Returns true if the observer needs no other events than those between the start and the end
    /// of a call: approvals, retries, progress and what a tool emits. Default: false, so it
    /// receives all events.
    ///
    /// Calls are faster if no observer needs their start and their end.
    fn only_running_calls(&self) -> bool {
        false
    }

    /// Returns true if the observer also needs the pieces of replies. Default: false.
    ///
    /// If one observer of a run does, the models of the run, and of the runs nested in it, stream
    /// their replies.
    fn receives_deltas(&self) -> bool {
        false
    }

    /// Receives a piece of a reply of the run that `origin` names, if
    /// [`receives_deltas`](Self::receives_deltas) returns true. A panic is caught, and the run
    /// continues.
    ///
    /// The pieces of a reply follow its [`Requested`](crate::event::ModelEvent::Requested). If the
    /// reply is rejected, or its request fails, an event says so.
    fn observe_delta(&self, origin: &Origin, delta: Delta<'_>) {
        let _ = (origin, delta);
    }
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
pub struct Observers(Option<Arc<ObserverList>>);

/// At least one observer.
#[derive(Clone, Default)]
struct ObserverList {
    list: Vec<Arc<dyn Observer>>,
    /// The observers that need the pieces of replies.
    of_deltas: Vec<Arc<dyn Observer>>,
    /// Whether one of them needs all events.
    need_all: bool,
}

impl Observers {
    /// Adds an observer behind the others.
    pub fn add(&mut self, observer: impl Observer + 'static) {
        let observers = Arc::make_mut(self.0.get_or_insert_default());
        observers.need_all |= !observer.only_running_calls();
        let receives_deltas = catch_panic(|| observer.receives_deltas()).unwrap_or(false);
        let observer: Arc<dyn Observer> = Arc::new(observer);
        observers.of_deltas.extend(receives_deltas.then(|| Arc::clone(&observer)));
        observers.list.push(observer);
    }

    /// Whether there are no observers.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether one of the observers needs all events, such as the start and the end of a call.
    pub(crate) fn need_all(&self) -> bool {
        self.0.as_ref().is_some_and(|observers| observers.need_all)
    }

    /// Whether one of the observers needs the pieces of replies.
    pub(crate) fn receive_deltas(&self) -> bool {
        self.0.as_ref().is_some_and(|observers| !observers.of_deltas.is_empty())
    }

    /// Sends a piece of a reply, without secrets, to the observers that need it.
    pub(crate) fn emit_delta(&self, origin: &Origin, delta: Delta<'_>) {
        for observer in self.0.iter().flat_map(|observers| &observers.of_deltas) {
            // The panic hook has reported the panic of an observer.
            let _ = catch_panic(|| observer.observe_delta(origin, delta));
        }
    }

    /// Returns these observers, followed by others.
    pub(crate) fn followed_by(&self, others: &Self) -> Self {
        match (&self.0, &others.0) {
            (_, None) => self.clone(),
            (None, Some(_)) => others.clone(),
            (Some(observers), Some(others)) => {
                let list = observers.list.iter().chain(&others.list).cloned().collect();
                let need_all = observers.need_all || others.need_all;
                let of_deltas = observers.of_deltas.iter().chain(&others.of_deltas);
                let of_deltas = of_deltas.cloned().collect();
                Self(Some(Arc::new(ObserverList { list, of_deltas, need_all })))
            }
        }
    }

    /// Sends a redacted event to all observers. The event is created only if there are any.
    pub(crate) fn emit(&self, redactor: Option<&Redactor>, event: impl FnOnce() -> Event) {
        if let Some(observers) = &self.0 {
            observers.emit_to_all(redactor, event());
        }
    }
}

impl ObserverList {
    fn emit_to_all(&self, redactor: Option<&Redactor>, mut event: Event) {
        if let Some(redactor) = redactor {
            redactor.redact_event(&mut event);
        }
        let is_of_running_call = is_of_running_call(&event);
        for observer in &self.list {
            if !is_of_running_call && observer.only_running_calls() {
                continue;
            }
            // The panic hook has reported the panic of an observer.
            let _ = catch_panic(|| observer.observe(&event));
        }
    }
}

fn is_of_running_call(event: &Event) -> bool {
    matches!(
        event.tool_event(),
        Some(
            ToolEvent::ApprovalRequested { .. }
                | ToolEvent::Approved { .. }
                | ToolEvent::Retried { .. }
                | ToolEvent::Progress { .. }
                | ToolEvent::OutputEmitted { .. }
                | ToolEvent::DataEmitted { .. }
        )
    )
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.as_ref().map_or(0, |observers| observers.list.len());
        write!(f, "Observers({count})")
    }
}
