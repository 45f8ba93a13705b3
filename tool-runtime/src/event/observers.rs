//! Those who are told of events.

use std::fmt;
use std::sync::Arc;

use super::Event;
use crate::guard::guarded;
use crate::secret::Redactor;

/// Someone who is told of events, in the task in which they happen, one after the other.
///
/// What takes long holds up that task: hand it on, as [`Channel`](super::Channel) does, or put it into
/// a [`Background`](super::Background). Any `Fn(&Event)` is an observer; a closure
/// names the type, as in `|event: &Event| …`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be told of events",
    label = "pass a closure `|event: &Event| …` or an `Observer`, either of them `Send + Sync`",
    note = "events come from several threads: what an observer changes is an atomic, or behind a lock"
)]
pub trait Observer: Send + Sync {
    /// Reads an event. A panic here harms no run.
    fn observe(&self, event: &Event);
}

#[diagnostic::do_not_recommend]
impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn observe(&self, event: &Event) {
        self(event);
    }
}

/// Those who are told of events.
#[derive(Clone, Default)]
pub struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    /// Adds one more.
    pub fn add(&mut self, observer: impl Observer + 'static) {
        self.0.push(Arc::new(observer));
    }

    /// Whether nobody listens.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells everyone, without what is secret; the event is made only if someone listens.
    #[inline]
    pub(crate) fn tell(&self, redactor: Option<&Redactor>, event: impl FnOnce() -> Event) {
        if !self.is_empty() {
            self.tell_all(redactor, event());
        }
    }

    #[cold]
    fn tell_all(&self, redactor: Option<&Redactor>, mut event: Event) {
        if let Some(redactor) = redactor {
            redactor.hide_in_event(&mut event);
        }
        for observer in &self.0 {
            // An observer's panic is its own affair: the panic hook has reported it.
            let _ = guarded(|| observer.observe(&event));
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Observers({})", self.0.len())
    }
}
